# Shows SOURCES and EXAMPLES to clang++ where it is: its older versions reject what g++ takes, such as a missing type in the
# parameters of a requires-expression outside a concept. SOURCES get SOURCE_FLAGS besides, and EXAMPLES get FLAGS, by which large functions are declared alone:
# SOURCES include the definitions of all that EXAMPLES do.
#   cmake -D CLANG=... -D "INCLUDE_DIRS=..." -D "SOURCES=..." -D "EXAMPLES=..." -D "FLAGS=..." -D "SOURCE_FLAGS=..." -P clang.cmake
if(NOT CLANG)
  message("skipped: no clang++ on this machine")
  return()
endif()
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
function(slimpack_show source)
  execute_process(COMMAND ${CLANG} -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror ${ARGN} ${INCLUDE_DIRS} ${source}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()
foreach(source IN LISTS SOURCES)
  slimpack_show(${source} ${SOURCE_FLAGS})
endforeach()
foreach(source IN LISTS EXAMPLES)
  slimpack_show(${source} ${FLAGS})
endforeach()
