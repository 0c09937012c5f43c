#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

/// Plans whose replicas share sequences.
namespace slimpack {
namespace {

const costs::quadratic pipeline_cost{.per_pack = {6e-5}, .hop = {2e-5}};

/// Two giants and 40 short sequences.
std::vector<tokens> giants() {
  std::vector<tokens> lengths{{100000}, {60000}};
  for (std::int64_t i = 0; i < 40; ++i) lengths.push_back({500 + 40 * i});
  return lengths;
}

template <class Schedule>
void keep_the_laws(const Schedule& schedule, int chunks) {
  const solvers::two_phase solver{.effort = solvers::search_budget::fast()};
  for (const int replicas : {2, 3, 5}) {
    for (const int stages : {1, 4}) {
      for (const bool limited : {false, true}) {
        shape on{.stages = stages, .replicas = replicas, .chunks = chunks};
        if (limited) on.memory = memory_limit{memory_unit::token, 60000};
        const plan made = planner{on, slicers::equal_cost{}, pipeline_cost, solver, schedule}(giants()).value();
        const testing::report found = testing::plan_laws(made, pipeline_cost);
        EXPECT_TRUE(found) << replicas << " replicas, " << stages << " stages: " << found;
        EXPECT_FALSE(made.merges.empty()) << replicas << " replicas, " << stages << " stages";
      }
    }
  }
}

TEST(SharedSequences, KeepThePlanLaws) { keep_the_laws(schedules::list{}, 1); }
TEST(SharedSequences, KeepThePlanLawsWithVirtualStages) { keep_the_laws(schedules::one_f_one_b{}, 2); }
TEST(SharedSequences, KeepThePlanLawsWithWeightGradientsApart) { keep_the_laws(schedules::zero_bubble{}, 1); }

// 100000 tokens under a limit of 21000: 782 quanta of 128, 157 of them on the fullest of 5 = 20096 tokens; of 4, 25088.
TEST(SharedSequences, TakeAsManyReplicasAsMemoryNeeds) {
  shape on{.stages = 2, .replicas = 6};
  on.memory = memory_limit{memory_unit::token, 21000};
  const plan made = planner{on, slicers::equal_cost{}, pipeline_cost}(tests::lengths_of({100000, 3000, 2000, 1000})).value();
  ASSERT_EQ(made.merges.size(), 3u);  // where all replicas run together it pays to share all that is not light
  EXPECT_EQ(made.merges[0].sequence.value, 0u);
  EXPECT_GE(made.merges[0].replicas.size(), 5u);
  EXPECT_TRUE(testing::plan_laws(made, pipeline_cost));
}

// 31 quanta for 3 lanes: 10 each, and one over, which is in the first row; the second has 5 quanta a lane.
TEST(SharedSequences, HaveWhatLanesCannotHaveAlikeInTheirFirstRow) {
  const tokens quantum{128};
  const sequence whole{{0}, quantum * 31};
  const detail::lanes on(3, quantum, std::span(&whole, 1), {});
  EXPECT_EQ(on.row({{0}, {0}, quantum * 5}), (slice{{0}, {0}, quantum * 16}));
  const slice second{{0}, quantum * 5, quantum * 5};
  EXPECT_EQ(on.row(second), (slice{{0}, quantum * 16, quantum * 15}));
  for (std::size_t lane = 0; lane < 3; ++lane) {
    const detail::row_pieces own = on.pieces(second, lane);
    EXPECT_EQ(own.head.length + own.tail.length, quantum * 5) << "lane " << lane;
  }
}

TEST(SharedSequences, AreNoneWhereNoReplicasMayShare) {
  const plan made = planner{shape{.stages = 2, .replicas = 3}, slicers::equal_cost{}, pipeline_cost,
                            solvers::two_phase{.most_sharers = 1}}(giants()).value();
  EXPECT_TRUE(made.merges.empty());
}

TEST(SharedSequences, MakeStepsShorter) {
  const shape on{.stages = 4, .replicas = 4};
  const seconds apart = planner{on, slicers::equal_cost{}, pipeline_cost, solvers::two_phase{.most_sharers = 1}}(giants()).value().step_time;
  const plan made = planner{on, slicers::equal_cost{}, pipeline_cost}(giants()).value();
  EXPECT_FALSE(made.merges.empty());
  EXPECT_LT(made.step_time, apart * 0.5);
}

}  // namespace
}  // namespace slimpack
