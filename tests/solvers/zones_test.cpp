#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/sharing_zones.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace slimpack::zones_test {
namespace {

using solvers::sharing_zones;

TEST(Zones, SayTheLargestGroupThatMayShareASequence) {
  testing::generator random(5);
  for (int i = 0; i < 2000; ++i) {
    const sharing_zones zone{.inside = static_cast<double>(random.between(0, 200)),
                             .between = static_cast<double>(random.between(0, 2000)),
                             .replicas_per_node = static_cast<std::uint32_t>(random.between(0, 6))};
    const auto replicas = static_cast<std::uint32_t>(random.between(1, 20));
    const tokens length{random.between(1, 20000)};
    std::uint32_t most = 1;
    for (std::uint32_t group = 1; group <= replicas; ++group)
      if (zone.allow(length, group)) most = group;
    ASSERT_EQ(zone.most(length, replicas), most) << zone << ", " << length.value << " tokens, " << replicas << " replicas";
  }
}

template <class Solver>
result<plan> planned(const shape& on, const std::vector<tokens>& lengths, Solver solver, const sharing_zones& zone) {
  solver.effort = solvers::search_budget::fast();
  solver.zone = zone;
  return basic_planner{on, slicers::equal_cost{}, costs::quadratic{}, solver, schedules::list{}, simulators::sweep{}}(lengths);
}

/// Sequences of which each would be shared by more replicas than its zone lets.
template <class Solver>
void expect_limits(const Solver& solver) {
  const sharing_zones zone{.inside = 200, .between = 1200, .replicas_per_node = 2};
  std::size_t wider = 0, shared = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    testing::generator random(seed);
    const shape on{.stages = 2, .replicas = 6, .quantum = {8}};
    std::vector<tokens> lengths{{random.between(1500, 6000)}};
    for (int i = 0; i < 6; ++i) lengths.push_back({random.between(20, 900)});
    const plan free = planned(on, lengths, solver, {}).value(), limited = planned(on, lengths, solver, zone).value();
    for (const merge& m : free.merges) wider += m.replicas.size() > zone.most(lengths[m.sequence.value], 6);
    for (const merge& m : limited.merges) {
      ++shared;
      EXPECT_LE(m.replicas.size(), zone.most(lengths[m.sequence.value], 6)) << "seed " << seed << ", " << lengths[m.sequence.value].value << " tokens";
    }
    EXPECT_EQ(planned(on, lengths, solver, {.inside = 1, .between = 1}).value().step_time, free.step_time) << "zones that limit nothing, seed " << seed;
  }
  std::cout << shared << " shared sequences, " << wider << " by more replicas without zones\n";
  EXPECT_GT(wider, 0u);
  EXPECT_GT(shared, 0u);
}

TEST(Zones, LimitWhoSharesASequence) { expect_limits(solvers::two_phase{}); }
TEST(Zones, LimitDivisionsByEstimates) { expect_limits(solvers::two_phase_estimated{}); }

// What fits no fewer replicas is shared by as many as it needs.
TEST(Zones, GiveWayToMemory) {
  const shape on{.stages = 1, .replicas = 4, .quantum = {8}, .memory = memory_limit{memory_unit::token, 400}};
  const std::vector<tokens> lengths{{1000}};
  const plan p = planned(on, lengths, solvers::two_phase{.exchanges = exchange_set::only(exchange::ring)}, {.inside = 1e9, .between = 1e9}).value();
  ASSERT_EQ(p.merges.size(), 1u);
  EXPECT_EQ(p.merges[0].replicas.size(), 3u);
}

}  // namespace
}  // namespace slimpack::zones_test
