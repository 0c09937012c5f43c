#ifndef SLIMPACK_CORE_DETAIL_SEPARATE_COMPILATION_HPP
#define SLIMPACK_CORE_DETAIL_SEPARATE_COMPILATION_HPP

/// slimpack is headers alone, unless SLIMPACK_SEPARATE_COMPILATION is defined for all files of a program. Large
/// functions that depend on no type of a user's are then only declared, and one source file of the program defines
/// them, by including slimpack/src.hpp; target slimpack::compiled of CMake is a library that does. Their definitions
/// are in the impl/ folders, in files that end in .ipp, and begin with this macro. (Asio and Boost.Beast do the same.)
#ifdef SLIMPACK_SEPARATE_COMPILATION
#define SLIMPACK_DECL
#else
#define SLIMPACK_DECL inline
#endif

#endif
