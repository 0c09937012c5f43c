#ifndef SLIMPACK_VERSION_HPP
#define SLIMPACK_VERSION_HPP

/// The version of slimpack. CMakeLists.txt reads it from here. Before 1.0 a new minor version may break callers.
#define SLIMPACK_VERSION_MAJOR 0
#define SLIMPACK_VERSION_MINOR 1
#define SLIMPACK_VERSION_PATCH 0

#endif
