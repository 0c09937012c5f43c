# Target slimpack::compiled: slimpack whose large functions are compiled once, in a static library, for programs of several
# files and for those that are compiled often (include/slimpack/core/detail/separate_compilation.hpp). Who links it need not
# change a line. It is built with the flags of the project that asks for it, and only where something links it.

set(slimpack_source ${CMAKE_CURRENT_BINARY_DIR}/slimpack_compiled.cpp)
file(CONFIGURE OUTPUT ${slimpack_source} CONTENT "#include <slimpack/src.hpp>\n")
add_library(slimpack_compiled STATIC EXCLUDE_FROM_ALL ${slimpack_source})
add_library(slimpack::compiled ALIAS slimpack_compiled)
target_compile_definitions(slimpack_compiled PUBLIC SLIMPACK_SEPARATE_COMPILATION)
target_link_libraries(slimpack_compiled PUBLIC slimpack::slimpack)
unset(slimpack_source)
