#include <slimpack/basic_planner.hpp>
#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/schedules/detail/vocabulary_fill.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/spread_vocabulary.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/reduction_stream.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/plan_laws.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "../simulators/workloads.hpp"
#include "../support/bucketed_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::spread_vocabulary_test {
namespace {

shape spread(int stages, int replicas = 1, int chunks = 1) {
  return {.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = {64}, .vocabulary = vocabulary::spread};
}

/// The programs of one replica with the calls between, where they take less than a time.
result<std::vector<std::vector<program>>> faster_than(seconds to_beat, const workload& work,
                                                      const std::vector<program>& layers) {
  const std::uint32_t only = 0;
  return schedules::spread_vocabulary(std::span(&only, 1), std::span(&work, 1), std::span(&layers, 1), {}, to_beat);
}
std::vector<program> with_calls(const workload& work, const std::vector<program>& layers) {
  return faster_than({std::numeric_limits<double>::infinity()}, work, layers).value().front();
}

std::vector<std::string> names(const program& code) {
  std::vector<std::string> all;
  for (const instruction& i : code) all.push_back(name_of(i, 1));
  return all;
}

/// What a schedule makes of the layers: it is asked for a model with its vocabulary in one place.
template <class Schedule = schedules::one_f_one_b>
std::vector<program> layers_of(workload work) {
  work.shape.vocabulary = vocabulary::last;
  return Schedule{}.programs(work).value();
}

/// E 1 s, F 3 s, V 2 s, B 5 s, U 1 s, G 1 s, and 1 s for each message.
costs::with_vocabulary<tests::per_slice> by_hand() {
  const costs::vocabulary_rate hop{.call = 1};
  return {tests::per_slice{{3}, {5}, {1}},
          {.embed = {.call = 1},
           .output = {.call = 2},
           .output_weights = {.call = 1},
           .embed_gradients = {.call = 1},
           .embedded = hop,
           .hidden = hop,
           .partial = hop,
           .statistics = hop,
           .gradients = hop}};
}

// One pack passes all stages with E and F, which take 1 + 3 s a stage and 2 messages, and with B and G, which take 5 +
// 1 and 2. No message comes before the first E, none follows the last F on its stage or the last G. V takes a way
// however many stages there are: a message, 2 s on the others, a message, 2 s on the last. U runs while B is on other
// stages.
TEST(SpreadVocabulary, OfOnePackTurnsInTheTimeOfTwoCalls) {
  for (int p = 2; p <= 5; ++p) {
    const workload work =
        price(tests::sliced(1, 1), by_hand(), spread(p), std::vector<memory_rates>(static_cast<std::size_t>(p)));
    const double there = p * (1 + 3) + p + (p - 1), turn = 1 + 2 + 1 + 2, back = p * (5 + 1) + p + (p - 1);
    EXPECT_EQ(simulators::makespan(work, with_calls(work, layers_of(work))).value(), seconds{there + turn + back})
        << p << " stages";
  }
}

// On two stages E0 ends at 1 and 3, F0 at 7 (E, 3 + 1 + 3) and 11. V0 runs on stage 0 from 12 to 14, on stage 1 from 15
// to 17. B0 ends at 22 and 28, G0 at 30 and 32. U0 runs on stage 0 from 18, when it knows the whole softmax; on stage 1
// after B0.
TEST(SpreadVocabulary, RunsWeightGradientsOfLogitsInTheWaits) {
  const workload work = price(tests::sliced(1, 1), by_hand(), spread(2), std::vector<memory_rates>(2));
  const std::vector<program> code = with_calls(work, layers_of(work));
  EXPECT_EQ(names(code[0]), (std::vector<std::string>{"E0", "F0", "V0", "U0", "B0", "G0"}));
  EXPECT_EQ(names(code[1]), (std::vector<std::string>{"E0", "F0", "V0", "B0", "U0", "G0"}));
  simulators::task_graph graph;
  graph.assign(work, code).value();
  std::vector<seconds> start;
  EXPECT_EQ(graph.sweep(start), seconds{32});
  std::vector<double> ends[2];
  for (std::size_t n = 0; n < graph.size(); ++n)
    if (const simulators::task& t = graph.tasks()[n]; t.is_instruction())
      ends[t.stage].push_back((start[n] + t.duration).value);
  for (std::vector<double>& of : ends) std::sort(of.begin(), of.end());
  EXPECT_EQ(ends[0], (std::vector<double>{1, 7, 14, 19, 28, 32}));
  EXPECT_EQ(ends[1], (std::vector<double>{3, 11, 17, 22, 23, 30}));
}

TEST(SpreadVocabulary, RefusesLayersThatCannotRun) {
  const workload work = price(tests::sliced(1, 1), by_hand(), spread(2), std::vector<memory_rates>(2));
  const std::uint32_t only = 0;
  const auto refused = [&](const std::vector<program>& layers) {
    const auto made = schedules::spread_vocabulary(std::span(&only, 1), std::span(&work, 1), std::span(&layers, 1), {});
    return made ? std::string("none") : made.error().detail;
  };
  std::vector<program> layers = layers_of(work);
  layers[1].push_back({instruction_kind::weights, {0}});  // the workload has no weight gradients apart
  EXPECT_NE(refused(layers).find("runs 3 instructions, its packs need 2"), std::string::npos) << refused(layers);
  layers = layers_of(work);
  std::swap(layers[1][0], layers[1][1]);
  EXPECT_NE(refused(layers).find("wait for each other"), std::string::npos) << refused(layers);
}

// A layer's begin and end are then one instant, and a call could stand before what it waits for.
TEST(SpreadVocabulary, RefusesLayersThatLendAndTakeNoTime) {
  const auto made = [](const tests::per_slice& layers) {
    const partition packs = tests::sliced(2, 4);
    workload work =
        price(packs, costs::with_vocabulary<tests::per_slice>{layers, {}}, spread(2), std::vector<memory_rates>(2));
    work.loans = loans_of(packs, work.shape, attention_lending::level, 4).value();
    return faster_than({std::numeric_limits<double>::infinity()}, work, layers_of(work));
  };
  EXPECT_TRUE(made({}));
  const auto none = made({{0}, {0}, {0}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::invalid_input);
  EXPECT_EQ(none.error().detail,
            "where stages lend attention and the vocabulary is spread, its calls stand between layers that take some "
            "time, and F0 takes none on "
            "stage 0: choose a cost model that gives it some, or lending none");
  EXPECT_FALSE(made({{1}, {0}, {0}}));
}

// 128 tokens. Stage 1 holds most in its B: logits, which wait for U, and the gradient that the B takes.
TEST(SpreadVocabulary, HoldsLogitsUntilU) {
  const std::vector<memory_rates> rates(
      2, memory_rates{.fixed = 1000, .live_token = 1, .logit_token = 10, .turned_token = 3});
  const workload work = price(tests::sliced(1, 1), by_hand(), spread(2), rates);
  const std::vector<program> code = with_calls(work, layers_of(work));
  EXPECT_EQ(simulators::peak_memory(work, code), (std::vector<double>{1000 + 128 * 11, 1000 + 128 * 14}));
  std::vector<double> held;
  simulators::follow_memory(work, code[1], 1,
                            [&](const instruction&, double amount) { held.push_back((amount - 1000) / 128); });
  EXPECT_EQ(held, (std::vector<double>{0, 1, 11, 14, 10, 0}));  // E, F, V, B, U, G
}

/// A random replica on 2 stages or more, whose calls and messages take small whole numbers of seconds, or none.
testing::random_replica any_spread(testing::generator& random, int chunks) {
  testing::random_replica made;
  do made = testing::any_replica({.longest = {4096}, .chunks = chunks}, random);
  while (made.work.shape.stages < 2);
  testing::spread_vocabulary(made, random);
  return made;
}

/// What a run by the rules finds, with the times of a workload.
testing::naive::outcome by_the_rules(const testing::random_replica& made, const workload& work,
                                     std::span<const program> programs) {
  const shape& on = work.shape;
  return testing::naive::run(
      made.packs, programs, on,
      [&](const instruction& i, std::size_t place) {
        return time_of(work.times, i, place % static_cast<std::size_t>(on.stages), on);
      },
      [&](testing::naive::spot from, testing::naive::spot to, std::uint32_t pack) {
        return testing::detail::way_time(work.times, from, to, pack, on);
      });
}

/// That the calls are put between, and that the graph, the makespan without one, the fill's own clock, and a run by the
/// rules agree.
template <class Schedule>
void hold(std::uint64_t seed, int chunks) {
  testing::generator random(seed);
  for (int k = tests::cases(60); k > 0; --k) {
    testing::random_replica made = any_spread(random, chunks);
    if constexpr (weight_gradients_of<Schedule> == weight_gradients::apart) testing::offer_weights(made, random);
    const std::vector<program> layers = layers_of<Schedule>(made.work);
    const workload work = settled(made.work, layers);
    const std::vector<program> programs = with_calls(work, layers);
    for (std::size_t stage = 0; stage < programs.size(); ++stage) {
      program rest = programs[stage];
      std::erase_if(rest, [](const instruction& i) { return !i.is_of_part(); });
      ASSERT_EQ(rest, layers[stage]) << "layers keep their order, seed " << seed;
      const auto wrong = testing::naive::miscount(programs[stage], made.packs, work.shape, work.times.apart.flags);
      ASSERT_FALSE(wrong) << *wrong << ", seed " << seed;
      ASSERT_EQ(simulators::peak_memory(work, programs)[stage],
                testing::naive::peak_memory(made.packs, programs[stage], work.rates[stage], work.shape,
                                            static_cast<int>(stage), made.scores, work.times.apart.flags));
    }
    simulators::task_graph graph;
    const result<void> built = graph.assign(work, programs);
    ASSERT_TRUE(built) << built.error().detail << ", seed " << seed;
    std::vector<seconds> start;
    const seconds makespan = graph.sweep(start);
    ASSERT_EQ(simulators::makespan(work, programs).value(), makespan);
    const testing::naive::outcome run = by_the_rules(made, work, programs);
    ASSERT_FALSE(run.stuck) << *run.stuck << ", seed " << seed;
    ASSERT_EQ(run.makespan, makespan) << "seed " << seed;
    const auto gradients = simulators::gradients_of(graph, start, 1, work.shape).front();
    for (std::size_t part = 0; part < gradients.size(); ++part) ASSERT_EQ(run.gradients[part].end, gradients[part].end);
    seconds best{1e300};
    for (const std::uint32_t late : {0u, 1u, 3u, 8u}) {
      const std::uint32_t only = 0;
      detail::vocabulary_fill fill(std::span(&only, 1), std::span(&work, 1), std::span(&layers, 1), {}, late);
      const auto of = fill.programs();
      ASSERT_EQ(simulators::makespan(work, of.value().front()).value(), fill.makespan());
      if (late == 0 || late == 8) best = std::min(best, fill.makespan());  // what is tried without a memory limit
    }
    ASSERT_EQ(makespan, best) << "seed " << seed;
    ASSERT_EQ(faster_than(makespan * (1 + 1e-9), work, layers).value().front(), programs) << "seed " << seed;
    const auto none = faster_than(makespan * (1 - 1e-9), work, layers);
    ASSERT_FALSE(none) << "seed " << seed;
    ASSERT_EQ(none.error().code, errc::not_faster) << none.error().detail << ", seed " << seed;
  }
}

TEST(SpreadVocabulary, IsPutBetweenTheLayersOfAList) { hold<schedules::list>(501, 3); }
TEST(SpreadVocabulary, IsPutBetweenTheLayersOf1F1B) { hold<schedules::one_f_one_b>(502, 1); }
TEST(SpreadVocabulary, IsPutBetweenTheLayersOfZeroBubble) { hold<schedules::zero_bubble>(503, 2); }

// What a program may not do.
TEST(SpreadVocabulary, ProgramsRunEachCallOnceInOrder) {
  const workload work = price(tests::sliced(2, 1), by_hand(), spread(2), std::vector<memory_rates>(2));
  const std::vector<program> code = with_calls(work, layers_of(work));
  const partition packs = tests::sliced(2, 1);
  ASSERT_TRUE(simulators::makespan(work, code));
  const auto refused = [&](auto change) {
    std::vector<program> changed = code;
    change(changed[1]);
    EXPECT_TRUE(testing::naive::miscount(changed[1], packs, work.shape));
    simulators::task_graph graph;
    EXPECT_FALSE(graph.assign(work, changed));
    EXPECT_FALSE(simulators::makespan(work, changed));
  };
  for (const char kind : {'E', 'V', 'U', 'G'}) {
    const auto first = [&](program& p) {
      return std::find_if(p.begin(), p.end(), [&](const instruction& i) { return letter_of(i) == kind; });
    };
    refused([&](program& p) { p.erase(first(p)); });
    refused([&](program& p) { p.push_back(*first(p)); });
    refused([&](program& p) { first(p)->pack.value = 1; });
    refused([&](program& p) { first(p)->chunk = 1; });
  }
  refused([](program& p) {  // U before its V
    const auto at = [&](char kind) {
      return std::find_if(p.begin(), p.end(), [&](const instruction& i) { return letter_of(i) == kind; });
    };
    std::iter_swap(at('U'), at('V'));
  });
  workload plain = work;
  plain.shape.vocabulary = vocabulary::last;
  EXPECT_FALSE(simulators::makespan(plain, code));
  EXPECT_TRUE(testing::naive::miscount(code[0], packs, plain.shape));
}

/// A trainer's model whose ends, memory and reduction take anything.
struct any_cost : costs::with_vocabulary<tests::bucketed_cost> {
  std::vector<memory_rates> holds;

  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return holds[static_cast<std::size_t>(stage)]; }
};

any_cost any_ends(const shape& on, seconds work, testing::generator& random) {
  const costs::quadratic layers{.linear = 1e-6,
                                .attention = 4e-11,
                                .per_pack = {6.4e-5 * random.ratio()},
                                .hop = {2.4e-5 * static_cast<double>(random.between(0, 2))}};
  const auto some = [&](double call, double token) {
    const double scale = static_cast<double>(random.between(0, 2));
    return costs::vocabulary_rate{scale * call * random.ratio(), scale * token * random.ratio()};
  };
  const costs::vocabulary_rates rates{.embed = some(1e-5, 1e-8),
                                      .output = some(1e-5, 1e-6),
                                      .output_weights = some(1e-5, 5e-7),
                                      .embed_gradients = some(1e-5, 1e-8),
                                      .embedded = some(1e-4, 1e-9),
                                      .hidden = some(1e-4, 1e-9),
                                      .partial = some(1e-4, 1e-9),
                                      .statistics = some(1e-4, 1e-9),
                                      .gradients = some(1e-4, 1e-9)};
  any_cost cost{{tests::any_buckets(layers, on, work, random), rates}, {}};
  for (int stage = 0; stage < on.stages; ++stage)
    cost.holds.push_back({.fixed = 1000,
                          .live_token = 2,
                          .gradient_token = 1,
                          .forward_token = random.ratio(),
                          .backward_token = 1,
                          .other_token = 1,
                          .weight_token = 0.5,
                          .logit_token = 3 * random.ratio(),
                          .turned_token = random.ratio()});
  return cost;
}

template <class Schedule>
void plans_hold(std::uint64_t from) {
  std::size_t planned = 0, shared = 0, limited = 0;
  for (std::uint64_t seed = from; seed < from + static_cast<std::uint64_t>(tests::cases(20)); ++seed) {
    testing::generator random(seed);
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 12); n > 0; --n) lengths.push_back(random.length({16384}));
    shape on = spread(static_cast<int>(random.between(2, 4)), static_cast<int>(random.between(1, 3)),
                      static_cast<int>(random.between(1, 2)));
    const any_cost cost = any_ends(on, {0.01}, random);
    const auto planner_on = [&] {
      return basic_planner{on,         slicers::equal_cost{},
                           cost,       solvers::two_phase{.effort = solvers::search_budget::fast()},
                           Schedule{}, simulators::sweep{}};
    };
    const result<plan> free = planner_on()(lengths);
    ASSERT_TRUE(free) << free.error().detail << ", seed " << seed;
    const testing::report laws = testing::plan_laws(free.value(), cost);
    ASSERT_TRUE(laws) << laws << ", seed " << seed;
    double peak = 0;
    for (const replica_plan& r : free.value().replicas)
      peak = std::max(peak, *std::max_element(r.peak_memory.begin(), r.peak_memory.end()));
    ++planned;
    if (!free.value().merges.empty()) ++shared;
    on.memory = memory_limit{memory_unit::byte, peak * (0.6 + 0.3 * random.ratio())};
    const result<plan> tight = planner_on()(lengths);
    if (!tight) {
      ASSERT_EQ(tight.error().code, errc::out_of_memory) << tight.error().detail;
      continue;
    }
    ++limited;
    const testing::report under = testing::plan_laws(tight.value(), cost);
    ASSERT_TRUE(under) << under << ", seed " << seed;
  }
  std::printf("%zu plans, %zu with shared sequences, %zu more under a memory limit\n", planned, shared, limited);
  EXPECT_GT(limited, 0u);
  EXPECT_GT(shared, 0u);
}

TEST(SpreadVocabulary, PlansObeyTheLaws) { plans_hold<schedules::list>(1000); }
TEST(SpreadVocabulary, PlansWithWeightGradientsApartObeyTheLaws) { plans_hold<schedules::zero_bubble>(2000); }

// Laws that know nothing of these calls would pass these.
TEST(SpreadVocabulary, LawsFindWhatWasChanged) {
  testing::generator random(7);
  const shape on = spread(3, 2);
  any_cost cost = any_ends(on, {0.01}, random);
  const std::vector<tokens> lengths{{5000}, {3000}, {700}, {300}, {4000}};
  const plan made = basic_planner{on,
                                  slicers::equal_cost{},
                                  cost,
                                  solvers::two_phase{.effort = solvers::search_budget::fast()},
                                  schedules::list{},
                                  simulators::sweep{}}(lengths)
                        .value();
  ASSERT_TRUE(testing::plan_laws(made, cost));
  const auto broken = [&](auto change) {
    plan changed = made;
    change(changed);
    changed.hash = hash_of(changed);
    const testing::report r = testing::plan_laws(changed, cost);
    return r ? 0 : r.failures().front().law;
  };
  EXPECT_EQ(broken([](plan& p) {
              std::erase_if(p.replicas[0].programs[1], [](const instruction& i) { return letter_of(i) == 'U'; });
            }),
            3);
  EXPECT_EQ(broken([](plan& p) { p.replicas[0].times.calls[instruction_kind::output].pop_back(); }), 5);
  EXPECT_EQ(broken([](plan& p) { p.replicas[0].times.calls[instruction_kind::output][0] += seconds{1}; }), 5);
  EXPECT_EQ(broken([](plan& p) { p.replicas[1].times.messages[message_kind::embedded].front() += seconds{1}; }), 5);
  EXPECT_EQ(broken([](plan& p) { p.replicas[0].times.messages[message_kind::hidden][0] += seconds{1}; }), 5);
  EXPECT_EQ(broken([](plan& p) {
              for (memory_rates& r : p.replicas[0].rates) r.logit_token += 100;
            }),
            4);
}

}  // namespace
}  // namespace slimpack::spread_vocabulary_test
