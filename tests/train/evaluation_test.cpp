#include "../laws/cases.hpp"
#include "exact_step.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace slimpack::evaluation_test {
namespace {

using tests::exact_batch;

/// A loss, and what a rank's store holds after it and held at most.
struct evaluated {
  double loss{};
  bytes held, peak;
  bool any_gradient{};
};

/// Of every rank. step: whether the plan's step is run instead.
template <class Stage>
std::vector<evaluated> losses_of(const exact_batch& batch, const plan& p, bool step) {
  std::vector<evaluated> all(static_cast<std::size_t>(tests::ranks_of(p)));
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    Stage stage(batch.model, p.shape, rank % p.shape.stages, batch.documents(), 7);
    const executors::packflow run;
    const result<step_report> report = step ? run.execute(p, stage, endpoint) : run.evaluate(p, stage, endpoint);
    evaluated& own = all[static_cast<std::size_t>(rank)];
    own = {report.value().loss_sum, stage.held(), stage.peak()};
    for (const double g : stage.weights().gradients()) own.any_gradient = own.any_gradient || g != 0;
  });
  return all;
}

struct evaluation_count {
  int plans{}, shared{}, last_bits{};
};

/// That a plan's evaluation has the bits of its step's loss, and holds nothing at its end.
template <class Stage>
void compare(const exact_batch& batch, const plan& p, const char* planner, evaluation_count& seen) {
  const std::vector<evaluated> step = losses_of<Stage>(batch, p, true), alone = losses_of<Stage>(batch, p, false);
  for (std::size_t rank = 0; rank < alone.size(); ++rank) {
    EXPECT_EQ(alone[rank].loss, step[rank].loss) << planner << ", rank " << rank;
    EXPECT_EQ(alone[rank].held, bytes{});
    EXPECT_LE(alone[rank].peak, step[rank].peak);
    EXPECT_FALSE(alone[rank].any_gradient);
  }
  ++seen.plans;
  seen.shared += !p.merges.empty();
  seen.last_bits += alone[0].loss != batch.loss;
}

evaluation_count compare_all(const std::vector<tests::named_planner>& planners, const train::config& model,
                             int fewest) {
  evaluation_count seen;
  for (int seed = 1; seed <= tests::cases(1); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed), model);
    for (const tests::named_planner& planner : planners)
      for (shape on : {shape{.stages = 1, .replicas = fewest}, shape{.stages = 2, .replicas = fewest + 1},
                       shape{.stages = 4, .replicas = fewest}, shape{.stages = 2, .replicas = fewest, .chunks = 2}}) {
        on.quantum = batch.quantum;
        const plan p = planner.make(on, batch.lengths).value();
        compare<train::model_stage<double>>(batch, p, planner.name, seen);
        compare<tests::whole_pieces>(batch, p, planner.name, seen);
      }
  }
  std::printf("%d plans, %d shared, %d with other last bits than the uncut loss\n", seen.plans, seen.shared,
              seen.last_bits);
  EXPECT_GT(seen.last_bits, seen.plans / 8) << "sums must round differently for equal bits to show anything";
  return seen;
}

TEST(Evaluation, HasTheBitsOfTheStepsLoss) { compare_all(tests::every_planner(), tests::small_model, 1); }

TEST(Evaluation, SoItHasWhereReplicasShareSequences) {
  EXPECT_GT(compare_all(tests::sharing_planners(), tests::small_model, 2).shared, 4);
}

TEST(Evaluation, SoItHasWhereTheStepsWeightGradientsRunApart) {
  compare_all(tests::splitting_planners(), tests::deep_model, 1);
}

TEST(Evaluation, OfAForwardPlanIsThatOfUncutSequencesInItsMemory) {
  double worst = 0;
  int exact = 0, ranks = 0;
  for (int seed = 1; seed <= tests::cases(4); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (shape on : {shape{.stages = 1}, shape{.stages = 3, .replicas = 2}, shape{.stages = 4},
                     shape{.stages = 2, .replicas = 2, .chunks = 2}}) {
      on.quantum = batch.quantum;
      const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
      const basic_planner plan_batch{
          on, slicers::equal_cost{}, cost, solvers::two_phase{}, schedules::list{}, simulators::sweep{}};
      const plan p = plan_batch.plan_forward(batch.lengths).value();
      EXPECT_TRUE(testing::plan_laws(p, cost)) << testing::plan_laws(p, cost);
      const std::vector<evaluated> ran = losses_of<train::model_stage<double>>(batch, p, false);
      for (std::size_t rank = 0; rank < ran.size(); ++rank) {
        worst = std::max(worst, std::abs(ran[rank].loss / batch.loss - 1));
        EXPECT_EQ(ran[rank].held, bytes{});
        const auto stages = static_cast<std::size_t>(on.stages);
        const double rate =
            train::model_stage<double>::rates(batch.model, on, static_cast<int>(rank % stages)).live_token;
        // The store's pages are quanta, of which the last of a sequence may not be full.
        EXPECT_LE(ran[rank].peak.value, p.replicas[rank / stages].peak_memory[rank % stages] * rate + 0.5)
            << "seed " << seed;
        exact += std::abs(ran[rank].peak.value - p.replicas[rank / stages].peak_memory[rank % stages] * rate) < 0.5;
        ++ranks;
      }
    }
  }
  std::printf("largest relative error of a loss %.2g; %d of %d ranks held what the plan says to the byte\n", worst,
              exact, ranks);
  EXPECT_LT(worst, 1e-13);
  EXPECT_GT(exact, ranks / 2);
}

}  // namespace
}  // namespace slimpack::evaluation_test
