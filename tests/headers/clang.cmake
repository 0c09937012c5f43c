# Shows SOURCES to clang++ where it is: its older versions reject what g++ takes, such as a missing type in the parameters of
# a requires-expression outside a concept.
#   cmake -D CLANG=... -D "INCLUDE_DIRS=..." -D "SOURCES=..." -P clang.cmake
if(NOT CLANG)
  message("skipped: no clang++ on this machine")
  return()
endif()
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
foreach(source IN LISTS SOURCES)
  execute_process(COMMAND ${CLANG} -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror ${INCLUDE_DIRS} ${source}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
