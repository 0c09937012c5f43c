#include <slimpack/basic_planner.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/transports/threads.hpp>

#include "../laws/cases.hpp"
#include "everywhere.hpp"
#include "prefix_model.hpp"
#include "shared_prefix_model.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::packflow_rank_plan_test {
namespace {

using stage = shared_prefix_stage<backward_cuts::any>;

auto planner_on(const shape& on) {
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  const solvers::two_phase_estimated solver{{.effort = solvers::search_budget::fast(), .threads = 1}};
  return basic_planner{on, slicers::equal_cost{}, cost, solver, schedules::list{}, simulators::sweep{}};
}

/// What each rank plans for itself.
std::vector<rank_plan> planned_by_ranks(const shape& on, std::span<const tokens> lengths) {
  std::vector<rank_plan> parts;
  for (int rank = 0; rank < on.stages * on.replicas; ++rank)
    parts.push_back(planner_on(on).of_replica(lengths, static_cast<std::uint32_t>(rank / on.stages)).value());
  return parts;
}

std::vector<stage> stages_on(const shape& on) {
  std::vector<stage> stages;
  for (int rank = 0; rank < on.stages * on.replicas; ++rank)
    stages.emplace_back(rank % on.stages, on.stages, on.chunks);
  return stages;
}

std::vector<result<step_report>> run_parts(const std::vector<rank_plan>& parts, std::vector<stage>& stages) {
  transports::threads world{static_cast<int>(parts.size()), {.time_out = {20}}};
  std::vector<std::optional<result<step_report>>> made(parts.size());
  tests::on_every_rank(static_cast<int>(parts.size()), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const auto at = static_cast<std::size_t>(rank);
    made[at].emplace(executors::packflow{}.execute(parts[at], stages[at], endpoint));
  });
  std::vector<result<step_report>> all;
  for (std::optional<result<step_report>>& one : made) all.push_back(std::move(*one));
  return all;
}

// Numbers are integers that doubles hold exactly, so equality is meant to the last bit.
TEST(PackflowRankPlan, GivesTheGradientsOfUncutSequences) {
  std::size_t shared = 0, alone = 0;
  int n = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    testing::generator random(seed);
    for (const shape& on :
         {shape{.stages = 1, .replicas = 3}, shape{.stages = 2, .replicas = 4}, shape{.stages = 3, .replicas = 2}}) {
      shape fine = on;
      fine.quantum = {random.between(1, 4)};
      std::vector<tokens> lengths{{random.between(120, 160)}};
      for (int i = 0; i < 12; ++i) lengths.push_back({random.between(1, 40)});
      if (!tests::is_tried(n++)) continue;
      const std::vector<rank_plan> parts = planned_by_ranks(fine, lengths);
      for (const rank_plan& one : parts) (one.part.merges.empty() ? alone : shared) += 1;
      std::vector<stage> stages = stages_on(fine);
      const std::vector<result<step_report>> reports = run_parts(parts, stages);
      const prefix_model::gradients expected = prefix_model::whole(lengths, on.parts() * 2);
      tokens sum{};
      for (const tokens length : lengths) sum += length;
      std::vector<stage> evaluated = stages_on(fine);
      transports::threads world{static_cast<int>(parts.size()), {.time_out = {20}}};
      for (const result<step_report>&report :
           tests::reports_of(world, parts.size(), [&](std::size_t rank, auto&endpoint) {
             return executors::packflow{}.evaluate(parts[rank], evaluated[rank], endpoint);
           })) {
        ASSERT_TRUE(report) << report.error().detail << ", seed " << seed;
        EXPECT_EQ(report.value().loss_sum, expected.loss);
      }
      for (const stage& one : evaluated) EXPECT_EQ(one.held(), bytes{});
      for (std::size_t rank = 0; rank < reports.size(); ++rank) {
        ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", seed " << seed << ", " << on.stages << " x "
                                   << on.replicas;
        EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << "seed " << seed;
        EXPECT_EQ(reports[rank].value().processed, sum) << "seed " << seed;
        for (std::size_t k = 0; k < stages[rank].gradient().size(); ++k)
          EXPECT_EQ(stages[rank].gradient()[k], expected.weight[static_cast<std::size_t>(stages[rank].part(0)) * 2 + k])
              << "rank " << rank << ", seed " << seed;
      }
    }
  }
  EXPECT_GT(shared, 8u / tests::one_in) << "sequences must be shared for this to show anything";
  EXPECT_GT(alone, 8u / tests::one_in);
}

/// Two replicas share the first sequence, the third has its own.
const std::vector<tokens> one_long{{240}, {150}, {60}, {50}, {40}, {30}, {20}};
constexpr shape three{.stages = 2, .replicas = 3, .quantum = {4}};

std::string refused(const std::function<void(std::vector<rank_plan>&)>& change) {
  std::vector<rank_plan> parts = planned_by_ranks(three, one_long);
  change(parts);
  std::vector<stage> stages = stages_on(three);
  std::string told;
  for (const result<step_report>& one : run_parts(parts, stages))
    if (!one && one.error().code != errc::aborted) told = one.error().detail;
  return told;
}

/// Notes the lengths of the sums that it is given, in their order. As over NCCL, they are only issued, so that copies
/// of a stage must be asked for them in one order.
using endpoint_of_threads = decltype(std::declval<transports::threads&>().endpoint(0));
class issuing_endpoint : public endpoint_of_threads {
 public:
  static constexpr bool starts_all_reduce = true;
  issuing_endpoint(endpoint_of_threads&& over, std::vector<std::size_t>& issued)
      : endpoint_of_threads(std::move(over)), issued_(&issued) {}
  template <class T>
  result<void> all_reduce(std::span<T> data, std::span<const int>) {
    issued_->push_back(data.size());
    return success();
  }

 private:
  std::vector<std::size_t>* issued_;
};

/// Adds up 2 numbers of a first chunk and 3 of a second, as soon as they are final, and 5 at the end.
class stage_of_three_sums : public stage {
 public:
  using stage::stage;
  template <class Group>
  result<void> reduce(Group& group) {
    return group.sum(std::span(numbers_));
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    return sums.start(std::span(numbers_).first(2 + chunk));
  }

 private:
  std::vector<double> numbers_ = std::vector<double>(5);
};

// Some parts share rows, and one does not, as each rank sees of its own alone.
TEST(PackflowRankPlan, CopiesOfAStageSumInOneOrder) {
  shape on = three;
  on.chunks = 2;
  std::vector<rank_plan> parts = planned_by_ranks(on, one_long);
  std::size_t alone = 0;
  for (rank_plan& one : parts) {
    one.part.reduction =
        gradient_reduction{std::vector<std::vector<gradient_bucket>>(static_cast<std::size_t>(on.reduced_parts())), {}};
    alone += one.part.merges.empty();
  }
  ASSERT_EQ(alone, 2u) << "of the 6 ranks, those of one replica";
  transports::threads world{6, {.time_out = {20}}};
  std::vector<std::vector<std::size_t>> issued(6);
  tests::on_every_rank(6, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    issuing_endpoint endpoint(world.endpoint(rank), issued[at]);
    stage_of_three_sums own(rank % on.stages, on.stages, on.chunks);
    const result<step_report> ran = executors::packflow{}.execute(parts[at], own, endpoint);
    EXPECT_TRUE(ran) << ran.error().detail;
  });
  for (std::size_t rank = 0; rank < issued.size(); ++rank) {
    EXPECT_EQ(issued[rank].size(), 3u);
    EXPECT_EQ(issued[rank], issued[rank % 2]) << "rank " << rank;
  }
}

std::size_t leader_of_sharers(const std::vector<rank_plan>& parts) {
  std::size_t rank = 0;
  while (parts.at(rank).group.size() == 1) ++rank;
  return rank;
}

TEST(PackflowRankPlan, RefusesDifferentDivisions) {
  EXPECT_EQ(refused([](auto&) {}), "");
  std::uint64_t first = 0;
  const std::string told = refused([&](std::vector<rank_plan>& parts) {
    first = parts[0].division;
    parts[4].division = 5;
  });
  EXPECT_EQ(told, "ranks 0 and 4 hold different divisions of the batch: " + hash_text(first) + " and " + hash_text(5));
}

TEST(PackflowRankPlan, RefusesDifferentPlansWithinAGroup) {
  std::size_t leader = 0;
  const std::string told = refused([&](std::vector<rank_plan>& parts) {
    leader = leader_of_sharers(parts);
    parts[leader + 1].part.cost = "another";
  });
  EXPECT_NE(
      told.find("ranks " + std::to_string(leader) + " and " + std::to_string(leader + 1) + " hold different plans: "),
      std::string::npos)
      << told;
}

TEST(PackflowRankPlan, RefusesThePartOfOtherReplicas) {
  std::size_t alone = 0;
  const std::string told = refused([&](std::vector<rank_plan>& parts) {
    while (parts.at(alone).group.size() > 1) ++alone;
    parts[alone] = parts[leader_of_sharers(parts)];
  });
  EXPECT_NE(told.find("the plan is a part that leaves out replica " + std::to_string(alone / 2)), std::string::npos)
      << told;
}

TEST(PackflowRankPlan, RefusesAPartAmongWholePlans) {
  const plan whole = planner_on(three)(one_long).value();
  std::vector<rank_plan> parts = planned_by_ranks(three, one_long);
  std::vector<stage> stages = stages_on(three);
  transports::threads world{6, {.time_out = {20}}};
  std::vector<std::string> told(6);
  tests::on_every_rank(6, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const auto at = static_cast<std::size_t>(rank);
    const result<step_report> ran = rank == 3 ? executors::packflow{}.execute(parts[at], stages[at], endpoint)
                                              : executors::packflow{}.execute(whole, stages[at], endpoint);
    if (!ran) told[at] = ran.error().detail;
  });
  EXPECT_EQ(told[0], "ranks 0 and 3 hold different divisions of the batch: a plan of all replicas and " +
                         hash_text(parts[0].division));
}

}  // namespace
}  // namespace slimpack::packflow_rank_plan_test
