#include <slimpack/basic_planner.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include "../laws/cases.hpp"
#include "../support/bucketed_cost.hpp"
#include "everywhere.hpp"
#include "prefix_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace slimpack::packflow_reduction_test {
namespace {

using tests::run_everywhere;

/// Adds up what each chunk has as soon as it may: its gradients, which are whole numbers, and others whose sum depends
/// on the order of the replicas.
class reducing_stage : public prefix_in_arena<backward_cuts::any> {
 public:
  reducing_stage(int rank, const shape& on, std::size_t size)
      : prefix_in_arena(rank % on.stages, on.stages, on.chunks), other(static_cast<std::size_t>(on.chunks)) {
    testing::generator random(static_cast<std::uint64_t>(rank) + 1);
    for (std::vector<double>& chunk : other)
      for (std::size_t i = 0; i < size; ++i) chunk.push_back(static_cast<double>(random.between(1, 1 << 30)) / 1e9);
  }

  void begin_step(const step_outline& o) { calls_left = o.backward_calls; }
  result<void> backward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    --calls_left;
    return prefix_in_arena::backward(p, in, out);
  }
  template <class Group>
  result<void> reduce(Group&) {
    return success();
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    asked.push_back(chunk);
    early += calls_left > 0;
    if (fails) return error{errc::compute_failed, "no sum today"};
    if (result<void> begun = sums.start(gradient_of(chunk)); !begun) return begun;
    return sums.start(std::span<double>(other[chunk]));
  }

  std::vector<std::vector<double>> other;  // per chunk
  std::vector<std::uint32_t> asked;
  std::size_t calls_left{};
  int early{};  // sums that began before the last backward
  bool fails{};
};

[[nodiscard]] std::vector<reducing_stage> stages_of(const plan& p, std::size_t size) {
  std::vector<reducing_stage> stages;
  for (int rank = 0; rank < tests::ranks_of(p); ++rank) stages.emplace_back(rank, p.shape, size);
  return stages;
}

[[nodiscard]] plan planned(const shape& on, std::span<const tokens> lengths, testing::generator& random) {
  const costs::quadratic times{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  return basic_planner{on,
                       slicers::equal_cost{},
                       tests::any_buckets(times, on, {1e-3}, random),
                       solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1},
                       schedules::list{},
                       simulators::sweep{}}(lengths)
      .value();
}

// Sums beside the work have the bits of those after it, of every copy, and gradients are those of uncut sequences.
TEST(PackflowReduction, BesideTheWorkHasTheBitsOfTheOneAfterIt) {
  int early = 0, sums = 0;
  for (int seed = 1; seed <= tests::steps(8); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(1, 4)),
                   .chunks = static_cast<int>(random.between(1, 3)),
                   .quantum = {random.between(1, 8)}};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, on.quantum, static_cast<std::size_t>(random.between(4, 16)));
    const plan beside = planned(on, lengths, random);
    plan after = beside;
    after.reduction.reset();
    const auto size = static_cast<std::size_t>(random.between(0, 1000));
    const prefix_model::gradients expected = prefix_model::whole(lengths, on.parts());
    std::vector<reducing_stage> found[2] = {stages_of(beside, size), stages_of(after, size)};
    for (int way = 0; way < 2; ++way) {
      for (const result<step_report>& one : run_everywhere(way == 0 ? beside : after, found[way]))
        ASSERT_TRUE(one) << one.error().detail << ", seed " << seed;
      for (std::size_t rank = 0; rank < found[way].size(); ++rank) {
        const reducing_stage& stage = found[way][rank];
        for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(on.chunks); ++chunk) {
          EXPECT_EQ(stage.gradient()[chunk], expected.weight[static_cast<std::size_t>(stage.part(chunk))])
              << "seed " << seed;
          EXPECT_EQ(stage.asked[chunk], static_cast<std::uint32_t>(on.chunks) - 1 - chunk) << "seed " << seed;
          std::vector<double> sum(size);  // in the order of the replicas
          for (int replica = 0; replica < on.replicas; ++replica) {
            const reducing_stage alone(replica * on.stages + static_cast<int>(rank) % on.stages, on, size);
            for (std::size_t i = 0; i < size; ++i)
              sum[i] = replica == 0 ? alone.other[chunk][i] : sum[i] + alone.other[chunk][i];
          }
          EXPECT_EQ(stage.other[chunk], sum) << "rank " << rank << ", seed " << seed;
        }
        EXPECT_TRUE(way == 0 || stage.early == 0);
        early += stage.early, sums += way == 0 ? on.chunks : 0;
      }
    }
  }
  std::printf("%d of %d chunks were summed beside the work\n", early, sums);
  EXPECT_GT(early, sums / 10);
}

TEST(PackflowReduction, StopsEveryRankWhereAPartFails) {
  testing::generator random(3);
  const shape on{.stages = 2, .replicas = 2, .chunks = 2, .quantum = {4}};
  const plan p = planned(on, tests::awkward_lengths(random, on.quantum, 9), random);
  std::vector<reducing_stage> stages = stages_of(p, 10);
  stages[2].fails = true;
  for (const result<step_report>& one : run_everywhere(p, stages)) {
    ASSERT_FALSE(one);
    EXPECT_NE(one.error().detail.find("rank 2 (replica 1, stage 0, chunk 1)"), std::string::npos) << one.error().detail;
    EXPECT_NE(one.error().detail.find("no sum today"), std::string::npos) << one.error().detail;
  }
}

}  // namespace
}  // namespace slimpack::packflow_reduction_test
