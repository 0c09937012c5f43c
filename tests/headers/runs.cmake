# Compiles SOURCE with FLAGS to PROGRAM, runs it, and demands that it succeeds. With -fsyntax-only among the flags, there is no
# program to run.

list(TRANSFORM INCLUDE_DIRS PREPEND -I)
execute_process(COMMAND ${COMPILER} -std=c++20 -pthread -Wall -Wextra ${FLAGS} ${INCLUDE_DIRS} ${SOURCE} -o ${PROGRAM}
                RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
if(NOT status EQUAL 0 OR NOT diagnostics STREQUAL "")
  message(FATAL_ERROR "${SOURCE} does not compile cleanly with ${FLAGS}\n${diagnostics}")
endif()
if(FLAGS MATCHES "-fsyntax-only")
  return()
endif()
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "compiled with ${FLAGS}, ${SOURCE} exits with ${status}: ${output}")
endif()
