#include "../executors/one_at_a_time.hpp"
#include "../executors/spread_plan.hpp"
#include "../laws/cases.hpp"
#include "exact_step.hpp"
#include "held.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace slimpack::exactness_test {
namespace {

using tests::exact_batch;
using tests::worst_error;

/// The matrix: every planner and schedule, p in 1..4, dp in 1..3 (2..4 where replicas share sequences), both kinds of
/// backward cuts, virtual stages; those of two chunks on as many stages as the model has layers for.
std::vector<shape> every_shape(tokens quantum, int fewest, int most) {
  std::vector<shape> all;
  for (int p = 1; p <= 4; ++p)
    for (int dp = fewest; dp <= most; ++dp) all.push_back({.stages = p, .replicas = dp, .quantum = quantum});
  all.push_back({.stages = 2, .chunks = 2, .quantum = quantum});
  all.push_back({.stages = 2, .replicas = 2, .chunks = 2, .quantum = quantum});
  return all;
}

/// One and two chunks on p = 1..4 stages, of fewest and of most replicas.
std::vector<shape> every_chunk(tokens quantum, int fewest, int most) {
  std::vector<shape> all;
  for (int p = 1; p <= 4; ++p)
    for (const int chunks : {1, 2})
      for (const int dp : {fewest, most})
        all.push_back({.stages = p, .replicas = dp, .chunks = chunks, .quantum = quantum});
  return all;
}

struct tally {
  double worst{};
  int steps{};
  int uneven{};
  int shared{};
  int apart{};
};

using shapes = std::vector<shape> (*)(tokens quantum, int fewest, int most);

/// Steps of plans by each of some planners, on shapes with fewest to most replicas.
tally run_all(const std::vector<tests::named_planner>& planners, const train::config& model, shapes on_shapes,
              int fewest, int most) {
  tally seen;
  auto& [worst, steps, uneven, shared, apart] = seen;
  int k = 0;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed), model);
    for (const tests::named_planner& planner : planners) {
      for (const shape& on : on_shapes(batch.quantum, fewest, most)) {
        if (!tests::is_tried(k++, 3)) continue;
        const result<plan> made = planner.make(on, batch.lengths);
        const plan& p = made.value();
        uneven += 2 * tests::asymmetric(p);
        shared += p.merges.empty() ? 0 : 2;
        apart += 2 * tests::splits(p);
        const double any = worst_error<train::model_stage<double>>(batch, p);
        const double whole = worst_error<tests::whole_pieces>(batch, p);
        EXPECT_LT(std::max(any, whole), 1e-11) << planner.name << ", p " << on.stages << ", dp " << on.replicas
                                               << ", v " << on.chunks << ", seed " << seed;
        worst = std::max({worst, any, whole});
        steps += 2;
      }
    }
  }
  std::printf(
      "%d steps, %d of asymmetric plans, %d shared, %d with weight gradients apart, largest relative error %.2g, "
      "seeds 1 to %d\n",
      steps, uneven, shared, apart, worst, tests::cases(2));
  EXPECT_GT(worst, 0) << "sums in another order differ in their last bits";
  return seen;
}

TEST(Exactness, LossAndGradientsAreThoseOfUncutSequences) {
  const tally seen = run_all(tests::every_planner(), tests::small_model, every_shape, 1, 3);
  EXPECT_GT(seen.uneven, seen.steps / 4) << "forward and backward packs must differ for this to show anything";
}

TEST(Exactness, SoTheyAreWhereReplicasShareSequences) {
  const tally seen = run_all(tests::sharing_planners(), tests::small_model, every_shape, 2, 4);
  EXPECT_GT(seen.shared, seen.steps / 2) << "sequences must be shared for this to show anything";
}

TEST(Exactness, SoTheyAreWhereWeightGradientsRunApart) {
  const tally seen = run_all(tests::splitting_planners(), tests::deep_model, every_chunk, 1, 2);
  EXPECT_GT(seen.apart, seen.steps / 2) << "weight gradients must be apart for this to show anything";
}

TEST(Exactness, SoTheyAreWhereReplicasShareSequencesWhoseWeightGradientsRunApart) {
  const tally seen = run_all(tests::splitting_and_sharing_planners(), tests::deep_model, every_chunk, 2, 3);
  EXPECT_GT(seen.shared, seen.steps / 2);
  EXPECT_GT(seen.apart, seen.steps / 2);
}

/// How many ranks of a step hold at most what the plan says, to the byte.
struct held_count {
  int exact{};
  int ranks{};
  int apart{};  ///< of plans whose weight gradients run apart
};

/// A stage whose messages lie one behind the other in memory: that one begins where another ends says nothing of
/// either.
class adjoining_messages : public train::model_stage<double> {
 public:
  using model_stage::model_stage;
  std::span<double> make_tensor(tokens size) {
    const std::size_t elements = static_cast<std::size_t>(size.value * format().width);
    if (left_.size() < elements) left_ = all_.emplace_back(std::max<std::size_t>(elements, 1 << 14));
    const std::span<double> made = left_.first(elements);
    left_ = left_.subspan(elements);
    return made;
  }

 private:
  std::vector<std::vector<double>> all_;
  std::span<double> left_;
};

/// Runs the plan, and compares what each rank's store held at most: keys and values of the others' tokens, their
/// accumulators, and what waits for weight gradients included.
void compare_held(const exact_batch& batch, const plan& p, const std::string& named, held_count& seen) {
  const int stages = p.shape.stages;
  const std::vector<double> held = tests::held_by_step<adjoining_messages>(batch, p);
  for (std::uint32_t replica = 0; replica < p.replicas.size(); ++replica) {
    if (p.replicas[replica].sequences.empty()) continue;
    const std::vector<double> says = tests::planned_held(batch.model, p, replica);
    for (int stage = 0; stage < stages; ++stage) {
      const double found = held[replica * static_cast<std::size_t>(stages) + static_cast<std::size_t>(stage)];
      const double said = says[static_cast<std::size_t>(stage)];
      EXPECT_EQ(found, said) << named;
      seen.exact += found == said;
      seen.apart += p.replicas[replica].times.apart.count() > 0;
      ++seen.ranks;
    }
  }
}

std::string name_of(const tests::named_planner& planner, const shape& on, int seed) {
  return std::string(planner.name) + ", p " + std::to_string(on.stages) + ", dp " + std::to_string(on.replicas) +
         ", v " + std::to_string(on.chunks) + ", seed " + std::to_string(seed);
}

TEST(Exactness, AStageHoldsWhatThePlanSaysWhereReplicasShare) {
  held_count seen;
  int k = 0;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (const tests::named_planner& planner : tests::sharing_planners())
      for (int stages = 1; stages <= 3; ++stages)
        for (int dp = 2; dp <= 4; ++dp) {
          if (!tests::is_tried(k++, 2)) continue;
          const shape on{.stages = stages, .replicas = dp, .quantum = batch.quantum};
          const plan p = planner.make(on, batch.lengths).value();
          if (!p.merges.empty()) compare_held(batch, p, name_of(planner, on, seed), seen);
        }
  }
  std::printf("%d ranks, %d of them to the byte\n", seen.ranks, seen.exact);
  EXPECT_GT(seen.ranks, 0);
}

/// Random packs whose replicas share sequences, half of these with rows of which some sharers have nothing.
plan random_plan(const exact_batch& batch, testing::generator& random, exchange how) {
  const shape on{.stages = static_cast<int>(random.between(1, 3)),
                 .replicas = static_cast<int>(random.between(2, 4)),
                 .quantum = batch.quantum};
  const solution given = testing::random_sharers(batch.lengths, on, random, how);
  return basic_planner(on, slicers::equal_cost{}, costs::quadratic{}, testing::detail::solution_as_given{&given},
                       schedules::list{}, simulators::sweep{})(batch.lengths)
      .value();
}

TEST(Exactness, SoAreThoseOfRandomPacksOfWhichSharersHaveWhatTheyHave) {
  held_count seen;
  double worst = 0;
  int absent = 0, shared = 0;
  const int plans = tests::cases(24) / 3 * 3;
  for (int seed = 1; seed <= plans; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    const exchange how = seed % 3 == 0 ? exchange::queries : exchange::keep;
    const plan p = random_plan(batch, random, how);
    shared += !p.merges.empty();
    for (const merge& m : p.merges)
      for (const pass way : both_passes)
        for (const std::vector<pack_id>& row : m.of(way))
          absent += static_cast<int>(std::count(row.begin(), row.end(), merge::none));
    const double error =
        std::max(worst_error<train::model_stage<double>>(batch, p), worst_error<tests::whole_pieces>(batch, p));
    EXPECT_LT(error, 1e-11) << "seed " << seed;
    worst = std::max(worst, error);
    compare_held(batch, p, "seed " + std::to_string(seed), seen);
  }
  std::printf(
      "%d plans, %d shared, sharers without tokens of a row %d times, largest relative error %.2g; %d ranks, %d of "
      "them to "
      "the byte\n",
      plans, shared, absent, worst, seen.ranks, seen.exact);
  EXPECT_GT(absent, plans);
}

TEST(Exactness, OfSharedSequencesHasTheSameBitsForAnyTiming) {
  for (int seed = 1; seed <= tests::cases(6); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    constexpr exchange each[]{exchange::keep, exchange::queries, exchange::ring};
    const plan p = random_plan(batch, random, each[seed % 3]);
    transports::threads side_by_side{tests::ranks_of(p), {.time_out = {60}}};
    const auto expected = tests::outcomes_of<train::model_stage<double>>(batch, p, side_by_side);
    for (std::uint64_t timing = 1; timing <= 3; ++timing) {
      tests::one_at_a_time in_turn(tests::ranks_of(p), timing);
      EXPECT_EQ(tests::outcomes_of<train::model_stage<double>>(batch, p, in_turn), expected) << "seed " << seed;
    }
  }
}

// The plan says whether chunks are summed beside the work; the bits are the same, on threads and over transfers that
// move one at a time.
TEST(Exactness, OfSumsBesideTheWorkHasTheBitsOfSumsAfterIt) {
  double worst = 0;
  int plans = 0, k = 0;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed), tests::deep_model);
    for (const tests::named_planner& planner : tests::splitting_and_sharing_planners())
      for (const shape& on : every_chunk(batch.quantum, 2, 3)) {
        if (on.stages == 1 || tests::deep_model.layers % on.parts() != 0) continue;  // nor does it send to itself
        if (!tests::is_tried(k++, 3)) continue;
        const plan p = planner.make(on, batch.lengths).value();
        tests::one_at_a_time in_turn(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
        const auto expected = tests::outcomes_of<train::model_stage<double>>(batch, p, in_turn);
        transports::threads side_by_side{tests::ranks_of(p), {.time_out = {60}}};
        EXPECT_EQ(tests::outcomes_of<train::model_stage<double>>(batch, tests::sums_beside(p), side_by_side), expected)
            << name_of(planner, on, seed);
        worst = std::max(worst, worst_error<train::model_stage<double>>(batch, tests::sums_beside(p)));
        ++plans;
      }
  }
  std::printf("%d plans, largest relative error %.2g\n", plans, worst);
  EXPECT_GT(plans, 10);
  EXPECT_LT(worst, 1e-11);
}

/// Two or more stages, of one and two chunks.
std::vector<shape> every_spread_shape(tokens quantum, int fewest, int most) {
  std::vector<shape> all;
  for (int p = 2; p <= 4; ++p)
    for (const int chunks : {1, 2})
      for (const int dp : {fewest, most})
        all.push_back({.stages = p, .replicas = dp, .chunks = chunks, .quantum = quantum});
  return all;
}

// The vocabulary spread over the stages, in even and in unequal shares down to one word: loss and gradients are those
// of uncut sequences with the vocabulary in one place, the bits are the same over transfers that move one at a time,
// and each stage holds what the plan says.
TEST(Exactness, WithASpreadVocabularyLossAndGradientsAreThoseOfUncutSequencesWithOneInOnePlace) {
  double worst = 0;
  int steps = 0, uneven = 0, shared = 0, apart = 0, unequal = 0, alone = 0, k = 0;
  held_count seen;
  std::vector<tests::named_planner> planners{tests::every_planner()[1], tests::every_planner()[7]};
  for (const auto& more : {tests::sharing_planners(), tests::splitting_and_sharing_planners()})
    planners.insert(planners.end(), more.begin(), more.end());
  for (int seed = 1; seed <= tests::cases(1); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed), tests::deep_model);
    for (const tests::named_planner& planner : planners)
      for (const shape& on : every_spread_shape(batch.quantum, 1, 3)) {
        if (!tests::is_tried(k++, 5)) continue;
        const result<plan> layers = planner.make(on, batch.lengths);
        if (!layers && on.chunks > 1) continue;  // list is for one chunk
        testing::generator random(static_cast<std::uint64_t>(k));
        const std::vector<std::int64_t> words =
            steps % 8 == 0 ? std::vector<std::int64_t>{} : tests::random_words(random, batch.model.vocab, on.stages);
        const plan p = tests::spread(layers.value(), words).value();
        unequal += !words.empty(), alone += std::find(words.begin(), words.end(), 1) != words.end();
        const double error = std::max(worst_error<train::model_stage<double>>(batch, p),
                                      worst_error<tests::whole_pieces>(batch, tests::sums_beside(p)));
        EXPECT_LT(error, 1e-11) << name_of(planner, on, seed);
        worst = std::max(worst, error);
        tests::one_at_a_time in_turn(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
        transports::threads side_by_side{tests::ranks_of(p), {.time_out = {60}}};
        EXPECT_EQ(tests::outcomes_of<train::model_stage<double>>(batch, p, in_turn),
                  tests::outcomes_of<train::model_stage<double>>(batch, tests::sums_beside(p), side_by_side))
            << name_of(planner, on, seed);
        if (tests::deep_model.layers % on.parts() == 0 || on.chunks == 1)
          compare_held(batch, p, name_of(planner, on, seed), seen);
        steps += 4, uneven += tests::asymmetric(p), shared += !p.merges.empty(), apart += tests::splits(p);
      }
  }
  std::printf(
      "%d steps with a spread vocabulary, plans: %d asymmetric, %d shared, %d with weight gradients apart, %d with "
      "unequal "
      "shares of the words, %d with a stage of one word; largest relative error %.2g; %d ranks, %d to the byte\n",
      steps, uneven, shared, apart, unequal, alone, worst, seen.ranks, seen.exact);
  EXPECT_GT(unequal, alone);
  EXPECT_GT(alone, 0);
  EXPECT_GT(uneven, 0);
  EXPECT_GT(shared, 0);
  EXPECT_GT(apart, 0);
  EXPECT_EQ(seen.exact, seen.ranks);
}

// Without sequences that replicas share, always to the byte; with chunks where each has as many layers.
TEST(Exactness, AStageHoldsWhatThePlanSaysWhereWeightGradientsRunApart) {
  held_count seen;
  int k = 0;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed), tests::deep_model);
    std::vector<tests::named_planner> planners = tests::splitting_planners();
    for (const tests::named_planner& sharing : tests::splitting_and_sharing_planners()) planners.push_back(sharing);
    for (const tests::named_planner& planner : planners)
      for (const shape& on : every_chunk(batch.quantum, 1, 3))
        if ((tests::deep_model.layers % on.parts() == 0 || on.chunks == 1) && tests::is_tried(k++, 3))
          compare_held(batch, planner.make(on, batch.lengths).value(), name_of(planner, on, seed), seen);
  }
  std::printf("%d ranks, %d with weight gradients apart, %d to the byte\n", seen.ranks, seen.apart, seen.exact);
  EXPECT_GT(seen.exact, seen.ranks / 2);
  EXPECT_GT(seen.apart, seen.ranks / 2);
}

}  // namespace
}  // namespace slimpack::exactness_test
