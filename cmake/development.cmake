# What slimpack's own executables are built with. Nothing here reaches a consumer.

set(CMAKE_CXX_EXTENSIONS OFF)

add_library(slimpack_warnings INTERFACE)
# clang's -Wconversion says -Wsign-conversion too, g++'s does not: said here, so that both find the same.
target_compile_options(slimpack_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 raises the first three, one after the other, where "text" + std::to_string(n) is inlined (GCC bugs 105329 and
  # 105651), the others where a vector or an optional is destroyed at the end of an inlined function: false alarms. clang
  # and the address sanitizer still watch over what they mean.
  target_compile_options(slimpack_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                         -Wno-free-nonheap-object -Wno-maybe-uninitialized)
  # Up to 1 GB it collects no garbage, which otherwise takes up to a sixth of a compilation's time.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()

find_program(SLIMPACK_CLANG clang++)  # reads and compiles for some tests, whatever the compiler
mark_as_advanced(SLIMPACK_CLANG)
find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# The components of slimpack that a source file includes, or none where one of them was not found.
function(slimpack_components_of source out)
  set(components slimpack::slimpack)
  foreach(component "io=io/" "mpi=transports/mpi[.]hpp>" "torch=adapters/torch")
    string(REPLACE "=" ";" component ${component})
    list(POP_BACK component header)
    file(STRINGS ${source} includes REGEX "^#include <slimpack/${header}")
    if(includes)
      list(APPEND components slimpack::${component})
    endif()
  endforeach()
  foreach(component IN LISTS components)
    if(NOT TARGET ${component})
      set(components)
      break()
    endif()
  endforeach()
  set(${out} ${components} PARENT_SCOPE)
endfunction()

# Links the planners that are compiled once (examples/planners) to a program whose source file includes planners.
function(slimpack_link_planners target source)
  file(STRINGS ${source} includes REGEX "^#include <slimpack/planner(_for)?[.]hpp>")
  if(includes)
    target_link_libraries(${target} PRIVATE slimpack-planners)
  endif()
endfunction()
