#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "../transports/local_group.hpp"
#include "diary.hpp"
#include "everywhere.hpp"
#include "prefix_model.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::packflow_group_test {
namespace {

using tests::diary;

template <class Group>
class PackflowOverGroup : public ::testing::Test {};
using groups = ::testing::Types<local_group, cancelling_group>;
TYPED_TEST_SUITE(PackflowOverGroup, groups);

TYPED_TEST(PackflowOverGroup, GivesTheGradientsOfUncutSequences) {
  for (int seed = 1; seed <= tests::steps(2); ++seed)
    for (shape on : {shape{.stages = 3, .replicas = 2}, shape{.stages = 2, .chunks = 2}}) {
      testing::generator random(static_cast<std::uint64_t>(seed));
      on.quantum = {random.between(1, 8)};
      const std::vector<tokens> lengths = tests::awkward_lengths(random, on.quantum, 12);
      const plan p = tests::every_planner()[0].make(on, lengths).value();
      group_world<TypeParam> world(tests::ranks_of(p), 20, static_cast<unsigned>(seed));
      auto stages = tests::stages_of<prefix_by_piece>(p);
      const auto reports = tests::run_everywhere(world, std::vector<const plan*>(stages.size(), &p), stages);
      tests::expect_uncut(p, reports, stages,
                          "seed " + std::to_string(seed) + ", " + std::to_string(on.stages) + " stages");
    }
}

/// Throws in one call of forward.
class throws_once : public diary {
 public:
  using diary::diary;
  int calls_left{-1};
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (calls_left-- == 0) throw std::runtime_error("layer 7 is on fire");
    return diary::forward(p, in, out);
  }
};

// Steps that fail after ever more calls, each followed by an exact one over the same transport.
TYPED_TEST(PackflowOverGroup, GoesOnAfterStepsThatFail) {
  const plan p = tests::small_plan({.stages = 3, .replicas = 2, .quantum = {4}});
  group_world<TypeParam> world(6);
  auto stages = tests::stages_of<throws_once>(p);
  const prefix_model::gradients expected = prefix_model::whole(p.lengths, 3);
  tests::on_every_rank(6, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    auto endpoint = world.endpoint(rank);
    throws_once& stage = stages[at];
    for (int step = 0; step < tests::steps(6); ++step) {
      std::string told;
      const executors::packflow run{.sink = [&](std::string_view line) { told = line; }};
      stage.calls_left = rank == step % 6 ? step : -1;
      try {
        EXPECT_FALSE(run.execute(p, stage, endpoint));
        EXPECT_NE(rank, step % 6);
      } catch (const std::runtime_error&) {
        EXPECT_EQ(rank, step % 6);
      }
      EXPECT_NE(told.find("): layer 7 is on fire"), std::string::npos) << told;
      stage.calls_left = -1;
      stage.zero();
      const result<step_report> next = executors::packflow{}.execute(p, stage, endpoint);
      ASSERT_TRUE(next) << next.error().detail << ", step " << step;
      EXPECT_EQ(stage.gradient()[0], expected.weight[at % 3]) << "rank " << rank << ", step " << step;
      stage.zero();
    }
  });
}

}  // namespace
}  // namespace slimpack::packflow_group_test
