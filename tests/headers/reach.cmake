# What a runtime needs reaches neither Eigen nor range-v3 nor Boost.Graph: every header of executors/ and transports/,
# and the basic planner, is preprocessed without Eigen's folder, and the files that it includes are looked through.

set(with_eigen ${INCLUDE_DIRS})
list(FILTER INCLUDE_DIRS EXCLUDE REGEX "eigen")
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/slimpack/executors/*.hpp ${INCLUDE}/slimpack/transports/*.hpp)
list(APPEND headers slimpack/basic_planner.hpp slimpack/simulators/sweep.hpp)
foreach(header IN LISTS headers)
  execute_process(COMMAND ${COMPILER} -std=c++20 -M ${INCLUDE_DIRS} -x c++ ${INCLUDE}/${header}
                  OUTPUT_VARIABLE reached ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  if(diagnostics MATCHES "(mpi|cuda_runtime_api|nccl)\\.h: No such file|'(mpi|cuda_runtime_api|nccl)\\.h' file not found")
    continue()
  elseif(NOT status EQUAL 0)
    message(SEND_ERROR "${header} cannot be preprocessed:\n${diagnostics}")
  elseif(NOT reached MATCHES "${header}")
    message(SEND_ERROR "${header}: the compiler did not say what it includes")
  elseif(reached MATCHES "[^ \n]*(Eigen|range/v3|boost/graph)/[^ \n]*")
    message(SEND_ERROR "${header} reaches ${CMAKE_MATCH_0}")
  endif()
endforeach()

# What a .cu file may include reaches no range-v3, which nvcc cannot parse: plans, policies and the laws of what users
# write beside their kernels. One run of the preprocessor looks at all of them, and more only to name the one at fault.

list(TRANSFORM with_eigen PREPEND -I)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/slimpack/core/*.hpp ${INCLUDE}/slimpack/costs/*.hpp
     ${INCLUDE}/slimpack/slicers/*.hpp)
list(APPEND headers slimpack/concepts.hpp)
foreach(laws cost_model slicer stage_compute transport)
  list(APPEND headers slimpack/testing/${laws}_laws.hpp)
endforeach()

function(slimpack_reached out)
  list(TRANSFORM ARGN PREPEND "#include <" OUTPUT_VARIABLE includes)
  list(TRANSFORM includes APPEND ">\n")
  list(JOIN includes "" source)
  file(WRITE ${SCRATCH}.cpp "${source}")
  execute_process(COMMAND ${COMPILER} -std=c++20 -M ${with_eigen} -I${INCLUDE} ${SCRATCH}.cpp
                  OUTPUT_VARIABLE reached ERROR_VARIABLE diagnostics RESULT_VARIABLE status)
  foreach(header IN LISTS ARGN)
    if(NOT status EQUAL 0 OR NOT reached MATCHES "${header}")
      message(FATAL_ERROR "${header} cannot be looked through:\n${diagnostics}")
    endif()
  endforeach()
  set(${out} "${reached}" PARENT_SCOPE)
endfunction()

slimpack_reached(reached slimpack/views.hpp)
if(NOT reached MATCHES "range/v3")
  message(SEND_ERROR "slimpack/views.hpp is not seen to reach range-v3: this test sees nothing")
endif()
slimpack_reached(reached ${headers})
if(reached MATCHES "range/v3")
  foreach(header IN LISTS headers)
    slimpack_reached(reached ${header})
    if(reached MATCHES "[^ \n]*range/v3/[^ \n]*")
      message(SEND_ERROR "${header} reaches ${CMAKE_MATCH_0}")
    endif()
  endforeach()
endif()
