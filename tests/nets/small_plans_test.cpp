#include "../executors/everywhere.hpp"
#include "../executors/prefix_model.hpp"
#include "../executors/shared_prefix_model.hpp"
#include "../executors/spread_plan.hpp"
#include "../support/bucketed_cost.hpp"
#include "net_stage.hpp"
#include "plan_texts.hpp"
#include "recorded_step.hpp"
#include "stored_values.hpp"

#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace slimpack::small_plans_test {
namespace {

using tests::stored_values;
using alone = tests::net_stage<prefix_splitting<backward_cuts::any, false>>;
using sharing = tests::net_stage<shared_prefix_stage<backward_cuts::any>>;

const std::vector<tokens> many{{1}, {3}, {4}, {5}, {17}, {23}, {9}, {30}, {2}, {12}, {28}, {7}, {90}};
const std::vector<tokens> long_ones{{150}, {93}, {20}, {17}, {9}, {5}, {3}, {1}};

/// The plan of a solution, and whether gradients are reduced beside the work.
plan plan_of(const shape& on, std::span<const tokens> lengths, const solution& given, bool beside) {
  tests::bucketed_cost layers{{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}}, {}, {3e-5}};
  layers.buckets.resize(static_cast<std::size_t>(on.reduced_parts()));
  for (std::size_t part = 0; beside && part < layers.buckets.size(); ++part)
    layers.buckets[part] = {{0, {2e-5}, {1e-5 * static_cast<double>(part + 1)}}, {0.4, {3e-5}, {2e-5}}};
  const costs::vocabulary_rates ends{.embed = {1e-6, 1e-8},
                                     .output = {2e-6, 2e-7},
                                     .output_weights = {1e-6, 1e-7},
                                     .embed_gradients = {1e-6, 1e-8},
                                     .embedded = {1e-5, 1e-9},
                                     .hidden = {2e-5, 1e-9},
                                     .partial = {3e-5, 2e-9},
                                     .statistics = {4e-5},
                                     .gradients = {5e-5, 1e-9}};
  return basic_planner{on,
                       slicers::equal_cost{},
                       costs::with_vocabulary<tests::bucketed_cost>(layers, ends),
                       testing::detail::solution_as_given{&given},
                       tests::splitting_schedule{},
                       simulators::sweep{}}(lengths)
      .value();
}
/// The packs and programs of a plan for a vocabulary that is somewhere else.
plan moved(const plan& p, vocabulary where, bool beside) {
  solution given{{}, p.merges};
  for (const replica_plan& r : p.replicas) given.replicas.push_back({r.sequences, r.partition, r.programs});
  shape on = p.shape;
  on.vocabulary = where;
  return plan_of(on, p.lengths, given, beside);
}

template <class Stage>
void add(stored_values& net, const std::string& name, const plan& p) {
  tests::add_plan(net, name, p);
  tests::add_step<Stage>(net, name, p);
}

using planners = std::vector<tests::named_planner>;

/// What these planners plan on a shape. With variants: and what its packs become with the vocabulary spread over the
/// stages, and with a reduction beside the work.
template <class Stage>
void add_all(stored_values& net, const planners& these, const shape& on, const std::string& where,
             std::span<const tokens> lengths, bool variants) {
  for (const tests::named_planner& planner : these) {
    const result<plan> made = planner.make(on, lengths);
    ASSERT_TRUE(made) << planner.name << ": " << made.error().detail;
    add<Stage>(net, planner.name + where, made.value());
    if (!variants) continue;
    add<Stage>(net, planner.name + where + ", reduced beside", moved(made.value(), vocabulary::last, true));
    add<Stage>(net, planner.name + where + ", spread", moved(made.value(), vocabulary::spread, false));
    add<Stage>(net, planner.name + where + ", spread and reduced beside",
               moved(made.value(), vocabulary::spread, true));
  }
}

TEST(SmallPlans, AndTheirStepsStayTheSame) {
  stored_values net(std::filesystem::path(__FILE__).parent_path() / "small_plans.txt");
  const planners every = tests::every_planner(), split = tests::splitting_planners(),
                 ends = tests::spreading_planners();
  const planners share = tests::sharing_planners(), both = tests::splitting_and_sharing_planners();
  const shape flat{.stages = 3, .replicas = 2, .quantum = {4}},
      chunked{.stages = 2, .replicas = 2, .chunks = 2, .quantum = {4}};
  const shape wide{.stages = 2, .replicas = 4, .quantum = {4}}, pair{.stages = 2, .replicas = 2, .quantum = {4}};
  add_all<alone>(net, {every[0]}, flat, "", many, true);
  add_all<alone>(net, {every.begin() + 1, every.end()}, flat, "", many, false);
  add_all<alone>(net, {every[1]}, chunked, ", chunks", many, true);
  add_all<alone>(net, {split[0], split[3]}, flat, "", many, false);
  add_all<alone>(net, {split[2]}, chunked, ", chunks", many, true);
  add_all<alone>(net, ends, flat, "", many, false);
  add_all<sharing>(net, {share[0]}, wide, "", long_ones, false);
  add_all<sharing>(net, {share[1]}, chunked, ", chunks", long_ones, true);
  add_all<sharing>(net, {share[2], share[3], share[4]}, wide, "", long_ones, false);
  add_all<sharing>(net, {both[0]}, pair, "", long_ones, true);

  std::size_t absent = 0;  // sharers with nothing of a row
  for (const exchange how : {exchange::keep, exchange::queries, exchange::ring}) {
    testing::generator random(7);
    const solution given = testing::random_sharers(long_ones, wide, random, how);
    for (const merge& m : given.merges)
      for (const pass way : both_passes)
        for (const std::vector<pack_id>& row : m.of(way))
          absent += static_cast<std::size_t>(std::count(row.begin(), row.end(), merge::none));
    const std::string name = "random rows, " + std::string(name_of(how));
    add<sharing>(net, name, plan_of(wide, long_ones, given, false));
    shape spread = wide;
    spread.vocabulary = vocabulary::spread;
    add<sharing>(net, name + ", spread and reduced beside", plan_of(spread, long_ones, given, true));
  }
  EXPECT_GT(absent, 0u);
  net.compare();
}

/// Of every replica's rank, which plans for its group alone.
TEST(RankPlans, AndTheirStepsStayTheSame) {
  stored_values net(std::filesystem::path(__FILE__).parent_path() / "rank_plans.txt");
  const shape on{.stages = 2, .replicas = 4, .quantum = {4}};
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  const planner plan_batch{
      on, slicers::equal_cost{}, cost,
      solvers::two_phase_estimated{{.effort = solvers::search_budget::fast(), .most_sharers = 2, .threads = 1}}};
  std::vector<tokens> lengths = many;
  lengths.push_back({600});
  std::vector<rank_plan> parts;
  for (std::uint32_t r = 0; r < 4; ++r) parts.push_back(plan_batch.of_replica(lengths, r).value());
  std::vector<const rank_plan*> by_rank;
  for (const rank_plan& one : parts)
    for (int stage = 0; stage < on.stages; ++stage) by_rank.push_back(&one);
  std::vector<rank_plan> groups;
  for (std::uint32_t r = 0; r < 4; ++r) {
    if (parts[r].group.front() != r) continue;
    tests::add_plan(net, "group of replica " + std::to_string(r), parts[r].part, true);
    groups.push_back(parts[r]);
  }
  EXPECT_LT(groups.size(), 4u) << "some replicas share";
  tests::add_step<sharing>(net, "all groups", by_rank);
  tests::add_plan(net, "put together", plan_batch.put_together(groups).value());
  net.compare();
}

}  // namespace
}  // namespace slimpack::small_plans_test
