# Compiles SOURCE with FLAGS to PROGRAM, runs it, and demands that it succeeds and that main is all it defines: other files of a
# program may include the same headers. With -fsyntax-only among the flags, there is no program to run.

list(TRANSFORM INCLUDE_DIRS PREPEND -I)
set(object ${PROGRAM}.o)
execute_process(COMMAND ${COMPILER} -std=c++20 -pthread -Wall -Wextra ${FLAGS} ${INCLUDE_DIRS} -c ${SOURCE} -o ${object}
                RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
if(NOT status EQUAL 0 OR NOT diagnostics STREQUAL "")
  message(FATAL_ERROR "${SOURCE} does not compile cleanly with ${FLAGS}\n${diagnostics}")
endif()
if(FLAGS MATCHES "-fsyntax-only")
  return()
endif()
# What inline functions and templates define is weak (V, W) or unique (u), which may be defined twice.
execute_process(COMMAND ${NM} --demangle --defined-only --extern-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9a-f]+ [^VWuvw\n] [^\n]*" defined "${symbols}")
list(FILTER defined EXCLUDE REGEX " T main$")
if(defined OR NOT symbols MATCHES " T main\n")
  message(FATAL_ERROR "a program of two such files defines twice: ${defined}")
endif()
execute_process(COMMAND ${COMPILER} -pthread ${object} -o ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "compiled with ${FLAGS}, ${SOURCE} exits with ${status}: ${output}")
endif()
