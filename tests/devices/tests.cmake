# What only a GPU can run is compiled at least, by nvcc and the tests' own compiler.
find_path(SLIMPACK_CUDA_HEADERS cuda_runtime_api.h PATHS /usr/local/cuda/include)
add_test(NAME devices.compiles
         COMMAND ${CMAKE_COMMAND} -D COMPILER=${CMAKE_CXX_COMPILER} -D "NVCC=$<$<BOOL:${SLIMPACK_NVCC}>:${SLIMPACK_NVCC}>"
                 -D "CUDA_HEADERS=$<$<BOOL:${SLIMPACK_CUDA_HEADERS}>:${SLIMPACK_CUDA_HEADERS}>"
                 -D "NCCL=$<BOOL:${SLIMPACK_NCCL_HEADERS}>" -D "INCLUDE_DIRS=${include_dirs}"
                 -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/devices/gpu.cu -D OUT=${CMAKE_CURRENT_BINARY_DIR}/gpu.o
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/devices/compiles.cmake)
set_tests_properties(devices.compiles PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: " TIMEOUT 300)

# What only a GPU shows: built where one is, and under --full wherever it can be.
if(EXISTS /dev/nvidia0 OR DEFINED ENV{SLIMPACK_FULL})
  set(gpu_is_here ON)
endif()
option(SLIMPACK_GPU_TESTS "build the tests that run on a GPU" ${gpu_is_here})
function(slimpack_add_gpu_tests name source)
  slimpack_add_cuda_program(${name} ${source})
  target_link_libraries(${name} PRIVATE GTest::gtest_main ${ARGN})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no GPU" RUN_SERIAL TRUE)
endfunction()
if(SLIMPACK_GPU_TESTS AND SLIMPACK_BUILDS_CUDA)
  slimpack_add_gpu_tests(slimpack-gpu-tests devices/gpu/cuda_test.cu)
  if(SLIMPACK_NCCL_HEADERS AND SLIMPACK_NCCL_LIBRARY)
    slimpack_add_gpu_tests(slimpack-nccl-tests devices/gpu/nccl_test.cu ${SLIMPACK_NCCL_LIBRARY})
    target_include_directories(slimpack-nccl-tests SYSTEM PRIVATE ${SLIMPACK_NCCL_HEADERS})
  endif()
else()
  message(STATUS "no GPU here, or no nvcc 12 and cuBLAS: slimpack-gpu-tests and slimpack-nccl-tests are not built")
endif()
