#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/named.hpp>
#include <slimpack/solvers/baselines/pack_lengths.hpp>
#include <slimpack/testing/generator.hpp>

#include "../costs/models.hpp"
#include "../laws/cases.hpp"
#include "../support/bucketed_cost.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// No shipped baseline plans a batch that two_phase, at normal effort, plans slower.
namespace slimpack::never_slower_test {
namespace {

/// A batch, a shape and what they cost, tiny or of a middle size.
struct situation {
  std::vector<tokens> lengths;
  shape on;
  costs::with_vocabulary<tests::bucketed_cost> cost;

  static situation random(testing::generator& random) {
    const bool tiny = random.once_in(2);
    const tokens longest{std::int64_t{1} << random.between(8, 16)};
    situation s{tests::random_lengths(random, tiny ? 12 : 120, longest), {}, {}};
    s.on.stages = static_cast<int>(random.between(1, tiny ? 4 : 8));
    s.on.replicas = static_cast<int>(random.between(1, tiny ? 3 : 4));
    s.on.chunks = s.on.stages > 1 && random.once_in(3) ? 2 : 1;
    s.on.quantum = {std::int64_t{1} << random.between(0, 8)};
    if (random.once_in(2))
      s.on.memory = memory_limit{memory_unit::token,
                                 (1.05 + 3 * random.ratio()) * static_cast<double>(tests::longest_of(s.lengths).value)};
    const costs::quadratic layers{.linear = 1e-6,
                                  .attention = 1e-10 * random.ratio(),
                                  .per_pack = {1e-3 * random.ratio() * random.ratio()},
                                  .hop = {1e-4 * random.ratio()}};
    s.cost = {{layers, std::vector<std::vector<gradient_bucket>>(static_cast<std::size_t>(s.on.reduced_parts())), {}},
              {}};
    return s;
  }

  /// The same on one stage of several replicas, whose gradients are summed beside the work.
  static situation reduced(testing::generator& random) {
    situation s = situation::random(random);
    s.on.stages = 1, s.on.chunks = 1;
    s.add_sums(random);
    return s;
  }
  /// Likewise on several stages, where a search does not see all that the step waits for.
  static situation reduced_parts(testing::generator& random) {
    situation s = situation::random(random);
    s.add_sums(random);
    return s;
  }
  /// Likewise where stages share the vocabulary, whose calls take up to a third of the work.
  static situation spread(testing::generator& random) {
    situation s = situation::random(random);
    s.on.stages = std::max(s.on.stages, 2);
    s.on.vocabulary = vocabulary::spread;
    const auto some = [&](double call, double token) {
      return costs::vocabulary_rate{call * random.ratio(), token * random.ratio()};
    };
    s.add_sums(random, {.embed = some(1e-5, 1e-8),
                        .output = some(1e-4, 3e-7),
                        .output_weights = some(1e-4, 1.5e-7),
                        .embed_gradients = some(1e-5, 1e-8),
                        .hidden = some(1e-4, 1e-8),
                        .partial = some(1e-4, 1e-8)});
    return s;
  }

 private:
  void add_sums(testing::generator& random, const costs::vocabulary_rates& ends = {}) {
    on.replicas = std::max(on.replicas, 2);
    seconds work{};
    for (const tokens length : lengths) work += cost.time({{}, {0}, length}, pass::backward, 0);
    cost = {tests::any_buckets(cost, on, work * (1.0 / on.replicas), random), ends};
  }
};

template <class Schedule>
result<plan> ours(const situation& s, const Schedule& schedule) {
  return planner{s.on, slicers::equal_cost{}, s.cost, solvers::two_phase{}, schedule}(s.lengths);
}

/// Whether a baseline's packs by a schedule take no less than our step.
template <class Recipe, class Schedule>
::testing::AssertionResult no_faster(const situation& s, const Recipe& usual, const Schedule& schedule,
                                     const result<plan>& mine) {
  const result<plan> theirs = planner{s.on, usual.slicer, s.cost, usual.solver, schedule}(s.lengths);
  if (!theirs) return ::testing::AssertionSuccess();
  if (!mine) return ::testing::AssertionFailure() << "it has a plan, and we have none: " << mine.error().detail;
  if (mine.value().step_time <= theirs.value().step_time * (1 + 1e-9)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "it takes " << theirs.value().step_time.value << " s and we take "
                                       << mine.value().step_time.value;
}

/// Plans random batches by a schedule, and with every baseline by the same one. Where the order may change, the
/// baselines also have their own.
template <class Schedule>
void compare(std::uint64_t seed, int cases, const Schedule& schedule,
             situation make(testing::generator&) = situation::random) {
  for (const std::uint64_t end = seed + static_cast<std::uint64_t>(cases); seed < end; ++seed) {
    testing::generator random(seed);
    const situation s = make(random);
    const result<plan> mine = ours(s, schedule);
    const std::vector<tokens> packs = baselines::pack_lengths(s.lengths, s.on, rates_of(s.cost, s.on).value());
    for (const std::string_view name : baselines::sharing_none)
      for (const std::int64_t pack :
           {std::int64_t{0}, packs[static_cast<std::size_t>(random.between(0, std::ssize(packs) - 1))].value}) {
        SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed) + ": " + std::to_string(s.lengths.size()) +
                     " sequences, " + std::to_string(s.on.replicas) + " replicas, " + std::to_string(s.on.stages) +
                     " stages, " + std::to_string(s.on.chunks) + " chunks, packs of " + std::to_string(pack) +
                     " tokens");
        const auto known = baselines::with_named(name, s.on, {pack}, [&](const auto& usual) {
          EXPECT_TRUE(no_faster(s, usual, schedule, mine));
          if constexpr (orders_may_change_of<Schedule>) {
            EXPECT_TRUE(no_faster(s, usual, usual.schedule, mine));
          }
          return true;
        });
        EXPECT_TRUE(known);
      }
  }
}

// Each begins with a batch that a baseline planned faster before what it does was tried, too.
TEST(NeverSlower, ThanABaselineByTheDefaultSchedule) { compare(30628, tests::cases(9), schedules::list{}); }
TEST(NeverSlower, ThanABaselineByOneForwardOneBackward) { compare(31007, tests::cases(3), schedules::one_f_one_b{}); }
TEST(NeverSlower, ThanABaselineByClassicOneForwardOneBackward) {
  compare(32024, tests::cases(3), schedules::one_f_one_b{.lead = 1});
}
// What a last pack hides of its sums is seen by the search, and by who lets baselines take part.
TEST(NeverSlower, ThanABaselineWhoseLastPacksHideSums) {
  compare(33001, tests::cases(9), schedules::list{}, situation::reduced);
}
// Of plans that search takes for nearly as fast, the planner makes several.
TEST(NeverSlower, ThanABaselineWhoseSumsASearchDoesNotSee) {
  compare(34006, tests::cases(9), schedules::list{}, situation::reduced_parts);
}
TEST(NeverSlower, ThanABaselineThatSpreadsTheVocabulary) {
  compare(35001, tests::cases(9), schedules::list{}, situation::spread);
}

// Rows in slices of equal tokens, as many as there are stages.
TEST(NeverSlower, ThanUniformSlicesOfRows) {
  compare(30734, tests::cases(2), schedules::list{});
  compare(31059, tests::cases(2), schedules::one_f_one_b{});
  compare(35042, tests::cases(2), schedules::list{}, situation::spread);
}

// Memory that just holds a baseline's packs may have no room for what sequences that are cut or shared keep beside.
TEST(NeverSlower, ThanABaselineThatJustFits) {
  for (std::uint64_t seed = 36028, end = seed + static_cast<std::uint64_t>(tests::cases(6)); seed < end; ++seed) {
    testing::generator random(seed);
    const std::vector<tokens> lengths = tests::random_lengths(random, 24, {std::int64_t{1} << random.between(10, 17)});
    shape on{.stages = static_cast<int>(random.between(1, 3)),
             .replicas = static_cast<int>(random.between(1, 4)),
             .tensor = 2};
    const costs::transformer cost =
        costs::transformer::sheet(tests::llama_3_1_8b(), costs::gpus::h100(), on, {}).value();
    for (const std::string_view name : baselines::sharing_none) {
      const auto known = baselines::with_named(name, on, {}, [&](const auto& usual) {
        const auto theirs = [&](const shape& within) {
          return planner{within, usual.slicer, cost, usual.solver, usual.schedule}(lengths).value();
        };
        shape tight = on;
        tight.memory = memory_limit{memory_unit::byte, 0};
        for (const replica_plan& r : theirs(on).replicas)
          tight.memory->amount =
              std::max(tight.memory->amount, *std::max_element(r.peak_memory.begin(), r.peak_memory.end()));
        const result<plan> mine = planner{tight, slicers::equal_cost{}, cost}(lengths);
        const bool found = mine.has_value();
        EXPECT_TRUE(found) << name << ", seed " << seed << ": " << (found ? "" : mine.error().detail);
        if (found) {
          EXPECT_LE(mine.value().step_time.value, theirs(tight).step_time.value * (1 + 1e-9))
              << name << ", seed " << seed;
        }
        return true;
      });
      EXPECT_TRUE(known);
    }
  }
}

}  // namespace
}  // namespace slimpack::never_slower_test
