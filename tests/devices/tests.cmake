# What only a GPU can run is compiled at least, by nvcc and the tests' own compiler.
find_program(SLIMPACK_NVCC nvcc PATHS /usr/local/cuda/bin)
find_path(SLIMPACK_CUDA_HEADERS cuda_runtime_api.h PATHS /usr/local/cuda/include)
find_path(SLIMPACK_NCCL_HEADERS nccl.h PATHS ${SLIMPACK_CUDA_HEADERS})
add_test(NAME devices.compiles
         COMMAND ${CMAKE_COMMAND} -D COMPILER=${CMAKE_CXX_COMPILER} -D "NVCC=$<$<BOOL:${SLIMPACK_NVCC}>:${SLIMPACK_NVCC}>"
                 -D "CUDA_HEADERS=$<$<BOOL:${SLIMPACK_CUDA_HEADERS}>:${SLIMPACK_CUDA_HEADERS}>"
                 -D "NCCL=$<BOOL:${SLIMPACK_NCCL_HEADERS}>" -D "INCLUDE_DIRS=${include_dirs}"
                 -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR}/devices/gpu.cu -D OUT=${CMAKE_CURRENT_BINARY_DIR}/gpu.o
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/devices/compiles.cmake)
set_tests_properties(devices.compiles PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: " TIMEOUT 300)
