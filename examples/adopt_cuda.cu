// A trainer on a GPU adopts slimpack: matrix products by cuBLAS, attention by a plain kernel, two stages on streams of one GPU.
// Gradients equal those of whole texts on the host. All but this file runs without a GPU, too: device/ has the stage and its kernels.
#include "device/training.hpp"

#include <slimpack/devices/cuda.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/cuda.hpp>

#include <cublas_v2.h>

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
  /// cuBLAS has columns one after the other: what it sees are all matrices transposed, and transposed products are turned round.
  slimpack::result<void> product(const device_trainer::matrix& c, const device_trainer::const_matrix& a,
                                 const device_trainer::const_matrix& b, double keep) {
    const auto how = [](const device_trainer::const_matrix& m) { return m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto size = [](std::size_t n) { return static_cast<int>(n); };
    const double one = 1;
    return told(cublasDgemm(handle_.get(), how(b), how(a), size(c.columns), size(c.rows), size(a.transposed ? a.rows : a.columns), &one,
                            b.at, size(b.columns), a.at, size(a.columns), &keep, c.at, size(c.columns)));
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

using world = slimpack::transports::cuda<slimpack::devices::cuda>;

slimpack::result<device_trainer::outcome> rank(const slimpack::plan& plan, const world& all, int number) {
  auto end = all.endpoint(number);
  if (!end) return std::move(end).error();
  auto products = cuda_products::make(end.value().stream());
  if (!products) return std::move(products).error();
  return device_trainer::train(plan, end.value(), products.value());
}

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("skipped: no GPU on this machine");
    return 77;
  }
  const std::vector<slimpack::tokens> lengths{{37}, {6}, {90}, {1}, {21}};
  using stage = device_trainer::layer_stage<world::port, cuda_products>;
  const slimpack::plan plan = slimpack::planner_for<stage>({.stages = 2, .quantum = {4}})(lengths).value();
  slimpack::devices::cuda gpu;
  const world all{{gpu, gpu}};  // two stages on streams of one GPU
  std::array<std::optional<slimpack::result<device_trainer::outcome>>, 2> ended;
  std::thread other([&] { ended[1].emplace(rank(plan, all, 1)); });
  ended[0].emplace(rank(plan, all, 0));
  other.join();
  std::vector<device_trainer::outcome> ranks;
  for (const auto& one : ended) {
    if (!*one) {
      std::printf("%s\n", one->error().detail.c_str());
      return 1;
    }
    ranks.push_back(one->value());
  }
  std::fputs(device_trainer::report(plan, ranks).c_str(), stdout);
}
