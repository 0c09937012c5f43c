# Compiles gpu.cu by nvcc and by the compiler of the tests, where CUDA's headers are.
#   cmake -D COMPILER=... -D NVCC=... -D CUDA_HEADERS=... -D NCCL=... -D "INCLUDE_DIRS=..." -D SOURCE=... -P compiles.cmake
list(TRANSFORM INCLUDE_DIRS PREPEND -I)
if(NOT CUDA_HEADERS)
  message("skipped: no cuda_runtime_api.h on this machine")
  return()
endif()
if(NCCL)
  set(with -DSLIMPACK_TEST_NCCL)
else()
  message("without transports::nccl: no nccl.h on this machine")
endif()
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror ${with} ${INCLUDE_DIRS}
                        -isystem ${CUDA_HEADERS} -x c++ ${SOURCE}
                COMMAND_ERROR_IS_FATAL ANY)
if(NVCC)
  execute_process(COMMAND ${NVCC} -std=c++20 ${with} ${INCLUDE_DIRS} -o ${OUT} -c ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
else()
  message("without nvcc: not on this machine")
endif()
