# Passes when the job ends by itself within WITHIN seconds, with exit status STATUS.
execute_process(COMMAND ${LAUNCHER} ${FLAG} ${RANKS} ${PROGRAM} ${ARGUMENT} TIMEOUT ${WITHIN}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status STREQUAL STATUS)
  message(FATAL_ERROR "the job ended with ${status} where ${STATUS} was expected:\n${output}")
endif()
