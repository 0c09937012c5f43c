# What a runtime needs reaches neither Eigen nor range-v3 nor Boost.Graph: every header of executors/ and transports/,
# and the basic planner, is preprocessed without Eigen's folder, and the files that it includes are looked through.

list(FILTER INCLUDE_DIRS EXCLUDE REGEX "eigen")
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/slimpack/executors/*.hpp ${INCLUDE}/slimpack/transports/*.hpp)
list(APPEND headers slimpack/basic_planner.hpp slimpack/simulators/sweep.hpp)
foreach(header IN LISTS headers)
  execute_process(COMMAND ${COMPILER} -std=c++20 -M ${INCLUDE_DIRS} -x c++ ${INCLUDE}/${header}
                  OUTPUT_VARIABLE reached ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(diagnostics MATCHES "mpi\\.h: No such file|'mpi\\.h' file not found")
    continue()
  elseif(NOT status EQUAL 0)
    message(SEND_ERROR "${header} cannot be preprocessed:\n${diagnostics}")
  elseif(NOT reached MATCHES "${header}")
    message(SEND_ERROR "${header}: the compiler did not say what it includes")
  elseif(reached MATCHES "[^ \n]*(Eigen|range/v3|boost/graph)/[^ \n]*")
    message(SEND_ERROR "${header} reaches ${CMAKE_MATCH_0}")
  endif()
endforeach()
