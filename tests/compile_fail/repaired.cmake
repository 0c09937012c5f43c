# Proves that nothing is wrong with SOURCES but what each is rejected for: with SLIMPACK_REPAIRED defined all compile, each
# in a namespace of its own, in one file, so that what they include is read once.

set(includes "")
set(bodies "")
set(number 0)
foreach(source IN LISTS SOURCES)
  file(STRINGS ${source} lines REGEX "^#include <")
  list(APPEND includes ${lines})
  math(EXPR number "${number} + 1")
  string(APPEND bodies "namespace repaired_${number} {\n#include \"${source}\"\n}\n")
endforeach()
list(REMOVE_DUPLICATES includes)
list(JOIN includes "\n" includes)
file(WRITE ${SCRATCH}.cpp "#define SLIMPACK_REPAIRED\n${includes}\n${bodies}")

list(TRANSFORM INCLUDE_DIRS PREPEND -I)
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${INCLUDE_DIRS} ${SCRATCH}.cpp
                RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
if(number EQUAL 0 OR NOT status EQUAL 0)
  message(FATAL_ERROR "of ${number} sources some are rejected even when repaired\n${diagnostics}")
endif()
