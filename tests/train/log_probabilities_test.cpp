#include "../laws/cases.hpp"
#include "exact_step.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/forward.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

namespace slimpack::log_probabilities_test {
namespace {

using tests::exact_batch;
using stage_type = train::model_stage<float>;
using of_ranks = std::vector<edge_values>;

/// The stages of all ranks, whose weights last from one step to the next. They are large, as after a training: logits
/// of fresh weights are so small that log-probabilities hide their last bits.
class trainers {
 public:
  trainers(const exact_batch& batch, const shape& on) : batch_(&batch) {
    const int ranks = on.stages * on.replicas;
    for (int rank = 0; rank < ranks; ++rank)
      stages_.push_back(std::make_unique<stage_type>(batch.model, on, rank % on.stages, documents(), 7));
    for (const auto& stage : stages_)
      for (float& w : stage->weights().values()) w *= 8;
  }

  of_ranks evaluated(const plan& p, const executors::packflow& run = {}) { return of(p, run, false); }
  of_ranks stepped(const plan& p, const executors::packflow& run = {}) { return of(p, run, true); }

  /// The next step is of sequences from this one on.
  void begin_at(std::uint32_t first) { first_ = first; }
  void descend(float rate) {
    for (const auto& stage : stages_) {
      const std::span<float> gradients = stage->weights().gradients(), values = stage->weights().values();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= rate * gradients[i];
      stage->weights().zero_gradients();
    }
  }

 private:
  [[nodiscard]] train::documents documents() const {
    return [this](sequence_id s) { return std::span<const std::uint8_t>(batch_->texts[first_ + s.value]); };
  }
  of_ranks of(const plan& p, const executors::packflow& run, bool step) {
    of_ranks all(stages_.size());
    transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
    tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
      auto endpoint = world.endpoint(rank);
      stage_type& stage = *stages_[static_cast<std::size_t>(rank)];
      const result<step_report> report = step ? run.execute(p, stage, endpoint) : run.evaluate(p, stage, endpoint);
      all[static_cast<std::size_t>(rank)] = report.value().log_probabilities;
    });
    return all;
  }

  const exact_batch* batch_;
  std::uint32_t first_{};
  std::vector<std::unique_ptr<stage_type>> stages_;
};

/// How many ratios there are, and how many of them are exactly 1, in float.
struct ratio_count {
  std::int64_t all{};
  std::int64_t exact{};
};
ratio_count ratios_of(const of_ranks& now, const of_ranks& old) {
  ratio_count count;
  for (const edge_values& own : now)
    for (const edge_value& e : own.all()) {
      ++count.all;
      for (const edge_values& theirs : old)
        if (const auto before = theirs.at(e.sequence, e.target); before && *before == e.value)
          count.exact += std::exp(static_cast<float>(e.value) - static_cast<float>(*before)) == 1.0f;
    }
  return count;
}

/// Packs of two tokens, for which matrix products take another kernel than for most packs of other plans.
plan in_small_packs(const shape& on, std::span<const tokens> lengths) {
  const auto recipe = baselines::chunked(on, {2});
  return basic_planner{
      on, recipe.slicer, costs::quadratic{}, recipe.solver, recipe.schedule, simulators::sweep{}}(lengths)
      .value();
}

std::int64_t edges_in(std::span<const tokens> lengths) {
  std::int64_t n = 0;
  for (const tokens length : lengths) n += length.value - 1;
  return n;
}

void compare_all(const std::vector<tests::named_planner>& planners, int fewest, const train::config& model,
                 const executors::packflow& run) {
  int plans = 0, shared = 0, differing = 0;
  for (int seed = 1; seed <= tests::cases(1); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed), model);
    for (shape on : {shape{.stages = 1, .replicas = fewest}, shape{.stages = 3, .replicas = fewest},
                     shape{.stages = 2, .replicas = fewest + 1}, shape{.stages = 2, .replicas = fewest, .chunks = 2}}) {
      on.quantum = batch.quantum;
      of_ranks others;
      if (shape small = on; on.chunks == 1) {
        small.quantum = {1};
        others = trainers(batch, small).evaluated(in_small_packs(small, batch.lengths));
      }
      for (const tests::named_planner& planner : planners) {
        const plan p = planner.make(on, batch.lengths).value();
        trainers all(batch, on);
        const of_ranks old = all.evaluated(p, run), now = all.stepped(p, run);
        const ratio_count same = ratios_of(now, old);
        EXPECT_EQ(same.all, edges_in(batch.lengths)) << planner.name << ": each edge once, on one rank";
        EXPECT_EQ(same.exact, same.all) << planner.name;
        for (std::size_t rank = 0; rank < old.size(); ++rank) {
          EXPECT_EQ(old[rank].all().size(), now[rank].all().size());
          EXPECT_TRUE(old[rank].of_step(p));
        }
        differing += !others.empty() && ratios_of(now, others).exact < same.all / 2;
        ++plans, shared += !p.merges.empty();
      }
    }
  }
  std::printf("%d plans, %d shared; of %d most log-probabilities have other bits by small packs\n", plans, shared,
              differing);
  EXPECT_GT(differing, plans / 2) << "packs must change last bits for equal ones to show anything";
  EXPECT_EQ(shared > 0, fewest > 1);
}

TEST(LogProbabilities, OfAnEvaluationHaveTheBitsOfTheStepByTheSamePlan) {
  compare_all(tests::every_planner(), 1, tests::small_model, {});
}

TEST(LogProbabilities, HaveThemWhereReplicasShareSequences) {
  compare_all(tests::sharing_planners(), 2, tests::small_model, {});
  compare_all(tests::sharing_planners(), 2, tests::small_model, {.rows = executors::row_calls::joined});
}

TEST(LogProbabilities, HaveThemWhereWeightGradientsRunApart) {
  compare_all(tests::splitting_planners(), 1, tests::deep_model, {});
}

// The plans of all minibatches are made, and old log-probabilities computed by them, before the first step.
TEST(LogProbabilities, OfSeveralMinibatchesAreThoseOfTheStepsWhileWeightsAreTheSame) {
  constexpr std::size_t minibatches = 3, each = 6;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    std::vector<tokens> lengths;
    for (std::size_t i = 0; i < minibatches * each; ++i) lengths.push_back({random.between(2, 70)});
    const tokens quantum{random.between(1, 5)};
    const exact_batch batch(static_cast<std::uint64_t>(seed), tests::small_model, quantum, lengths);
    const shape on{.stages = 2, .replicas = 2, .quantum = quantum};
    std::vector<plan> plans;
    for (std::size_t k = 0; k < minibatches; ++k)
      plans.push_back(
          tests::every_planner()[k].make(on, std::span<const tokens>(lengths).subspan(k * each, each)).value());
    trainers all(batch, on);
    std::vector<of_ranks> old;
    const auto first_of = [](std::size_t k) { return static_cast<std::uint32_t>(k * each); };
    for (std::size_t k = 0; k < minibatches; ++k) all.begin_at(first_of(k)), old.push_back(all.evaluated(plans[k]));
    for (std::size_t k = 0; k < minibatches; ++k) {
      all.begin_at(first_of(k));
      const ratio_count ratios = ratios_of(all.stepped(plans[k]), old[k]);
      EXPECT_EQ(ratios.all, edges_in(plans[k].lengths));
      if (k == 0)
        EXPECT_EQ(ratios.exact, ratios.all);
      else
        EXPECT_LT(ratios.exact, ratios.all / 4) << "weights have changed";
      all.descend(.5f);
    }
    // So are those of any later step, if no weight has changed since.
    all.begin_at(first_of(1));
    const of_ranks again = all.evaluated(plans[1]);
    const ratio_count ratios = ratios_of(all.stepped(plans[1]), again);
    EXPECT_EQ(ratios.exact, ratios.all);
  }
}

// What other packs do to them, and that these are told apart.
TEST(LogProbabilities, ByAForwardPlanAreNotThoseOfTheStep) {
  const exact_batch batch(3);
  const shape on{.stages = 2, .quantum = batch.quantum};
  const plan step = tests::every_planner()[0].make(on, batch.lengths).value();
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  const basic_planner plan_batch{
      on, slicers::equal_cost{}, cost, solvers::two_phase{}, schedules::list{}, simulators::sweep{}};
  const plan forward = plan_batch.plan_forward(batch.lengths).value();
  trainers all(batch, on);
  const of_ranks old = all.evaluated(forward), now = all.stepped(step);
  const ratio_count ratios = ratios_of(now, old);
  EXPECT_EQ(ratios.all, edges_in(batch.lengths));
  EXPECT_LT(ratios.exact, ratios.all);
  double worst = 0;
  for (const edge_value& e : now[1].all())
    worst = std::max(worst, std::abs(e.value - old[1].at(e.sequence, e.target).value()));
  EXPECT_LT(worst, 1e-3) << "they are the same up to rounding";
  EXPECT_FALSE(old[1].of_step(step));
  EXPECT_TRUE(now[1].of_step(step));
  std::printf("by a forward plan %lld of %lld log-probabilities have other bits, by at most %.2g\n",
              static_cast<long long>(ratios.all - ratios.exact), static_cast<long long>(ratios.all), worst);
}

}  // namespace
}  // namespace slimpack::log_probabilities_test
