// The trainer of examples/adopt_cuda.cu over stand-in devices: all but its calls of CUDA and cuBLAS.
#include "../../examples/device/host_products.hpp"
#include "../../examples/device/training.hpp"
#include "../transports/device_world.hpp"
#include "../transports/nccl_world.hpp"
#include "../transports/on_ranks.hpp"

#include <slimpack/planner_for.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::device_trainer_test {
namespace {

const std::vector<tokens> lengths{{37}, {6}, {90}, {1}, {21}};

template <class End>
using stage_over = device_trainer::layer_stage<End, device_trainer::host_products>;

template <class World>
std::vector<device_trainer::outcome> train(World& world, const plan& p, int steps) {
  std::vector<std::optional<result<device_trainer::outcome>>> ended(static_cast<std::size_t>(world.size()));
  on_ranks(world, [&](auto& end) {
    ended[static_cast<std::size_t>(end.rank())].emplace(
        device_trainer::train(p, end, device_trainer::host_products(end.device(), end.stream()), steps));
  });
  std::vector<device_trainer::outcome> ranks;
  for (auto& one : ended) ranks.push_back(std::move(*one).value());
  return ranks;
}

plan planned(int replicas, int stages = 2, std::uint32_t most_sharers = 1) {
  return planner_for<stage_over<device_world::port>>({.stages = stages, .replicas = replicas, .quantum = {4}}, {}, {},
                                                     {.most_sharers = most_sharers})(lengths)
      .value();
}

std::string recorded() {
  std::ifstream file(SLIMPACK_TEST_DATA "/../adopt_cuda.expected");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DeviceTrainer, PrintsWhatIsRecordedForAGpu) {
  device_world world(2, {.delay = {0}}, {30});
  const plan p = planned(1);
  EXPECT_EQ(device_trainer::report(p, train(world, p, device_trainer::shown_steps)), recorded());
}

template <class World>
void expect_gradients(int replicas) {
  const plan p = planned(replicas);
  for (const bool in_issue_order : {true, false}) {
    World world(2 * replicas, {.seed = 7, .delay = {20e-6}, .in_issue_order = in_issue_order}, {30});
    EXPECT_LT(device_trainer::difference(p, train(world, p, 1)), 1e-12);
  }
}

TEST(DeviceTrainer, HasTheGradientsOfWholeTexts) { expect_gradients<device_world>(1); }
TEST(DeviceTrainer, HasThemOnReplicasOverCommunicators) { expect_gradients<nccl_world>(2); }

template <class World>
void expect_gradients_of_shared_texts() {
  struct layout {
    int stages, replicas;
    bool in_issue_order;
  };
  int rows = 0;
  for (const layout& on : {layout{1, 3, true}, {2, 2, false}, {2, 2, true}, {3, 3, false}}) {
    const plan p = planned(on.replicas, on.stages, static_cast<std::uint32_t>(on.replicas));
    EXPECT_FALSE(p.merges.empty()) << on.stages << " x " << on.replicas;
    for (const merge& m : p.merges) rows += static_cast<int>(m.forward.size() + m.backward.size());
    World world(on.stages * on.replicas, {.seed = 7, .delay = {20e-6}, .in_issue_order = on.in_issue_order}, {30});
    EXPECT_LT(device_trainer::difference(p, train(world, p, 1)), 1e-12) << on.stages << " x " << on.replicas;
  }
  std::cout << rows << " rows\n";
  EXPECT_GT(rows, 10);
}

TEST(DeviceTrainer, HasTheGradientsOfWholeTextsThatReplicasShare) { expect_gradients_of_shared_texts<device_world>(); }
TEST(DeviceTrainer, HasTheGradientsOfWholeTextsThatReplicasShareOverCommunicators) {
  expect_gradients_of_shared_texts<nccl_world>();
}

/// Whole texts on the host, by differences: the measure itself.
TEST(DeviceTrainer, IsCheckedAgainstGradientsThatAreDerivativesOfTheLoss) {
  const device_trainer::whole_batch at(lengths, 2);
  for (const std::size_t stage : {0u, 1u})
    for (const std::size_t number : {3u, 77u, 150u, 255u}) {
      constexpr double off = 1e-5;
      const double more = device_trainer::whole_batch(lengths, 2, {{stage, number, off}}).loss;
      const double less = device_trainer::whole_batch(lengths, 2, {{stage, number, -off}}).loss;
      EXPECT_NEAR(at.gradients[stage][number], (more - less) / (2 * off), 1e-8) << stage << ", " << number;
    }
}

/// Memory of a step is used again by the next.
TEST(DeviceTrainer, MakesNoHostWaitForMemoryAfterItsFirstStep) {
  for (const int replicas : {1, 2}) {
    nccl_world world(2 * replicas, {.delay = {0}}, {30});
    const plan p = planned(replicas, 2, 2);
    EXPECT_EQ(p.merges.empty(), replicas == 1);
    const device_trainer::texts batch(lengths);
    on_ranks(world, [&](nccl_world::end& end) {
      auto stage = stage_over<nccl_world::end>::make(end, {end.device(), end.stream()}, batch, end.rank() % 2).value();
      executors::packflow{}.execute(p, stage, end).value();
      const int before = end.device().host_waits();
      executors::packflow{}.execute(p, stage, end).value();
      EXPECT_EQ(end.device().host_waits(), before);
    });
  }
}

}  // namespace
}  // namespace slimpack::device_trainer_test
