#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::planning_threads_test {
namespace {

/// Replicas enough for several threads, and a sequence that some of them share.
std::vector<tokens> batch() {
  std::vector<tokens> lengths{{120000}};
  for (std::int64_t i = 0; i < 90; ++i) lengths.push_back({200 + 997 * i % 4000});
  return lengths;
}

template <class Schedule>
std::uint64_t hash_on(std::size_t threads, const Schedule& schedule) {
  const costs::quadratic cost{.linear = 1e-6, .attention = 4.069e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}};
  const solvers::two_phase solver{.effort = {100'000, 4}, .threads = threads};
  const plan made =
      planner{shape{.stages = 3, .replicas = 7}, slicers::equal_cost{}, cost, solver, schedule}(batch()).value();
  EXPECT_FALSE(made.merges.empty());
  return made.hash;
}

TEST(PlanningThreads, GiveThePlanOfOne) {
  const std::uint64_t alone = hash_on(1, schedules::list{});
  const std::uint64_t apart = hash_on(1, schedules::zero_bubble{});
  for (const std::size_t threads : {0u, 2u, 5u}) {
    EXPECT_EQ(hash_on(threads, schedules::list{}), alone) << threads << " threads";
    EXPECT_EQ(hash_on(threads, schedules::zero_bubble{}), apart) << threads << " threads";
  }
}

TEST(PlanningThreads, TellTheErrorOfOne) {
  shape on{.stages = 2, .replicas = 6};
  on.memory = memory_limit{memory_unit::token, 300};
  std::string alone;
  for (const std::size_t threads : {1u, 4u}) {
    const result<plan> made =
        planner{on, slicers::equal_cost{}, costs::quadratic{}, solvers::two_phase{.threads = threads}}(batch());
    ASSERT_FALSE(made);
    if (threads == 1) alone = made.error().detail;
    EXPECT_EQ(made.error().detail, alone);
  }
}

}  // namespace
}  // namespace slimpack::planning_threads_test
