#include <slimpack/costs/kernels/kernel_times.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"

#include "../../examples/planners/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace slimpack::planner_vocabulary_test {
namespace {

shape llama_shape(int stages, int chunks, vocabulary where) {
  return {.stages = stages, .replicas = 2, .tensor = 2, .chunks = chunks, .vocabulary = where};
}

result<plan> planned(const shape& on, std::span<const tokens> lengths,
                     solvers::search_budget effort = solvers::search_budget::normal()) {
  const costs::transformer cost = costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on, {}).value();
  return planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.effort = effort}}(lengths);
}

// The logits make the last of four stages a quarter heavier than each other, and the last of eight half as heavy again.
TEST(PlannerVocabulary, SpreadIsFasterWhereTheLastStageIsHeaviest) {
  testing::generator random(7);
  int batches = 0;
  for (const int stages : {4, 8}) {
    for (const int chunks : {1, 2}) {
      std::vector<tokens> lengths;
      for (int i = 0; i < 256; ++i) lengths.push_back(random.length({8192}));
      if (!tests::is_tried(batches++, 3)) continue;
      const auto on_h100s = [&](vocabulary where) {
        shape on = llama_shape(stages, chunks, where);
        on.memory = memory_limit{memory_unit::byte, 70 * 0x1p30};
        return planned(on, lengths);
      };
      const result<plan> last = on_h100s(vocabulary::last), spread = on_h100s(vocabulary::spread);
      ASSERT_TRUE(last && spread);
      const double gain = last.value().step_time / spread.value().step_time;
      std::printf("p %d, v %d: %.4f s, spread %.4f s, %.3f times as fast\n", stages, chunks,
                  last.value().step_time.value, spread.value().step_time.value, gain);
      EXPECT_GT(gain, stages == 4 ? 1.08 : 1.15);
      EXPECT_LE(spread.value().lower_bound, spread.value().step_time);
      EXPECT_LT(spread.value().rank_time->imbalance / spread.value().rank_time->total(), 0.05);
    }
  }
}

TEST(PlannerVocabulary, KeepsTheMemoryLimit) {
  testing::generator random(8);
  int tried = 0, limited = 0;
  for (int round = 0; round < 6; ++round) {
    shape on = llama_shape(4, 1 + round % 2, vocabulary::spread);
    if (round % 3 == 0) on.words = {64, 8000, 40064, 80128};
    std::vector<tokens> lengths{{60000}};
    for (int i = 0; i < 100; ++i) lengths.push_back(random.length({16384}));
    if (!tests::is_tried(round, 3)) continue;
    ++tried;
    const result<plan> free = planned(on, lengths, tests::effort);
    ASSERT_TRUE(free);
    double most = 0;
    for (const replica_plan& r : free.value().replicas)
      most = std::max(most, *std::max_element(r.peak_memory.begin(), r.peak_memory.end()));
    on.memory = memory_limit{memory_unit::byte, 0.9 * most};
    const result<plan> made = planned(on, lengths, tests::effort);
    if (!made) continue;
    ++limited;
    EXPECT_TRUE(testing::plan_laws(made.value()));
    for (const replica_plan& r : made.value().replicas)
      for (const double peak : r.peak_memory) EXPECT_LE(peak, on.memory->amount) << "seed 8, round " << round;
  }
  std::printf("%d of %d batches have a plan within nine tenths of the memory\n", limited, tried);
  EXPECT_GE(2 * limited, tried);
}

TEST(PlannerVocabulary, PlansPartsOfAGroupAlone) {
  const shape on = llama_shape(4, 1, vocabulary::spread);
  const costs::transformer cost = costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on, {}).value();
  const planner plan_batch{on, slicers::equal_cost{}, cost, solvers::two_phase_estimated{}};
  testing::generator random(9);
  std::vector<tokens> lengths;
  for (int i = 0; i < 64; ++i) lengths.push_back(random.length({16384}));
  std::vector<rank_plan> parts;
  for (const std::uint32_t replica : {0u, 1u}) parts.push_back(plan_batch.of_replica(lengths, replica).value());
  const result<plan> together = plan_batch.put_together(parts);
  const result<plan> whole = plan_batch(lengths);
  ASSERT_TRUE(together && whole);
  EXPECT_EQ(together.value().hash, whole.value().hash);
}

std::string refusal(const auto& plan_batch) {
  const std::vector<tokens> lengths{{1000}};
  const result<plan> made = plan_batch(lengths);
  if (made) return "no refusal";
  EXPECT_EQ(made.error().code, errc::invalid_input);
  return made.error().detail;
}

TEST(PlannerVocabulary, IsRefusedWhereThereIsNothingToSpreadItOver) {
  const costs::with_vocabulary<costs::quadratic> cost;
  EXPECT_NE(
      refusal(planner{shape{.vocabulary = vocabulary::spread}, slicers::equal_cost{}, cost}).find("at least 2 stages"),
      std::string::npos);
  const shape wordless{.stages = 2, .vocabulary = vocabulary::spread, .words = {5, 0}};
  EXPECT_EQ(
      refusal(planner{wordless, slicers::equal_cost{}, cost}),
      "the shape has a stage without a word of the vocabulary that is spread; give shape.words a count of at least 1 "
      "for each stage, or none for even shares");
}

/// Asks its one cost model about the parts of the problem.
struct for_one_model {
  result<solution> solve(const problem&, const slicers::equal_cost&, const costs::with_vocabulary<costs::quadratic>&,
                         const schedules::list&) const {
    return error{errc::invalid_input, "was asked"};
  }
};

// A search asks for a stage more than there is, which only the cost model that it is given knows.
TEST(PlannerVocabulary, IsRefusedWhereTheSolverTakesOneCostModelAlone) {
  const shape on{.stages = 2, .vocabulary = vocabulary::spread};
  const costs::with_vocabulary<costs::quadratic> cost;
  EXPECT_NE(refusal(planner{on, slicers::equal_cost{}, cost, for_one_model{}}).find("one cost model alone"),
            std::string::npos);
}

TEST(PlannerVocabulary, IsRefusedWhereTheCostModelHasNoTimesForIt) {
  const shape on{.stages = 2, .vocabulary = vocabulary::spread};
  EXPECT_NE(refusal(planner{on, slicers::equal_cost{}, costs::quadratic{}}).find("no vocabulary_time"),
            std::string::npos);
  // Made for a shape that has it in one place.
  const costs::gpu device = costs::gpus::h100();
  const costs::kernel_times kernels{costs::wave_model(device)};
  const costs::profiled last =
      costs::profiled_of(tests::llama_3_1_8b(), {.stages = 2}, kernels, costs::network(device)).value();
  EXPECT_NE(refusal(planner{on, slicers::equal_cost{}, last, solvers::two_phase{}}).find("vocabulary::spread"),
            std::string::npos);
}

}  // namespace
}  // namespace slimpack::planner_vocabulary_test
