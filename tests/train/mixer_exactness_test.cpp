#include "../executors/one_at_a_time.hpp"
#include "../executors/planned.hpp"
#include "../executors/spread_plan.hpp"
#include "../laws/cases.hpp"
#include "exact_forest.hpp"
#include "exact_step.hpp"
#include "held.hpp"
#include "lending_plan.hpp"

#include <slimpack/schedules/list.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Steps of models whose layers mix tokens in several ways: as those of full attention (exactness_test.cpp,
/// forest_exactness_test.cpp).
namespace slimpack::mixer_exactness_test {
namespace {

using tests::exact_batch;
using tests::exact_forest;
using tests::worst_error;
using train::mixer_choice;
using stage_type = train::model_stage<double>;

constexpr mixer_choice full{}, narrow{train::mixer_kind::window, 3}, wide{train::mixer_kind::window, 12},
    linear{train::mixer_kind::linear};

/// A layer for each part of 4 stages of 2 chunks, where nothing or something is computed again.
train::config model_of(std::vector<mixer_choice> mixers, bool again = false) {
  train::config c = tests::deep_model;
  c.mixers = std::move(mixers);
  if (again) c.recompute = costs::recompute::light;
  return c;
}
std::vector<train::config> models() {
  return {model_of({full, wide, linear}), model_of({linear}, true), model_of({narrow, linear})};
}

std::vector<tests::named_planner> planners() {
  std::vector<tests::named_planner> all = tests::every_planner();
  const std::vector<tests::named_planner> more = tests::splitting_planners();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct tally {
  double worst{};
  int steps{};
  int uneven{};
  int apart{};
  int exact{};  // ranks that hold what the plan says
  int ranks{};

  void print(const char* what) const {
    std::printf(
        "%s: %d steps, %d of asymmetric plans, %d with weight gradients apart, largest relative error %.2g; %d ranks, "
        "%d to the byte\n",
        what, steps, uneven, apart, worst, ranks, exact);
  }
};

/// Whether chunks hold equally much, as the planner takes it.
bool has_equal_chunks(const train::config& c, const shape& on) {
  for (int stage = 0; stage < on.stages; ++stage)
    for (int chunk = 1; chunk < on.chunks; ++chunk) {
      const train::layer_range first = train::part_of(c, on, stage),
                               other = train::part_of(c, on, chunk * on.stages + stage);
      if (first.size() != other.size() || states_of(c, first) != states_of(c, other)) return false;
    }
  return true;
}

/// Errors of a plan by computes of both kinds of backward cuts, and what stages hold.
template <class Batch>
void run(const Batch& batch, const plan& p, backward_cuts cuts, const std::string& named, tally& seen) {
  double error = worst_error<tests::whole_pieces>(batch, p);
  if (cuts == backward_cuts::any) error = std::max(error, worst_error<stage_type>(batch, p));
  EXPECT_LT(error, 1e-11) << named;
  seen.worst = std::max(seen.worst, error);
  seen.uneven += tests::asymmetric(p), seen.apart += tests::splits(p), ++seen.steps;
  if (cuts != backward_cuts::any || !has_equal_chunks(batch.model, p.shape)) return;
  const std::vector<double> held = tests::held_by_step<stage_type>(batch, p);
  for (std::uint32_t replica = 0; replica < p.replicas.size(); ++replica) {
    if (p.replicas[replica].sequences.empty()) continue;
    const std::vector<double> says = tests::planned_held(batch.model, p, replica);
    for (std::size_t stage = 0; stage < says.size(); ++stage) {
      const double found = held[replica * says.size() + stage];
      EXPECT_EQ(found, says[stage]) << named << ", stage " << stage;
      seen.exact += found == says[stage], ++seen.ranks;
    }
  }
}

std::string name_of(const char* planner, const shape& on, std::uint64_t seed) {
  return std::string(planner) + ", p " + std::to_string(on.stages) + ", dp " + std::to_string(on.replicas) + ", v " +
         std::to_string(on.chunks) + ", seed " + std::to_string(seed);
}

/// Calls what(shape) for 1 to 4 stages of one and two chunks, on one and two replicas.
template <class What>
void on_shapes(tokens quantum, const What& what) {
  for (int stages = 1; stages <= 4; ++stages)
    for (int chunks = 1; chunks <= 2; ++chunks)
      for (int replicas = 1; replicas <= 2; ++replicas)
        what(shape{.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = quantum});
}

TEST(ExactnessOfMixers, LossAndGradientsAreThoseOfUncutSequences) {
  tally seen;
  int k = 0;
  for (const train::config& model : models())
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(2)); ++seed) {
      const exact_batch batch(seed, model);
      for (const tests::named_planner& planner : planners())
        on_shapes(batch.quantum, [&](const shape& on) {
          if (!tests::is_tried(k++, 29)) return;
          const result<plan> made = planner.make(on, batch.lengths);
          if (!made && on.chunks > 1) return;  // list is for one chunk
          run(batch, made.value(), backward_cuts::any, name_of(planner.name, on, seed), seen);
        });
    }
  seen.print("mixers");
  EXPECT_GT(seen.worst, 0);
  EXPECT_GT(seen.uneven, seen.steps / 4) << "forward and backward must be cut differently for this to show anything";
  EXPECT_GT(seen.apart, seen.steps / 8);
  EXPECT_GT(seen.ranks, seen.steps);
}

TEST(ExactnessOfMixers, SoTheyAreWhereTheVocabularyIsSpread) {
  tally seen;
  int k = 0;
  for (const train::config& model : models()) {
    const exact_batch batch(3, model);
    for (const tests::named_planner& planner : planners())
      on_shapes(batch.quantum, [&](const shape& on) {
        if (on.stages == 1 || !tests::is_tried(k++, 43)) return;
        const result<plan> layers = planner.make(on, batch.lengths);
        if (!layers && on.chunks > 1) return;
        run(batch, tests::spread(layers.value()).value(), backward_cuts::any, name_of(planner.name, on, 3), seen);
      });
  }
  seen.print("mixers and a spread vocabulary");
  EXPECT_GT(seen.uneven, 0);
}

// Windows are masks, whoever has keys and queries.
TEST(ExactnessOfMixers, OfWindowsSoTheyAreWhereReplicasShareSequences) {
  tally seen;
  int k = 0, shared = 0;
  std::vector<tests::named_planner> all = tests::sharing_planners();
  for (const tests::named_planner& more : tests::splitting_and_sharing_planners()) all.push_back(more);
  for (const train::config& model : {model_of({narrow}), model_of({wide, full}, true)}) {
    const exact_batch batch(2, model);
    for (const tests::named_planner& planner : all)
      on_shapes(batch.quantum, [&](shape on) {
        ++on.replicas;
        if (!tests::is_tried(k++, 17)) return;
        const result<plan> made = planner.make(on, batch.lengths);
        if (!made && on.chunks > 1) return;
        shared += !made.value().merges.empty();
        run(batch, made.value(), backward_cuts::any, name_of(planner.name, on, 2), seen);
      });
  }
  seen.print("windows of shared sequences");
  EXPECT_GT(shared, seen.steps / 3);
}

TEST(ExactnessOfMixers, OfWindowsSoTheyAreWhereStagesLendEachOtherAttention) {
  tally seen;
  for (const int stages : {2, 4})
    for (const attention_lending lending : {attention_lending::pairs, attention_lending::level}) {
      const shape on{.stages = stages, .quantum = {4}};
      train::config model = model_of({wide, full}, true);
      model.layers = 2 * stages;
      const exact_batch batch(1, model, on.quantum, tests::lengths_to_lend);
      const plan p = tests::lending_plan(batch.lengths, on, 2 * stages, lending);
      EXPECT_GT(tests::lock_steps_of(p).lending, 0u);
      const double error = worst_error<stage_type>(batch, p);
      EXPECT_LT(error, 1e-11) << stages << " stages, " << name_of(lending);
      seen.worst = std::max(seen.worst, error), ++seen.steps;
    }
  seen.print("windows of lent attention");
}

TEST(ExactnessOfMixers, HasTheSameBitsForAnyTiming) {
  int k = 0, plans = 0;
  for (const train::config& model : models()) {
    const exact_batch batch(4, model);
    for (const tests::named_planner& planner : planners())
      on_shapes(batch.quantum, [&](const shape& on) {
        if (on.stages == 1 || !tests::is_tried(k++, 61)) return;
        const result<plan> made = planner.make(on, batch.lengths);
        if (!made) return;
        const plan& p = made.value();
        transports::threads side_by_side{tests::ranks_of(p), {.time_out = {60}}};
        const auto expected = tests::outcomes_of<stage_type>(batch, p, side_by_side);
        for (const std::uint64_t timing : {1u, 2u}) {
          tests::one_at_a_time in_turn(tests::ranks_of(p), timing);
          EXPECT_EQ(tests::outcomes_of<stage_type>(batch, p, in_turn), expected) << name_of(planner.name, on, 4);
        }
        ++plans;
      });
  }
  std::printf("%d plans\n", plans);
  EXPECT_GT(plans, 3);
}

/// Prices bytes as the model keeps them.
struct priced : costs::quadratic {
  std::vector<memory_rates> rates;
  train::kept_states states;
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return rates[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] bytes kept(const slice& piece, int stage) const { return states.kept(piece, stage); }
};

// By plans under limits in bytes, down to what no plan keeps to: those that there are hold what they say, and no more
// than the limit.
TEST(ExactnessOfMixers, StagesHoldWhatPlansUnderALimitSay) {
  int planned = 0, refused = 0, cut = 0, ranks = 0;
  for (const train::config& model : {model_of({linear}), model_of({full, linear}), model_of({wide, linear, linear})})
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(1)); ++seed) {
      const exact_batch batch(seed, model);
      for (const shape& shaped :
           {shape{.stages = 2, .quantum = batch.quantum}, shape{.stages = 4, .quantum = batch.quantum},
            shape{.stages = 2, .replicas = 2, .quantum = batch.quantum},
            shape{.stages = 2, .chunks = 2, .quantum = batch.quantum}}) {
        if (!has_equal_chunks(model, shaped)) continue;
        priced cost{{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}}, {}, {}};
        for (int stage = 0; stage < shaped.stages; ++stage)
          cost.rates.push_back(stage_type::rates(model, shaped, stage));
        cost.states = train::kept_states::of<double>(model, shaped);
        double most = 0;
        for (const double share : {2.0, 0.85, 0.6}) {
          shape on = shaped;
          if (share < 2) on.memory = memory_limit{memory_unit::byte, share * most};
          const auto plan_of = [&](const auto& schedule) {
            return basic_planner(on, slicers::equal_cost{}, cost,
                                 solvers::two_phase{.most_sharers = 1, .options = {.evaluation_growth = 2}}, schedule,
                                 simulators::sweep{})(batch.lengths);
          };
          const result<plan> made = on.chunks > 1 ? plan_of(schedules::one_f_one_b{}) : plan_of(schedules::list{});
          if (!made) {
            EXPECT_EQ(made.error().code, errc::out_of_memory);
            ++refused;
            continue;
          }
          const plan& p = made.value();
          const std::vector<double> held = tests::held_by_step<stage_type>(batch, p);
          for (std::size_t r = 0; r < p.replicas.size(); ++r) {
            const replica_plan& own = p.replicas[r];
            if (own.sequences.empty()) continue;
            cut += own.partition.forward.slices().size() > own.sequences.size();
            for (std::size_t stage = 0; stage < own.peak_memory.size(); ++stage) {
              EXPECT_EQ(held[r * own.peak_memory.size() + stage], own.peak_memory[stage])
                  << "seed " << seed << ", p " << on.stages << ", limit " << share;
              if (!on.memory) most = std::max(most, own.peak_memory[stage]);
              EXPECT_LE(own.peak_memory[stage], on.memory ? on.memory->amount : most);
              ++ranks;
            }
          }
          ++planned;
        }
      }
    }
  std::printf("%d plans, %d limits that none keeps to, %d replicas cut sequences, %d ranks to the byte\n", planned,
              refused, cut, ranks);
  EXPECT_GT(cut, planned / 4);
  EXPECT_GT(planned, refused);
}

/// Forests on 1 to 2 replicas of 1 to 4 stages of one and two chunks.
template <class What>
void on_forests(const train::config& model, std::uint64_t seed, int each, const What& what) {
  int k = static_cast<int>(seed);
  const exact_forest batch(seed, model);
  std::vector<tests::forest_planner> all = tests::forest_planners();
  for (const tests::forest_planner& one : tests::cut_planners()) all.push_back(one);
  for (const tests::forest_planner& planner : all)
    on_shapes(batch.quantum, [&](const shape& on) {
      if (!tests::is_tried(k++, each)) return;
      const result<plan> made = planner.make(on, batch.samples.batch);
      ASSERT_TRUE(made) << made.error().detail;
      what(batch, made.value(), planner.cuts, name_of(planner.name, on, seed));
    });
}

TEST(ForestExactnessOfMixers, LossAndGradientsAreThoseOfFlatCopiesOnOneRank) {
  tally seen;
  int copies = 0;
  for (const train::config& model : models())
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(2)); ++seed)
      on_forests(model, seed, 37,
                 [&](const exact_forest& batch, const plan& p, backward_cuts cuts, const std::string& named) {
                   run(batch, p, cuts, named, seen);
                   copies += !p.copies.empty();
                 });
  seen.print("forests");
  EXPECT_GT(copies, seen.steps / 4) << "paths must be copied for this to show anything";
  EXPECT_GT(seen.apart, 0);
  EXPECT_GT(seen.ranks, 0);
}

TEST(ForestExactnessOfMixers, AnEvaluationByForwardAloneHasTheLossOfFlatCopies) {
  double worst = 0;
  int plans = 0;
  for (const train::config& model : models())
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(2)); ++seed) {
      const exact_forest batch(seed, model);
      for (const shape& on : {shape{.stages = 1, .quantum = batch.quantum},
                              shape{.stages = 2, .replicas = 2, .chunks = 2, .quantum = batch.quantum}}) {
        const plan p = tests::planned_forward(on, batch.samples.batch).value();
        std::vector<double> errors(static_cast<std::size_t>(tests::ranks_of(p)));
        transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
        tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
          auto endpoint = world.endpoint(rank);
          stage_type stage(batch.model, p.shape, rank % p.shape.stages, batch.documents(p), 7);
          const step_report ran = executors::packflow{}.evaluate(p, stage, endpoint).value();
          errors[static_cast<std::size_t>(rank)] = std::abs(ran.loss_sum - batch.loss) / batch.size;
          EXPECT_EQ(stage.held(), bytes{});
        });
        const double error = *std::max_element(errors.begin(), errors.end());
        EXPECT_LT(error, 1e-13) << on.stages << " stages, seed " << seed;
        worst = std::max(worst, error), ++plans;
      }
    }
  std::printf("%d plans, largest relative error %.2g\n", plans, worst);
}

// What a linear layer cannot do, it refuses by a sentence, on all ranks.
TEST(ExactnessOfMixers, LinearLayersRefuseSharedSequencesAndLentAttention) {
  const auto said = [](const exact_batch& batch, const plan& p) {
    transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
    std::vector<std::string> all(static_cast<std::size_t>(tests::ranks_of(p)));
    tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
      auto endpoint = world.endpoint(rank);
      const result<double> ran = batch.error_of<stage_type>(p, endpoint);
      if (!ran) all[static_cast<std::size_t>(rank)] = ran.error().detail;
    });
    return all;
  };
  const exact_batch batch(2, model_of({full, linear}));
  plan shared;
  for (const tests::named_planner& planner : tests::sharing_planners())
    if (shared.merges.empty()) shared = planner.make({.replicas = 2, .quantum = batch.quantum}, batch.lengths).value();
  ASSERT_FALSE(shared.merges.empty());
  for (const std::string& why : said(batch, shared))
    EXPECT_NE(why.find("a linear layer takes its tokens one after the other, so that replicas cannot share a sequence"),
              std::string::npos)
        << why;
  const shape on{.stages = 2, .quantum = {4}};
  const exact_batch rows(1, model_of({linear}), on.quantum, tests::lengths_to_lend);
  for (const std::string& why : said(rows, tests::lending_plan(rows.lengths, on, 4, attention_lending::level)))
    EXPECT_NE(why.find("so that stages cannot lend each other a part of it"), std::string::npos) << why;
}

}  // namespace
}  // namespace slimpack::mixer_exactness_test
