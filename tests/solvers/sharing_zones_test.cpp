#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/sharing_zones.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <sstream>
#include <vector>

namespace slimpack::sharing_zones_test {
namespace {

using solvers::sharing_zones;

TEST(SharingZones, SayTheLargestGroupThatMayShareASequence) {
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
    ASSERT_EQ(zone.most(length, replicas), most)
        << zone << ", " << length.value << " tokens, " << replicas << " replicas";
  }
}

// Keys of 2 heads of 64 for queries of 8: a quarter. 1000 operations a second at half of them: 2 x 1/4 x 500 = 250 over
// the bandwidth, 10 inside a node and 2 between. Replicas of 2 x 2 GPUs are two on a node of 8, of 3 x 2 x 2 none is
// with another.
TEST(SharingZones, OfAModelAreWhereAttentionCoversItsTraffic) {
  const costs::model_shape model{.heads = 8, .kv_heads = 2, .head_dim = 64};
  const costs::gpu device{
      .peak_bf16_flops = 1000, .gpus_per_node = 8, .attention_efficiency = 0.5, .inside = {{}, 10}, .between = {{}, 2}};
  EXPECT_EQ(sharing_zones::of(model, device, {.stages = 2, .tensor = 2}), (sharing_zones{25, 125, 2}));
  EXPECT_EQ(sharing_zones::of(model, device, {.stages = 3, .tensor = 2, .context = 2}), (sharing_zones{25, 125, 1}));
  costs::model_shape latent = model;  // which sends 32 elements for keys and values of all heads
  latent.kv_rank = 32;
  EXPECT_EQ(sharing_zones::of(latent, device, {.stages = 8}), (sharing_zones{6.25, 31.25, 1}));
}

// Nodes of 4 of 10 replicas: 1, 2, 4, then a node more, then all.
TEST(SharingZones, GrowGroupsByTwiceOnANodeAndByNodes) {
  const sharing_zones zone{.replicas_per_node = 4};
  std::vector<std::uint32_t> sizes{1};
  while (sizes.back() < 10) sizes.push_back(zone.larger(sizes.back(), 10));
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{1, 2, 4, 8, 10}));
  EXPECT_EQ((sharing_zones{.replicas_per_node = 6}.larger(4, 12)), 6u);
  EXPECT_EQ(sharing_zones{}.larger(4, 7), 7u) << "all are on one node";
}

TEST(SharingZones, BeginGroupsWhereTheyCrossNoNodeOrOnlyWholeOnes) {
  for (const std::uint32_t node : {1u, 2u, 4u, 6u})
    for (std::uint32_t sharers = 1; sharers <= 12;
         sharers = sharing_zones{.replicas_per_node = node}.larger(sharers, 13)) {
      const sharing_zones zone{.replicas_per_node = node};
      std::uint32_t begun = 0, free = 0;
      for (std::uint32_t first = 0; first + sharers <= 12; ++first) {
        if (!zone.may_begin(first, sharers, 12)) continue;
        ++begun;
        if (sharers > node) {
          EXPECT_EQ(first % node, 0u) << sharers << " on nodes of " << node;
          continue;
        }
        EXPECT_EQ(first / node, (first + sharers - 1) / node) << sharers << " on nodes of " << node;
        EXPECT_GE(first, free) << "groups of " << sharers << " on a node of " << node << " overlap";
        free = first + sharers;
      }
      EXPECT_GT(begun, 0u) << sharers << " on nodes of " << node;
    }
}

TEST(SharingZones, PrintAsTheyAreWritten) {
  std::ostringstream text;
  text << sharing_zones{.inside = 2.5, .between = 10, .replicas_per_node = 4};
  EXPECT_EQ(text.str(), "{.inside = 2.5, .between = 10, .replicas_per_node = 4}");
}

template <class Solver>
result<plan> planned(const shape& on, const std::vector<tokens>& lengths, Solver solver, const sharing_zones& zone) {
  solver.effort = solvers::search_budget::fast();
  solver.zone = zone;
  return basic_planner{
      on, slicers::equal_cost{}, costs::quadratic{}, solver, schedules::list{}, simulators::sweep{}}(lengths);
}

/// Sequences of which each would be shared by more replicas than its zone lets.
template <class Solver>
void expect_limits(const Solver& solver) {
  const sharing_zones zone{.inside = 200, .between = 1200, .replicas_per_node = 2};
  std::size_t wider = 0, shared = 0;
  for (std::uint64_t seed = 1; seed <= 12 / tests::one_in; ++seed) {
    testing::generator random(seed);
    const shape on{.stages = 2, .replicas = 6, .quantum = {8}};
    std::vector<tokens> lengths{{random.between(1500, 6000)}};
    for (int i = 0; i < 6; ++i) lengths.push_back({random.between(20, 900)});
    const plan free = planned(on, lengths, solver, {}).value(), limited = planned(on, lengths, solver, zone).value();
    for (const merge& m : free.merges) wider += m.replicas.size() > zone.most(lengths[m.sequence.value], 6);
    for (const merge& m : limited.merges) {
      ++shared;
      EXPECT_LE(m.replicas.size(), zone.most(lengths[m.sequence.value], 6))
          << "seed " << seed << ", " << lengths[m.sequence.value].value << " tokens";
    }
    EXPECT_EQ(planned(on, lengths, solver, {.inside = 1, .between = 1}).value().step_time, free.step_time)
        << "zones that limit nothing, seed " << seed;
  }
  std::cout << shared << " shared sequences, " << wider << " by more replicas without zones\n";
  EXPECT_GT(wider, 0u);
  EXPECT_GT(shared, 0u);
}

TEST(SharingZones, LimitWhoSharesASequence) { expect_limits(solvers::two_phase{}); }
TEST(SharingZones, LimitDivisionsByEstimates) { expect_limits(solvers::two_phase_estimated{}); }

// What fits no fewer replicas is shared by as many as it needs.
TEST(SharingZones, GiveWayToMemory) {
  const shape on{.stages = 1, .replicas = 4, .quantum = {8}, .memory = memory_limit{memory_unit::token, 400}};
  const std::vector<tokens> lengths{{1000}};
  const plan p = planned(on, lengths, solvers::two_phase{.exchanges = exchange_set::only(exchange::ring)},
                         {.inside = 1e9, .between = 1e9})
                     .value();
  ASSERT_EQ(p.merges.size(), 1u);
  EXPECT_EQ(p.merges[0].replicas.size(), 3u);
}

}  // namespace
}  // namespace slimpack::sharing_zones_test
