#ifndef SLIMPACK_EXAMPLES_DEVICE_CUDA_PRODUCTS_HPP
#define SLIMPACK_EXAMPLES_DEVICE_CUDA_PRODUCTS_HPP

#include "matrix.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/devices/cuda.hpp>

#include <cublas_v2.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace device_trainer {

template <class Kernel>
__global__ void call(std::size_t count, Kernel kernel) {
  const std::size_t number = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (number < count) kernel(number);
}

/// Products and kernels of a GPU, on one stream.
class cuda_products {
 public:
  static slimpack::result<cuda_products> make(const slimpack::devices::cuda::stream& on) {
    cuda_products made(on);
    cublasHandle_t handle{};
    if (slimpack::result<void> r = told(cublasCreate(&handle)); !r) return std::move(r).error();
    made.handle_.reset(handle, cublasDestroy);
    if (slimpack::result<void> r = told(cublasSetStream(handle, on.get())); !r) return std::move(r).error();
    return made;
  }
  /// cuBLAS has columns one after the other: what it sees are all matrices transposed, and transposed products are
  /// turned round.
  slimpack::result<void> product(const matrix& c, const const_matrix& a, const const_matrix& b, double keep) {
    const auto how = [](const const_matrix& m) { return m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto size = [](std::size_t n) { return static_cast<int>(n); };
    const double one = 1;
    return told(cublasDgemm(handle_.get(), how(b), how(a), size(c.columns), size(c.rows),
                            size(a.transposed ? a.rows : a.columns), &one, b.at, size(b.columns), a.at, size(a.columns),
                            &keep, c.at, size(c.columns)));
  }
  template <class Kernel>
  slimpack::result<void> run(std::size_t count, const Kernel& kernel) {
    constexpr unsigned threads = 128;
    call<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, on_.get()>>>(count, kernel);
    if (const cudaError_t code = cudaGetLastError(); code != cudaSuccess)
      return slimpack::error{slimpack::errc::compute_failed, std::string("CUDA: ") + cudaGetErrorString(code)};
    return slimpack::success();
  }

 private:
  explicit cuda_products(const slimpack::devices::cuda::stream& on) : on_(on) {}
  static slimpack::result<void> told(cublasStatus_t code) {
    if (code == CUBLAS_STATUS_SUCCESS) return slimpack::success();
    return slimpack::error{slimpack::errc::compute_failed, std::string("cuBLAS: ") + cublasGetStatusString(code)};
  }

  slimpack::devices::cuda::stream on_;
  std::shared_ptr<std::remove_pointer_t<cublasHandle_t>> handle_;
};

}  // namespace device_trainer

#endif
