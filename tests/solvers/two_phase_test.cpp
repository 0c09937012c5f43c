#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

namespace slimpack::two_phase_test {
namespace {

/// A quadratic model that also knows bytes.
struct with_bytes : costs::quadratic {
  memory_rates rates;
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return rates; }
};

/// The least that a stage holds for a sequence, run alone in packs of one quantum.
double least_memory(const memory_rates& rates, tokens longest, tokens quantum) {
  const auto all = static_cast<double>(longest.value);
  const auto one = static_cast<double>(std::min(longest, quantum).value);
  return std::max(rates.in_forward(all, 0, one), rates.in_backward(all, longest > quantum ? all : 0, one));
}

/// A slice after a prefix keeps its pack waiting, which its own time does not tell; times do not add up.
struct waits_for_prefix : costs::quadratic {
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return costs::quadratic::time(s, p, part) * 0.5;
  }
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const { return costs::quadratic::time(s, p, part); }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum = per_pack;
    for (const slice& s : pack) sum += time(s, p, part) + seconds{1e-4 * static_cast<double>(s.begin.value)};
    return sum;
  }
};

/// A pack takes at least the time to read its part's weights, as thin packs of mixtures of experts do.
struct reads_weights : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const { return costs::quadratic::time(s, p, part); }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return std::max(sum, seconds{2e-3});
  }
};

/// Whose orders a solver may not change.
struct as_listed : schedules::list {
  static constexpr bool orders_may_change = false;
};

template <class Schedule = schedules::list>
seconds step_time(const std::vector<tokens>& lengths, const shape& on, solvers::search_budget effort,
                  std::uint32_t most_sharers = solvers::two_phase{}.most_sharers) {
  return planner{on, slicers::equal_cost{}, costs::quadratic{.per_pack = {6e-5}, .hop = {2e-5}},
                 solvers::two_phase{.effort = effort, .most_sharers = most_sharers}, Schedule{}}(lengths)
      .value()
      .step_time;
}

/// Packs in the order that 1F1B gives them, which solvers may change where they can.
struct changeable_1f1b : schedules::one_f_one_b {
  static constexpr bool orders_may_change = true;
};

/// Weight gradients apart, in an order that solvers may not change.
struct as_filled : schedules::zero_bubble {
  static constexpr bool orders_may_change = false;
};

/// Weight gradients apart, in an order that solvers may change, as a constant says.
struct changeable_filled : schedules::zero_bubble {
  static constexpr bool orders_may_change = true;
};

/// Random shapes with a random batch for each, which `check` is given.
template <class Check>
void each_batch(std::uint64_t seed, int cases, const Check& check) {
  testing::generator random(seed);
  for (int i = cases; i > 0; --i) {
    const shape on{.stages = static_cast<int>(random.between(1, 5)),
                   .replicas = static_cast<int>(random.between(1, 4)),
                   .quantum = {std::int64_t{1} << random.between(0, 8)}};
    check(random, on, tests::random_lengths(random, 40, on.quantum * random.between(1, 300)));
  }
}

TEST(TwoPhase, CutsNothingWhereCuttingCostsMoreThanSlicesTell) {
  const shape on{.stages = 2};
  const planner plan_batch{on, slicers::equal_cost{}, waits_for_prefix{}};
  const std::vector<tokens> lengths{{65536}, {4096}, {4096}};
  const planner uncut{on, slicers::whole{}, waits_for_prefix{}};
  EXPECT_LE(plan_batch(lengths).value().step_time, uncut(lengths).value().step_time);
}

// A launch costs the time of up to a hundred quanta, so that cuts, and packs that ramp, are dear.
TEST(TwoPhase, IsNoSlowerThanWholePacksOnTheSameSchedule) {
  int faster = 0;
  const auto compare = [&](testing::generator& random, const shape& on, const auto& schedule) {
    const auto quantum = static_cast<double>(on.quantum.value);
    const costs::quadratic cost{
        .linear = 1, .attention = 1e-3 / quantum, .per_pack = {quantum * random.ratio() * 100}, .hop = {quantum}};
    const std::vector<tokens> lengths = tests::random_lengths(random, 40, on.quantum * random.between(1, 300));
    const solvers::two_phase search{.effort = random.once_in(2) ? solvers::search_budget{0, 2}
                                                                : solvers::search_budget::fast()};
    const plan ours = planner{on, slicers::equal_cost{}, cost, search, schedule}(lengths).value();
    const plan whole = planner{on, slicers::whole{}, cost, solvers::megatron{}, schedule}(lengths).value();
    EXPECT_LE(ours.step_time, whole.step_time) << "seed 95, " << lengths.size() << " sequences, " << on.stages
                                               << " stages, " << on.chunks << " chunks, " << search;
    faster += ours.step_time < whole.step_time;
  };
  testing::generator random(95);
  for (int i = tests::cases(60); i > 0; --i) {
    shape on{.stages = static_cast<int>(random.between(1, 6)), .quantum = {std::int64_t{1} << random.between(0, 8)}};
    compare(random, on, schedules::list{});
    compare(random, on, schedules::one_f_one_b{});
    on.chunks = static_cast<int>(random.between(2, 4));
    compare(random, on, schedules::one_f_one_b{});
  }
  EXPECT_GT(faster, 0);
}

// Reading weights takes the time of 2000 tokens forward and 1000 backward, 15 and 7 sequences. Packs that are the same
// in both passes leave time unused in one of them, or take longer than they must in the other.
TEST(TwoPhase, IsFasterThanWholePacksOfAnyLengthWherePacksReadWeights) {
  const std::vector<tokens> lengths(512, tokens{134});
  const reads_weights cost{{.linear = 1e-6, .attention = 0, .hop = {1e-5}}};
  const shape on{.stages = 32};
  const seconds ours =
      planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.effort = solvers::search_budget::fast()}}(lengths)
          .value()
          .step_time;
  for (std::int64_t pack = 134; pack <= 134 * 32; pack += 134 * tests::one_in)
    EXPECT_LT(ours, planner(on, slicers::whole{}, cost, solvers::megatron{{pack}})(lengths).value().step_time)
        << pack << " tokens";
}

// A pipeline of one stage waits for nothing, so what a step loses, it loses to unequal replicas. A search that takes
// one chunk's work for the whole step's balances them by times that it misreads, and lets them share sequences for
// nothing.
TEST(TwoPhase, BalancesReplicasByTheWorkOfAllChunks) {
  testing::generator random(31);
  std::vector<tokens> lengths;
  for (int i = 0; i < 200; ++i)
    lengths.push_back({random.between(64, 128) << random.between(0, 10) * random.between(0, 10) / 11});
  const costs::quadratic cost{.linear = 1e-6, .attention = 4e-11, .per_pack = {6e-5}, .hop = {2e-5}};
  for (const int chunks : {1, 2, 4}) {
    const shape on{.stages = 1, .replicas = 8, .chunks = chunks};
    const plan made =
        planner{on, slicers::equal_cost{}, cost, solvers::two_phase{}, schedules::one_f_one_b{}}(lengths).value();
    std::cout << chunks << " chunks: efficiency " << made.efficiency << ", " << made.merges.size() << " shared\n";
    EXPECT_GT(made.efficiency, chunks == 1 ? 0.998 : 0.9994) << "seed 31, " << chunks << " chunks";
    EXPECT_LE(made.merges.size(), chunks == 1 ? 9u : 1u) << "seed 31, " << chunks << " chunks";
  }
}

TEST(TwoPhase, ChangesTheOrderWhereTheScheduleLetsIt) {
  using order = schedules::zero_bubble_order;
  for (const int chunks : {1, 2}) {
    if (!tests::is_tried(chunks - 1)) continue;
    const auto planned = [&](const auto& schedule) {
      return planner{{.stages = 4, .chunks = chunks},
                     slicers::equal_cost{},
                     costs::quadratic{.per_pack = {6e-5}, .hop = {2e-5}},
                     solvers::two_phase{.effort = tests::effort},
                     schedule}(tests::lengths_of({60000, 8000, 4000, 2000, 1000, 500}))
          .value();
    };
    EXPECT_LT(planned(changeable_1f1b{}).step_time, planned(schedules::one_f_one_b{}).step_time) << chunks << " chunks";
    EXPECT_LT(planned(schedules::zero_bubble{}).step_time, planned(as_filled{}).step_time) << chunks << " chunks";
    EXPECT_LT(planned(changeable_filled{}).step_time, planned(as_filled{}).step_time) << chunks << " chunks";
    EXPECT_LT(planned(changeable_filled{{order::h2}}).step_time, planned(as_filled{{order::h2}}).step_time)
        << chunks << " chunks";
    EXPECT_EQ(planned(schedules::zero_bubble{order::h2}).hash, planned(as_filled{{order::h2}}).hash)
        << chunks << " chunks";
  }
}

// Sequences may run one after the other, so a limit that holds the longest holds them all.
TEST(TwoPhase, PlansUnderEveryTokenLimitThatHoldsTheLongestSequence) {
  const auto fits = [](const auto& slicer, const auto& schedule) {
    each_batch(91, tests::cases(25), [&](testing::generator& random, shape on, const std::vector<tokens>& lengths) {
      const std::int64_t longest = tests::longest_of(lengths).value;
      const std::int64_t beside[] = {0, 1, on.quantum.value, longest / 4};
      on.memory = memory_limit{memory_unit::token, static_cast<double>(longest + beside[random.between(0, 3)])};
      const costs::quadratic cost{.linear = random.once_in(4) ? 0 : 1e-6, .attention = random.once_in(4) ? 0 : 4e-11};
      const result<plan> made =
          planner{on, slicer, cost, solvers::two_phase{.effort = solvers::search_budget::fast()}, schedule}(lengths);
      ASSERT_TRUE(made) << "seed 91: " << made.error().detail;
      const testing::report found = testing::plan_laws(made.value());
      EXPECT_TRUE(found) << "seed 91\n" << found;
    });
  };
  fits(slicers::equal_cost{}, schedules::list{});
  fits(slicers::equal_cost{}, schedules::one_f_one_b{});
  fits(slicers::uniform{{512}}, schedules::list{});
  fits(slicers::whole{}, schedules::list{});
}

TEST(TwoPhase, PlansUnderEveryByteLimitThatHoldsTheLongestSequence) {
  each_batch(92, tests::cases(30), [](testing::generator& random, shape on, const std::vector<tokens>& lengths) {
    with_bytes cost;
    for (double memory_rates::*rate : {&memory_rates::fixed, &memory_rates::live_token, &memory_rates::gradient_token,
                                       &memory_rates::forward_token, &memory_rates::backward_token})
      cost.rates.*rate = static_cast<double>(random.between(1, 5) * (random.once_in(4) ? 10 : 1));
    const double least = least_memory(cost.rates, tests::longest_of(lengths), on.quantum);
    on.memory = memory_limit{memory_unit::byte, least * (random.once_in(2) ? 1 : 1 + 0.1 * random.ratio())};
    const result<plan> made =
        planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.effort = solvers::search_budget::fast()}}(lengths);
    ASSERT_TRUE(made) << "seed 92: " << made.error().detail;
    const testing::report found = testing::plan_laws(made.value());
    EXPECT_TRUE(found) << "seed 92\n" << found;
  });
}

// A token that runs takes a thousand times the memory of one that waits, so only packs of one quantum fit beside
// 8192 quanta: a share of the limit's packs that no fixed list of shares reaches.
TEST(TwoPhase, PlansWhereOnlyPacksOfOneQuantumFit) {
  with_bytes cost;
  cost.attention = 0;
  cost.rates = {.live_token = 1, .gradient_token = 0.1, .forward_token = 1000, .backward_token = 1000};
  const std::vector<tokens> lengths = tests::lengths_of({1048576, 524288, 1000, 64, 64});
  shape on;
  on.memory = memory_limit{memory_unit::byte, least_memory(cost.rates, lengths[0], on.quantum)};
  const result<plan> made = planner{on, slicers::equal_cost{}, cost, solvers::two_phase{}}(lengths);
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_LE(made.value().replicas[0].peak_memory[0], on.memory->amount);
}

// A pack costs ten tokens' time besides its slices, which elsewhere keeps packs from being that small.
TEST(TwoPhase, PlansWhereOnlyPacksFitThatCostMoreThanTheirSlices) {
  with_bytes cost;
  cost.linear = 1;
  cost.attention = 0;
  cost.per_pack = {10};
  cost.rates = {.live_token = 1, .backward_token = 1000};
  const std::vector<tokens> lengths = tests::lengths_of({100});
  shape on{.quantum = {1}};
  on.memory = memory_limit{memory_unit::byte, least_memory(cost.rates, lengths[0], on.quantum)};
  const result<plan> made = planner{on, slicers::equal_cost{}, cost, solvers::two_phase{}}(lengths);
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_LE(made.value().replicas[0].peak_memory[0], on.memory->amount);
}

// Under attention alone a single token takes a pair and a quantum eight million, so ten thousand single tokens are less
// work than a hundredth of a quantum, and still too many to run together.
TEST(TwoPhase, PlansWhereOnlyPacksOfOneSequenceFit) {
  with_bytes cost;
  cost.linear = 0;
  cost.rates = {.live_token = 1, .forward_token = 1000, .backward_token = 1000};
  std::vector<tokens> lengths(10'000, tokens{1});
  lengths.push_back({4096});
  shape on{.quantum = {4096}};
  on.memory = memory_limit{memory_unit::byte, least_memory(cost.rates, lengths.back(), on.quantum)};
  const result<plan> made = planner{on, slicers::equal_cost{}, cost, solvers::two_phase{}}(lengths);
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_LE(made.value().replicas[0].peak_memory[0], on.memory->amount);
}

TEST(TwoPhase, PlansUnderALimitWhereNothingTakesTime) {
  shape on{.stages = 2};
  on.memory = memory_limit{memory_unit::token, 1000};
  const costs::quadratic free{.linear = 0, .attention = 0};
  const result<plan> made =
      planner{on, slicers::equal_cost{}, free}(tests::lengths_of({450, 300, 1000, 450, 450, 300}));
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(made.value().replicas[0].peak_memory, (std::vector<double>{1000, 1000}));
}

TEST(TwoPhase, RefusesALimitThatASequenceExceedsAlone) {
  shape on{.stages = 2};
  on.memory = memory_limit{memory_unit::token, 999};
  const result<plan> made = planner{on}(tests::lengths_of({10, 1000, 20}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::out_of_memory);
  EXPECT_EQ(made.error().detail,
            "a sequence of 1000 tokens needs 1000 tokens on stage 0, the limit is 999 tokens: 1 tokens are missing");
}

// A slicer that ignores time would give a batch to one pack, were packs not closed when their time is used up.
TEST(TwoPhase, ClosesPacksOfASlicerThatIgnoresTime) {
  const std::vector<tokens> lengths(20, tokens{4096});
  const plan made = planner{{.stages = 4}, slicers::uniform{{1024}}}(lengths).value();
  EXPECT_GE(made.replicas[0].partition.forward.size(), 16u);
  EXPECT_GE(made.replicas[0].partition.backward.size(), 16u);
}

TEST(TwoPhase, CutsForwardAndBackwardApart) {
  const plan made = planner{{.stages = 4}}(tests::lengths_of({65536, 300, 9000, 2000, 128, 700, 40000, 1})).value();
  EXPECT_NE(tests::members(made.replicas[0].partition.forward), tests::members(made.replicas[0].partition.backward));
}

// Where the order is the schedule's and replicas share nothing, the search is one path, which a larger budget follows
// further. Where they may share, budgets are split among divisions.
TEST(TwoPhase, IsNoWorseForALargerBudgetIfOrdersAreKept) {
  each_batch(93, tests::cases(15), [](testing::generator&, const shape& on, const std::vector<tokens>& lengths) {
    seconds before = step_time<as_listed>(lengths, on, {0, 1}, 1);
    for (const solvers::search_budget effort :
         {solvers::search_budget{0, 0}, solvers::search_budget{20'000, 5}, solvers::search_budget{100'000, 20},
          solvers::search_budget{300'000, 80}}) {
      const seconds after = step_time<as_listed>(lengths, on, effort, 1);
      EXPECT_LE(after, before) << "seed 93, " << effort;
      before = after;
    }
  });
}

// What is for the order is none of the walk's, so there a larger budget is better on the whole, and not of each batch.
TEST(TwoPhase, IsNeverWorseThanItsFirstCandidateAndBetterTheLongerItSearches) {
  const solvers::search_budget efforts[] = {{0, 0}, {20'000, 5}, {100'000, 20}, {1'000'000, 80}};
  std::vector<seconds> all(std::size(efforts));
  each_batch(93, tests::cases(15), [&](testing::generator&, const shape& on, const std::vector<tokens>& lengths) {
    const seconds first = step_time(lengths, on, {0, 1});
    for (std::size_t e = 0; e < std::size(efforts); ++e) {
      const seconds found = step_time(lengths, on, efforts[e]);
      EXPECT_LE(found, first) << "seed 93, " << efforts[e];
      all[e] += found;
    }
  });
  for (std::size_t e = 0; e < std::size(efforts); ++e) {
    std::cout << efforts[e] << ": steps of " << all[e].value << " s\n";
    if (e > 0) {
      EXPECT_LT(all[e], all[e - 1]) << "seed 93, " << efforts[e];
    }
  }
}

/// What list{}.longer() is, without a longer one of its own.
struct three_runs : schedules::list {
  three_runs() : list{.passes = 3} {}
};

TEST(TwoPhase, TakesTheLongerScheduleIfItSearchesLong) {
  testing::generator random(96);
  const std::vector<tokens> lengths = tests::random_lengths(random, 60, {65536});
  const shape on{.stages = 4};
  const solvers::search_budget brief{300'000, 4'999}, long_one{300'000, 5'000};
  EXPECT_EQ(step_time(lengths, on, long_one), step_time<three_runs>(lengths, on, long_one));
  EXPECT_NE(step_time(lengths, on, brief), step_time<three_runs>(lengths, on, brief));
}

TEST(TwoPhase, FindsBetterPlansThanItsFirst) {
  testing::generator random(94);
  const std::vector<tokens> lengths = tests::random_lengths(random, 40, {65536});
  const shape on{.stages = 4};
  EXPECT_LT(step_time(lengths, on, solvers::search_budget::normal()), step_time(lengths, on, {0, 1}));
}

TEST(TwoPhase, StopsAtItsFirstCandidateWhenAsked) {
  const std::vector<tokens> lengths = tests::lengths_of({65536, 300, 9000, 2000, 128, 700, 40000, 1});
  std::stop_source stop;
  stop.request_stop();
  const problem batch{lengths, {.stages = 4}, stop.get_token()};
  const problem unhurried{lengths, {.stages = 4}};
  const solvers::two_phase first{.effort = {0, 1}};
  const solution stopped =
      solvers::two_phase{}.solve(batch, slicers::equal_cost{}, costs::quadratic{}, schedules::list{}).value();
  const solution once = first.solve(unhurried, slicers::equal_cost{}, costs::quadratic{}, schedules::list{}).value();
  EXPECT_EQ(stopped.replicas[0].partition, once.replicas[0].partition);
  EXPECT_EQ(stopped.replicas[0].programs, once.replicas[0].programs);
}

TEST(TwoPhase, LeavesReplicasEmptyWhenSequencesAreFew) {
  const plan made = planner{{.stages = 3, .replicas = 4}}(tests::lengths_of({70, 50})).value();
  const testing::report found = testing::plan_laws(made);
  EXPECT_TRUE(found) << found;
  EXPECT_EQ(std::count_if(made.replicas.begin(), made.replicas.end(),
                          [](const replica_plan& r) { return r.sequences.empty(); }),
            2);
}

// Nothing is spent on a pack here, so more packs are faster, up to what a search simulates: 220,000 / (6 * 4) of them.
TEST(TwoPhase, PacksManySingleTokens) {
  const std::vector<tokens> lengths(100'000 / tests::one_in, tokens{1});
  const plan made = planner{{.stages = 4, .replicas = 2}}(lengths).value();
  for (const replica_plan& r : made.replicas) {
    EXPECT_EQ(r.sequences.size(), lengths.size() / 2);
    EXPECT_LT(r.partition.forward.size(), 9167u);
  }
  EXPECT_GT(made.efficiency, 0.9);
}

/// Lists that look for a weakness; the rest of a batch is what hides its longest sequence's turn.
TEST(TwoPhase, IsNoSlowerThanMegatronOnAdversarialLists) {
  std::vector<std::vector<tokens>> lists{std::vector<tokens>(64, tokens{4096}),
                                         {},
                                         tests::lengths_of({131072, 131072}),
                                         tests::lengths_of({131072, 131072, 1, 1, 1})};
  for (int power = 0; power <= 17; ++power) lists[1].push_back({std::int64_t{1} << power});
  int k = 0;
  for (const std::vector<tokens>& lengths : lists) {
    for (const int replicas : {1, 2}) {
      if (!tests::is_tried(k++)) continue;
      const shape on{.stages = 4, .replicas = replicas};
      const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};
      const plan ours = planner{on, slicers::equal_cost{}, cost}(lengths).value();
      const plan theirs =
          planner{on, slicers::whole{}, cost, solvers::megatron{}, schedules::one_f_one_b{.lead = 1}}(lengths).value();
      const testing::report found = testing::plan_laws(ours);
      EXPECT_TRUE(found) << found;
      EXPECT_LE(ours.step_time, theirs.step_time) << lengths.size() << " sequences, " << replicas << " replicas";
    }
  }
}

TEST(TwoPhase, PrintsWhatWouldBuildIt) {
  std::ostringstream out;
  out << solvers::two_phase{.effort = {5, 2}};
  EXPECT_EQ(out.str(), "solvers::two_phase{.effort = {.tasks = 5, .candidates = 2}, .most_sharers = 65536}");
}

}  // namespace
}  // namespace slimpack::two_phase_test
