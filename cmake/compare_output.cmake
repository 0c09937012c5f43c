# Runs PROGRAM and demands that it prints the file EXPECTED, byte for byte. What it printed is kept in ACTUAL. Where MAY_SKIP is
# set, a program that exits with 77 says instead what it lacks.

execute_process(COMMAND ${PROGRAM} OUTPUT_FILE ${ACTUAL} RESULT_VARIABLE status)
if(MAY_SKIP AND status EQUAL 77)
  file(READ ${ACTUAL} why)
  message("${why}")
  return()
endif()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} exited with ${status}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${EXPECTED} ${ACTUAL} RESULT_VARIABLE differs)
if(differs)
  execute_process(COMMAND diff -u ${EXPECTED} ${ACTUAL})
  message(FATAL_ERROR "the output differs from the recorded one; if it is right, copy ${ACTUAL} to ${EXPECTED}")
endif()
