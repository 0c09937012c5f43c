#include "../executors/one_at_a_time.hpp"
#include "../executors/planned.hpp"
#include "../executors/spread_plan.hpp"
#include "../laws/cases.hpp"
#include "exact_forest.hpp"
#include "held.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace slimpack::forest_exactness_test {
namespace {

using tests::exact_forest;
using tests::forest_planner;
using tests::worst_error;

std::vector<forest_planner> planners() {
  std::vector<forest_planner> all = tests::forest_planners();
  for (const forest_planner& one : tests::cut_planners()) all.push_back(one);
  return all;
}

/// Calls what(batch, plan, cuts, name) for forests on 1 to 3 replicas of 1 to 4 stages of one and two chunks.
template <class What>
void on_plans(int seeds, int each, const What& what) {
  int k = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const exact_forest batch(static_cast<std::uint64_t>(seed), tests::deep_model);
    for (const forest_planner& planner : planners())
      for (int stages = 1; stages <= 4; ++stages)
        for (int replicas = 1; replicas <= 3; ++replicas)
          for (int chunks = 1; chunks <= 2; ++chunks) {
            if (!tests::is_tried(k++, each)) continue;
            const shape on{.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = batch.quantum};
            const result<plan> made = planner.make(on, batch.samples.batch);
            ASSERT_TRUE(made) << made.error().detail;
            what(batch, made.value(), planner.cuts,
                 std::string(planner.name) + ", p " + std::to_string(stages) + ", dp " + std::to_string(replicas) +
                     ", v " + std::to_string(chunks) + ", seed " + std::to_string(seed));
          }
  }
}

TEST(ForestExactness, LossAndGradientsAreThoseOfFlatCopiesOnOneRank) {
  double worst = 0;
  int steps = 0, copies = 0, apart = 0;
  on_plans(tests::cases(2), 9,
           [&](const exact_forest& batch, const plan& p, backward_cuts cuts, const std::string& name) {
             double error = worst_error<tests::whole_pieces>(batch, p);
             if (cuts == backward_cuts::any) error = std::max(error, worst_error<train::model_stage<double>>(batch, p));
             if (steps % 3 == 0)
               error = std::max(error, worst_error<train::model_stage<double>>(batch, tests::sums_beside(p)));
             EXPECT_LT(error, 1e-11) << name;
             worst = std::max(worst, error);
             ++steps, copies += !p.copies.empty(), apart += tests::splits(p);
           });
  std::printf("%d plans, %d with copied paths, %d with weight gradients apart, largest relative error %.2g\n", steps,
              copies, apart, worst);
  EXPECT_GT(copies, steps / 3) << "paths must be copied for this to show anything";
  EXPECT_GT(apart, steps / 8) << "weight gradients must be apart for this to show anything";
}

TEST(ForestExactness, SoTheyAreWhereTheVocabularyIsSpread) {
  double worst = 0;
  int steps = 0, copies = 0;
  on_plans(tests::cases(2), 11, [&](const exact_forest& batch, const plan& p, backward_cuts, const std::string& name) {
    if (p.shape.stages == 1) return;  // over which nothing is spread
    const result<plan> spread = tests::spread(p);
    ASSERT_TRUE(spread) << spread.error().detail << ", " << name;
    const double error = worst_error<train::model_stage<double>>(batch, spread.value());
    EXPECT_LT(error, 1e-11) << name;
    worst = std::max(worst, error);
    ++steps, copies += !p.copies.empty();
  });
  std::printf("%d plans, %d with copied paths, largest relative error %.2g\n", steps, copies, worst);
  EXPECT_GT(copies, steps / 3);
}

void expect_held(const exact_forest& batch, const plan& p, const std::string& name) {
  const std::vector<double> held = tests::held_by_step<train::model_stage<double>>(batch, p);
  const auto stages = static_cast<std::size_t>(p.shape.stages);
  for (std::uint32_t replica = 0; replica < p.replicas.size(); ++replica) {
    if (p.replicas[replica].sequences.empty()) continue;
    const std::vector<double> says = tests::planned_held(batch.model, p, replica);
    for (std::size_t stage = 0; stage < stages; ++stage) EXPECT_EQ(held[replica * stages + stage], says[stage]) << name;
  }
}

// By packs made for one pass, which keep a path until the last sequence that reads it has run.
TEST(ForestExactness, AnEvaluationByForwardAloneHasTheLossOfFlatCopies) {
  double worst = 0;
  int plans = 0, copies = 0;
  for (int seed = 1; seed <= tests::cases(3); ++seed) {
    const exact_forest batch(static_cast<std::uint64_t>(seed), tests::deep_model);
    for (const shape& on : {shape{.stages = 1, .quantum = batch.quantum},
                            shape{.stages = 2, .replicas = 3, .chunks = 2, .quantum = batch.quantum},
                            shape{.stages = 4, .replicas = 2, .quantum = batch.quantum}}) {
      const result<plan> made = tests::planned_forward(on, batch.samples.batch);
      ASSERT_TRUE(made) << made.error().detail << ", seed " << seed;
      const plan& p = made.value();
      std::vector<double> errors(static_cast<std::size_t>(tests::ranks_of(p)));
      transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
      tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
        auto endpoint = world.endpoint(rank);
        train::model_stage<double> stage(batch.model, p.shape, rank % p.shape.stages, batch.documents(p), 7);
        const step_report ran = executors::packflow{}.evaluate(p, stage, endpoint).value();
        errors[static_cast<std::size_t>(rank)] = std::abs(ran.loss_sum - batch.loss) / batch.size;
      });
      const double error = *std::max_element(errors.begin(), errors.end());
      EXPECT_LT(error, 1e-13) << on.stages << " stages, " << on.replicas << " replicas, seed " << seed;
      worst = std::max(worst, error);
      ++plans, copies += !p.copies.empty();
    }
  }
  std::printf("%d plans, %d with copied paths, largest relative error %.2g\n", plans, copies, worst);
  EXPECT_GT(copies, 0);
}

TEST(ForestExactness, AStageHoldsWhatThePlanSays) {
  on_plans(tests::cases(1), 11, [&](const exact_forest& batch, const plan& p, backward_cuts, const std::string& name) {
    expect_held(batch, p, name);
  });
}

// A path that no replica has room for is cut off, and shared; others share what they have on one replica each.
TEST(ForestExactness, SoTheyAreWhereReplicasShareWhatIsTooLongForOne) {
  double worst = 0;
  int steps = 0, beside_trees = 0, k = 0;
  for (int seed = 1; seed <= tests::cases(6); ++seed) {
    const exact_forest batch(static_cast<std::uint64_t>(seed), tests::deep_model);
    for (const forest_planner& planner : tests::sharing_forest_planners())
      for (int replicas = 2; replicas <= 3; ++replicas)
        for (int stages = 1; stages <= 4; ++stages) {
          if (!tests::is_tried(k++, 3)) continue;
          const int chunks = seed % 2 + 1;
          const shape on{.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = batch.quantum};
          const result<plan> made = planner.make(on, batch.samples.batch);
          if (!made || made.value().merges.empty()) continue;
          const plan& p = made.value();
          const std::string name = std::string(planner.name) + ", p " + std::to_string(stages) + ", dp " +
                                   std::to_string(replicas) + ", v " + std::to_string(chunks) + ", seed " +
                                   std::to_string(seed);
          const double error = worst_error<train::model_stage<double>>(batch, p);
          EXPECT_LT(error, 1e-11) << name;
          // What is kept of others is in no rate of these plans; model_test.cpp counts it.
          if (p.merges.front().exchange != exchange::keep) expect_held(batch, p, name);
          worst = std::max(worst, error);
          ++steps, beside_trees += !p.parents.empty();
        }
  }
  std::printf("%d plans, %d with trees beside what is shared, largest relative error %.2g\n", steps, beside_trees,
              worst);
  EXPECT_GT(beside_trees, tests::cases(6));
}

/// A stage that keeps back the last edge that it has.
class keeps_one_back : public train::model_stage<double> {
 public:
  using model_stage::model_stage;
  void log_probabilities(edge_values& to) const {
    edge_values all;
    model_stage::log_probabilities(all);
    for (std::size_t i = 0; i + 1 < all.all().size(); ++i)
      to.add(all.all()[i].sequence, all.all()[i].target, all.all()[i].value);
  }
};

TEST(ForestExactness, AnEdgeThatIsMissingIsRefused) {
  const exact_forest batch(1, tests::deep_model);
  const plan p = planners()[0].make({.stages = 2, .quantum = batch.quantum}, batch.samples.batch).value();
  transports::threads world{2, {.time_out = {60}}};
  std::vector<std::string> why(2);
  tests::on_every_rank(2, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    keeps_one_back stage(batch.model, p.shape, rank, batch.documents(p), 7);
    const result<step_report> report = executors::packflow{}.execute(p, stage, endpoint);
    if (!report) why[static_cast<std::size_t>(rank)] = report.error().detail;
  });
  EXPECT_NE(why[1].find("all of which are targets: one edge to each"), std::string::npos) << why[1];
}

TEST(ForestExactness, HasTheSameBitsWhateverMessagesAreFirst) {
  using stage = train::model_stage<double>;
  on_plans(tests::cases(1), 23, [&](const exact_forest& batch, const plan& p, backward_cuts, const std::string& name) {
    if (p.shape.stages == 1) return;  // which sends no other stage a message
    transports::threads threads{tests::ranks_of(p), {.time_out = {60}}};
    const std::vector<std::vector<double>> first = tests::outcomes_of<stage>(batch, p, threads);
    for (const std::uint64_t seed : {1u, 2u}) {
      tests::one_at_a_time world(tests::ranks_of(p), seed);
      EXPECT_EQ(tests::outcomes_of<stage>(batch, p, world), first) << name;
    }
  });
}

}  // namespace
}  // namespace slimpack::forest_exactness_test
