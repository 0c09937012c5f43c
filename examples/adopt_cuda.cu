// A trainer on a GPU adopts slimpack: matrix products by cuBLAS, attention by a plain kernel, two stages on streams of
// one GPU. Gradients equal those of whole texts on the host. All but this file runs without a GPU, too: device/ has the
// stage and its kernels.
#include "device/cuda_products.hpp"
#include "device/training.hpp"

#include <slimpack/devices/cuda.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/transports/cuda.hpp>

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using world = slimpack::transports::cuda<slimpack::devices::cuda>;

slimpack::result<device_trainer::outcome> rank(const slimpack::plan& plan, const world& all, int number) {
  auto end = all.endpoint(number);
  if (!end) return std::move(end).error();
  auto products = device_trainer::cuda_products::make(end.value().stream());
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
  using stage = device_trainer::layer_stage<world::port, device_trainer::cuda_products>;
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
