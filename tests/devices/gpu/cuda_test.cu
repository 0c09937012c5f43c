// A GPU, and ranks that are threads which share it: what the stand-ins of the other tests stand for.
#include "../../transports/on_ranks.hpp"
#include "trained_stage.hpp"

#include <slimpack/devices/cuda.hpp>
#include <slimpack/transports/cuda.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace slimpack::gpu_test {
namespace {

using devices::cuda;

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) GTEST_SKIP() << "skipped: no GPU on this machine";
  }
};

/// Ranks on one GPU, whose endpoints are made when they are asked for.
struct one_gpu {
  using port = transports::cuda<cuda>::port;

  one_gpu(int ranks, seconds time_out) : world(std::vector<cuda>(static_cast<std::size_t>(ranks)), {time_out}) {}
  [[nodiscard]] int size() const { return world.size(); }
  [[nodiscard]] port endpoint(int rank) const { return world.endpoint(rank).value(); }

  transports::cuda<cuda> world;
};

TEST_F(Gpu, RunsWorkInTheOrderOfStreamsAndEvents) {
  cuda gpu;
  const cuda::stream first = gpu.make_stream().value(), second = gpu.make_stream().value();
  cuda::memory on_gpu = gpu.allocate(1 << 20).value(), in = gpu.allocate_pinned(1 << 20).value(),
               out = gpu.allocate_pinned(1 << 20).value();
  std::memset(as_span(out).data(), 0, 1 << 20);
  const cuda::event begin = gpu.record(first).value();
  gpu.run(first,
          [&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            std::memset(as_span(in).data(), 7, 1 << 20);
          })
      .value();
  gpu.copy(first, as_span(on_gpu), as_span(in)).value();
  const cuda::event written = gpu.record(first).value();
  EXPECT_FALSE(gpu.query(written).value());
  gpu.wait(second, written).value();
  gpu.copy(second, as_span(out), as_span(on_gpu)).value();
  gpu.synchronize(second).value();
  EXPECT_TRUE(gpu.query(written).value());
  EXPECT_EQ(as_span(out)[(1 << 20) - 1], std::byte{7});
  EXPECT_GT(gpu.elapsed(begin, written).value(), seconds{.019});
}

// A trainer asks cudaGetLastError after its launches.
TEST_F(Gpu, LeavesNoErrorForTheNextLaunch) {
  cuda gpu;
  const cuda::stream s = gpu.make_stream().value();
  const auto too_much = gpu.allocate(std::size_t{1} << 50);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().detail, "CUDA: out of memory");
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  std::atomic<bool> gate{false};
  gpu.run(s,
          [&] {
            while (!gate) std::this_thread::yield();
          })
      .value();
  const cuda::event end = gpu.record(s).value();
  EXPECT_FALSE(gpu.query(end).value());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  gate = true;
  gpu.synchronize(s).value();
}

TEST_F(Gpu, ObeysTheLawsOfTransports) {
  for (const int ranks : {1, 2, 4}) {
    one_gpu world(ranks, {2});
    for (const testing::report& r : laws_on_ranks(world, {.seed = 3, .cases = 3, .time_out = {2}}))
      EXPECT_TRUE(r) << r << ranks << " ranks";
  }
}

TEST_F(Gpu, TrainsAndFailsAsOneMachineDoes) {
  for (const gpu_layout& on :
       {gpu_layout{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {1, 3, 3}, {2, 2, 2}, {3, 3, 3}, {2, 4, 4}}) {
    const plan p = texts_planned(on.stages, on.replicas, on.sharers);
    one_gpu world(on.stages * on.replicas, {30});
    on_ranks(world, [&](one_gpu::port& end) {
      EXPECT_EQ(steps_of(p, end, on.stages - 1), "")
          << on.stages << " stages, " << on.replicas << " replicas, rank " << end.rank();
    });
  }
}

/// What the host spends in a call, by its own clock: printed, and of this machine.
TEST_F(Gpu, TakesTheHostMicrosecondsForACall) {
  constexpr int calls = 2000;
  cuda gpu;
  const cuda::stream s = gpu.make_stream().value(), other = gpu.make_stream().value();
  cuda::memory from = gpu.allocate(1024).value(), to = gpu.allocate(1024).value();
  const cuda::event reached = gpu.record(s).value();
  gpu.synchronize(s).value();
  const auto print = [&](const char* what, const auto& call) {
    for (int i = 0; i < 100; ++i) call();
    gpu.synchronize(s).value();
    gpu.synchronize(other).value();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-8s %6.2f us\n", what, 1e6 * took.count() / calls);
    gpu.synchronize(s).value();
    gpu.synchronize(other).value();
  };
  print("record", [&] { (void)gpu.record(s).value(); });
  print("wait", [&] { gpu.wait(other, reached).value(); });
  print("query", [&] { (void)gpu.query(reached).value(); });
  print("copy", [&] { gpu.copy(s, as_span(to), as_span(from)).value(); });
  auto products = device_trainer::cuda_products::make(s).value();
  auto* const numbers = reinterpret_cast<double*>(as_span(to).data());
  print("launch", [&] { products.run(16, device_trainer::kernels::clear{numbers}).value(); });
}

}  // namespace
}  // namespace slimpack::gpu_test
