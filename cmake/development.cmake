# What slimpack's own executables are built with. Nothing here reaches a consumer.

add_library(slimpack_warnings INTERFACE)
target_compile_options(slimpack_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache refuses precompiled headers unless told that their macros and times may be trusted.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(slimpack_warnings INTERFACE -fpch-preprocess)
  endif()
endif()
