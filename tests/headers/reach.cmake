# What a runtime needs reaches neither Eigen nor range-v3 nor Boost.Graph: every header of executors/ and transports/,
# and the basic planner. What a .cu file may include reaches no range-v3, which nvcc cannot parse: plans, policies and the
# laws of what users write beside their kernels. One run of the preprocessor looks at all of them, and more only to name the
# one at fault.

list(TRANSFORM INCLUDE_DIRS PREPEND -I)

# The files that headers include, and the names of those that are not there (-MG).
function(slimpack_reached out)
  list(TRANSFORM ARGN PREPEND "#include <" OUTPUT_VARIABLE includes)
  list(TRANSFORM includes APPEND ">\n")
  list(JOIN includes "" source)
  file(WRITE ${SCRATCH}.cpp "${source}")
  execute_process(COMMAND ${COMPILER} -std=c++20 -M -MG ${INCLUDE_DIRS} -I${INCLUDE} ${SCRATCH}.cpp
                  OUTPUT_VARIABLE reached ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  foreach(header IN LISTS ARGN)
    if(NOT status EQUAL 0 OR NOT reached MATCHES "${INCLUDE}/${header}")
      message(FATAL_ERROR "${header} cannot be looked through:\n${diagnostics}")
    endif()
  endforeach()
  set(${out} "${reached}" PARENT_SCOPE)
endfunction()

function(slimpack_reaches_none_of libraries)
  slimpack_reached(reached ${ARGN})
  if(reached MATCHES "[ /](${libraries})/")
    foreach(header IN LISTS ARGN)
      slimpack_reached(reached ${header})
      if(reached MATCHES "[^ \n]*(${libraries})/[^ \n]*")
        message(SEND_ERROR "${header} reaches ${CMAKE_MATCH_0}")
      endif()
    endforeach()
  endif()
endfunction()

foreach(seen "slimpack/views.hpp=range/v3" "slimpack/costs/calibrated.hpp=Eigen" "slimpack/simulators/boost_graph.hpp=boost/graph")
  string(REPLACE "=" ";" seen ${seen})
  list(POP_BACK seen library)
  slimpack_reached(reached ${seen})
  if(NOT reached MATCHES "[ /]${library}/")
    message(SEND_ERROR "${seen} is not seen to reach ${library}: this test sees nothing")
  endif()
endforeach()

file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/slimpack/executors/*.hpp ${INCLUDE}/slimpack/transports/*.hpp)
slimpack_reaches_none_of("Eigen|range/v3|boost/graph" ${headers} slimpack/basic_planner.hpp slimpack/simulators/sweep.hpp)

file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/slimpack/core/*.hpp ${INCLUDE}/slimpack/costs/*.hpp
     ${INCLUDE}/slimpack/slicers/*.hpp)
foreach(laws cost_model slicer stage_compute transport)
  list(APPEND headers slimpack/testing/${laws}_laws.hpp)
endforeach()
slimpack_reaches_none_of("range/v3" ${headers} slimpack/concepts.hpp)
