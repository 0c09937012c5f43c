# nvcc, where one is that knows C++20: for a trainer on a GPU, and for tests of one.
include(CheckLanguage)
find_package(CUDAToolkit QUIET)
find_program(SLIMPACK_NVCC nvcc PATHS /usr/local/cuda/bin)
if(SLIMPACK_NVCC AND NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(ENV{CUDACXX} ${SLIMPACK_NVCC})
endif()
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
endif()
find_path(SLIMPACK_NCCL_HEADERS nccl.h PATHS ${CUDAToolkit_INCLUDE_DIRS})
find_library(SLIMPACK_NCCL_LIBRARY nccl PATHS ${CUDAToolkit_LIBRARY_DIR})

# A program of the example's trainer on a GPU.
function(slimpack_add_cuda_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE slimpack::compiled CUDA::cublas)
  # nvcc takes an assignment for a value that nobody reads, and code after a constant condition for code that nobody meant.
  target_compile_options(${name} PRIVATE -std=c++20 -diag-suppress=2810,128)  # CMake 3.25 knows no CUDA_STANDARD 20
endfunction()
if(CMAKE_CUDA_COMPILER AND TARGET CUDA::cublas AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  set(SLIMPACK_BUILDS_CUDA TRUE)
endif()
