# Proves that SOURCE is rejected with each message that it names after "expected-diagnostic:", and that nothing else is
# wrong with it: with SLIMPACK_REPAIRED defined it compiles. Where SOURCE says "most-lines: n", the compiler says it in no
# more lines.

# Declarations are enough to be rejected by, and take half as long to read.
if(NOT DEFINED ENV{SLIMPACK_FULL})
  set(declared -D SLIMPACK_SEPARATE_COMPILATION)
endif()
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
set(compile ${COMPILER} -std=c++20 -fsyntax-only ${declared} ${INCLUDE_DIRS} ${SOURCE})

file(STRINGS ${SOURCE} lines REGEX "^ *// expected-diagnostic: ")
if(lines STREQUAL "")
  message(FATAL_ERROR "${SOURCE} names no expected-diagnostic")
endif()

execute_process(COMMAND ${compile} RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, although it should not")
endif()
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^ *// expected-diagnostic: " "" expected "${line}")
  string(FIND "${diagnostics}" "${expected}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${SOURCE} is rejected without saying: ${expected}\n${diagnostics}")
  endif()
endforeach()

file(STRINGS ${SOURCE} limit REGEX "^ *// most-lines: ")
if(NOT limit STREQUAL "")
  string(REGEX REPLACE "^ *// most-lines: " "" most "${limit}")
  string(REGEX MATCHALL "\n" newlines "${diagnostics}")
  list(LENGTH newlines said)
  if(said GREATER most)
    message(FATAL_ERROR "${SOURCE} is rejected in ${said} lines, ${most} are the most\n${diagnostics}")
  endif()
endif()

if(NOT DEFINED ENV{SLIMPACK_FULL})
  return()  # repaired.cmake compiles all sources at a time
endif()
execute_process(COMMAND ${compile} -D SLIMPACK_REPAIRED RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} is rejected even when repaired\n${diagnostics}")
endif()
