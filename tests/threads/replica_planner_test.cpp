#include <slimpack/basic_planner.hpp>
#include <slimpack/service/async_planner.hpp>
#include <slimpack/service/plan_cache.hpp>
#include <slimpack/service/replica_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <vector>

namespace slimpack::replica_planner_test {
namespace {

const std::vector<tokens> lengths{{60000}, {3000}, {2500}, {2000}, {900}, {700}, {650}};

auto planner_of_all() {
  const solvers::two_phase_estimated solver{{.effort = solvers::search_budget::fast(), .threads = 1}};
  return basic_planner{shape{.stages = 2, .replicas = 3},
                       slicers::equal_cost{},
                       costs::quadratic{.per_pack = {5e-5}},
                       solver,
                       schedules::list{},
                       simulators::sweep{}};
}

TEST(ReplicaPlanner, PlansTheGroupOfItsReplica) {
  for (std::uint32_t replica = 0; replica < 3; ++replica) {
    const rank_plan mine = replica_planner{planner_of_all(), replica}(lengths).value();
    EXPECT_EQ(mine.part.hash, planner_of_all().of_replica(lengths, replica).value().part.hash);
    EXPECT_FALSE(mine.part.truncated);
  }
}

TEST(ReplicaPlanner, IsPlannedAheadAndRemembered) {
  plan_cache cached{replica_planner{planner_of_all(), 1}};
  async_planner ahead{std::ref(cached), 2};
  static_assert(std::is_same_v<decltype(ahead)::ticket, rank_plan_ticket>);
  rank_plan_ticket first = ahead.submit(lengths);
  rank_plan_ticket again = ahead.submit(lengths);
  const rank_plan one = first.get().value();
  const rank_plan two = again.get().value();
  EXPECT_EQ(one.part.hash, planner_of_all().of_replica(lengths, 1).value().part.hash);
  EXPECT_EQ(one.part.hash, two.part.hash);
  EXPECT_EQ(one.division, two.division);
  EXPECT_EQ(one.part.planning_time, two.part.planning_time);  // remembered, not planned again
  EXPECT_FALSE(one.part.truncated);
}

TEST(ReplicaPlanner, HurriedPartsAreMarked) {
  async_planner ahead{replica_planner{planner_of_all(), 0}};
  rank_plan_ticket ticket = ahead.submit(lengths);
  ticket.hurry();
  // Whether the mark is there depends on which came first, the request or the plan; a plan that is marked is still one.
  EXPECT_TRUE(ticket.get());
  const rank_plan asked =
      plan_cache{replica_planner{planner_of_all(), 0}}(lengths, std::stop_source{}.get_token()).value();
  EXPECT_TRUE(asked.part.truncated);
}

TEST(ReplicaPlanner, KeepsBatchesApart) {
  plan_cache cached{replica_planner{planner_of_all(), 2}};
  const std::vector<tokens> other{{1000}, {2000}, {3000}};
  const std::uint64_t hash = cached(lengths).value().part.hash;
  EXPECT_NE(cached(other).value().part.hash, hash);
  EXPECT_EQ(cached(lengths).value().part.hash, hash);
}

}  // namespace
}  // namespace slimpack::replica_planner_test
