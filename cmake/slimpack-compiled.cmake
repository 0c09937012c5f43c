# slimpack whose large functions are compiled once, in a static library, for programs of several files and for those that are
# compiled often (include/slimpack/core/detail/separate_compilation.hpp). Who links it need not change a line. It is built only
# where something links it.
#
#   slimpack::compiled                    with the flags of the project that asks for it
#   slimpack_add_compiled(name LIKE t)    a library `name` with the definitions and options that target t is compiled with,
#                                         those of the libraries that t links included: for programs whose flags change what
#                                         objects look like, such as _GLIBCXX_USE_CXX11_ABI=0 of some builds of libtorch,
#                                         _GLIBCXX_DEBUG or -mavx512f. t may be a program or a library, also an imported one

function(slimpack_add_compiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIKE" "")
  if(NOT DEFINED arg_LIKE OR arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "slimpack_add_compiled(name LIKE target): it was called as slimpack_add_compiled(${ARGV})")
  endif()
  if(NOT TARGET ${arg_LIKE})
    message(FATAL_ERROR "slimpack_add_compiled(${name} LIKE ${arg_LIKE}): there is no target ${arg_LIKE} yet; call it behind "
                        "add_executable, add_library or find_package")
  endif()
  slimpack_add_compiled_library(${name})
  get_target_property(type ${arg_LIKE} TYPE)
  get_target_property(imported ${arg_LIKE} IMPORTED)
  set(usage "")
  if(imported OR type STREQUAL "INTERFACE_LIBRARY")
    set(usage INTERFACE_)
  endif()
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:${arg_LIKE},${usage}COMPILE_DEFINITIONS>)
  target_compile_options(${name} PRIVATE $<TARGET_PROPERTY:${arg_LIKE},${usage}COMPILE_OPTIONS>)
endfunction()

function(slimpack_add_compiled_library name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include <slimpack/src.hpp>\n")
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${source})
  target_compile_definitions(${name} PUBLIC SLIMPACK_SEPARATE_COMPILATION)
  target_link_libraries(${name} PUBLIC slimpack::slimpack)
endfunction()

slimpack_add_compiled_library(slimpack_compiled)
add_library(slimpack::compiled ALIAS slimpack_compiled)
