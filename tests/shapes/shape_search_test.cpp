#include <slimpack/shape_search.hpp>

#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/shapes/layout.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/forward.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::shape_search_test {
namespace {

using shapes::candidate;
using shapes::layout;
using shapes::outcome;
using shapes::ranking;
using solvers::search_budget;

/// A model of 8 layers in closed form: parts share its work, tensor ranks lose a tenth each, weights are 64 bytes and a
/// token keeps 2, or 1 where it is computed again. Copies of the weights take a second for each doubling to agree.
struct toy {
  costs::quadratic part;
  memory_rates rates;
  seconds reduced;
  [[nodiscard]] seconds time(const slice& s, pass p, int i) const { return part.time(s, p, i); }
  [[nodiscard]] seconds overhead(pass p, int i) const { return part.overhead(p, i); }
  [[nodiscard]] seconds message(tokens n, pass p, int i) const { return part.message(n, p, i); }
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return rates; }
  [[nodiscard]] seconds reduce_time() const { return reduced; }
};

result<toy> toy_on(const layout& on) {
  if (on.shape.tensor == 4) return error{errc::invalid_input, "four tensor ranks are refused"};
  const double again = on.recompute == costs::recompute::none ? 2.0 : 2.5;
  const double ranks = on.shape.context * on.shape.tensor / (1 + 0.1 * (on.shape.tensor - 1));
  const double parts = on.shape.parts();
  return toy{{.linear = 1 / ranks / parts,
              .attention = 0.01 / ranks / parts,
              .backward_linear = again,
              .per_pack = {4},
              .hop = {2}},
             {.fixed = 64.0 / on.shape.stages / on.shape.tensor, .live_token = again == 2 ? 2.0 : 1.0},
             {1.0 * on.shape.replicas}};
}

result<plan> plan_on(const layout& on, const toy& cost, std::span<const tokens> lengths, search_budget effort) {
  const solvers::two_phase solver{.effort = effort};
  if (on.shape.chunks > 1)
    return planner{on.shape, slicers::equal_cost{}, cost, solver, schedules::one_f_one_b{2}}(lengths);
  return planner{on.shape, slicers::equal_cost{}, cost, solver, schedules::list{}}(lengths);
}

constexpr int few_gpus = tests::under_sanitizer ? 8 : 16;

std::vector<layout> layouts(double memory, int gpus = few_gpus) {
  return shapes::space{.gpus = gpus,
                       .gpus_per_node = 8,
                       .layers = 8,
                       .heads = 8,
                       .quantum = tokens{8},
                       .memory = memory_limit{memory_unit::byte, memory},
                       .chunks = {1, 2},
                       .recompute = {costs::recompute::none, costs::recompute::full}}
      .layouts();
}

std::vector<std::vector<tokens>> batches(std::uint64_t seed, std::size_t count = 2) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<tokens>> all(count);
  for (std::vector<tokens>& batch : all)
    for (int i = 0; i < 12; ++i) batch.push_back({static_cast<std::int64_t>(8 + random() % (i == 0 ? 400 : 60))});
  return all;
}

/// The mean step time of planning every batch on a layout; none where one has no plan.
std::optional<seconds> planned_on(const layout& on, std::span<const std::vector<tokens>> lists, search_budget effort) {
  const result<toy> cost = toy_on(on);
  if (!cost) return std::nullopt;
  seconds sum{};
  for (const std::vector<tokens>& lengths : lists) {
    const result<plan> made = plan_on(on, cost.value(), lengths, effort);
    if (!made) return std::nullopt;
    sum += made.value().step_time;
  }
  return sum * (1.0 / static_cast<double>(lists.size()));
}

constexpr search_budget small{1000, 2};

TEST(ShapeSearch, FindsTheBestOfAllLayouts) {
  for (int seed = 1; seed <= tests::cases(4); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<std::vector<tokens>> lists = batches(static_cast<std::uint64_t>(seed));
    const std::vector<layout> all = layouts(500);
    std::optional<seconds> best;
    for (const layout& on : all)
      if (const std::optional<seconds> t = planned_on(on, lists, small); t && (!best || *t < *best)) best = t;
    const ranking found = shape_search{.first = small, .effort = small}(all, lists, toy_on, plan_on).value();
    ASSERT_NE(found.best(), nullptr);
    EXPECT_EQ(found.best()->step_time, best);
    EXPECT_GT(found.count(outcome::bounded), 0u);  // or nothing was saved
  }
}

TEST(ShapeSearch, GivesSharesOfTheTimeOfAllBatches) {
  const std::vector<std::vector<tokens>> lists = batches(5);
  const ranking found = shape_search{.first = small, .effort = small}(layouts(500), lists, toy_on, plan_on).value();
  const candidate& best = *found.best();
  double useful = 0, idle = 0, all = 0;
  for (const std::vector<tokens>& lengths : lists) {
    const plan p = plan_on(best.layout, toy_on(best.layout).value(), lengths, small).value();
    useful += p.rank_time->useful / p.rank_time->total() * p.step_time.value, idle += p.bubble * p.step_time.value,
        all += p.step_time.value;
  }
  EXPECT_NEAR(best.useful, useful / all, 1e-12);
  EXPECT_NEAR(best.bubble, idle / all, 1e-12);
  EXPECT_GT(best.useful, 0.1);
}

TEST(ShapeSearch, LeavesOnlyLayoutsThatCannotWin) {
  const std::vector<std::vector<tokens>> lists = batches(7);
  const ranking found =
      shape_search{.first = small, .effort = small, .finalists = 2}(layouts(500), lists, toy_on, plan_on).value();
  const seconds last = found.candidates[1].step_time;
  std::map<outcome, int> seen;
  for (const candidate& c : found.candidates) {
    ++seen[c.outcome];
    const std::optional<seconds> t = planned_on(c.layout, lists, small);
    const bool left = c.outcome == outcome::bounded || c.outcome == outcome::slower;
    if (left) {
      EXPECT_TRUE(!t || *t >= last);
    } else if (c.outcome == outcome::planned && !c.finalist) {
      EXPECT_GE(t, last);
    } else {
      EXPECT_EQ(t, c.outcome == outcome::planned ? std::optional(c.step_time) : std::nullopt) << c.why;
    }
    EXPECT_TRUE(!t || c.lower_bound <= *t * (1 + 1e-12));
  }
  for (const outcome o : {outcome::planned, outcome::bounded, outcome::too_large, outcome::refused})
    EXPECT_GT(seen[o], 0);
}

TEST(ShapeSearch, SaysWhyALayoutIsOut) {
  const ranking found = shape_search{.first = small, .effort = small}(layouts(80), batches(3), toy_on, plan_on).value();
  EXPECT_EQ(found.best(), nullptr);
  for (const candidate& c : found.candidates) EXPECT_FALSE(c.why.empty());
  const auto& first = *std::find_if(found.candidates.begin(), found.candidates.end(), [](const candidate& c) {
    return c.layout.shape.stages * c.layout.shape.tensor == 1;
  });
  EXPECT_NE(first.why.find("the limit is 80 bytes"), std::string::npos) << first.why;
}

TEST(ShapeSearch, RanksTheSameOnAnyNumberOfThreads) {
  const std::vector<std::vector<tokens>> lists = batches(5, 3);
  const auto times = [&](std::size_t threads) {
    std::vector<std::pair<layout, seconds>> rows;
    const shape_search search{.first = small, .effort = {4000, 6}, .threads = threads};
    const ranking found = search(layouts(500), lists, toy_on, plan_on).value();
    for (const candidate& c : found.candidates) rows.emplace_back(c.layout, c.step_time);
    return rows;
  };
  const auto one = times(1);
  int k = 0;
  for (const std::size_t threads : {5u, 2u})
    if (tests::is_tried(k++)) {
      EXPECT_EQ(one, times(threads)) << threads << " threads";
    }
}

TEST(ShapeSearch, PlansFinalistsWithTheWholeBudget) {
  const std::vector<std::vector<tokens>> lists = batches(11);
  const search_budget large{40'000, 40};
  const ranking found =
      shape_search{.first = small, .effort = large, .finalists = 3}(layouts(500), lists, toy_on, plan_on).value();
  EXPECT_EQ(
      std::count_if(found.candidates.begin(), found.candidates.end(), [](const candidate& c) { return c.finalist; }),
      3);
  for (const candidate& c : found.candidates)
    EXPECT_TRUE(!c.finalist || planned_on(c.layout, lists, large) == c.step_time);
}

TEST(ShapeSearch, TunesABaselineByTheSameRule) {
  const std::vector<std::vector<tokens>> lists = batches(2);
  const auto megatron_on = [](const layout& on, const toy& cost, std::span<const tokens> lengths, search_budget) {
    return planner{on.shape, slicers::whole{}, cost, solvers::megatron{}, schedules::one_f_one_b{1}}(lengths);
  };
  std::optional<seconds> best;
  for (const layout& on : layouts(1500)) {
    const result<toy> cost = toy_on(on);
    if (!cost) continue;
    const result<plan> a = megatron_on(on, cost.value(), lists[0], {});
    const result<plan> b = megatron_on(on, cost.value(), lists[1], {});
    if (a && b) {
      const seconds mean = (a.value().step_time + b.value().step_time) * 0.5;
      if (!best || mean < *best) best = mean;
    }
  }
  const ranking found = shape_search{}(layouts(1500), lists, toy_on, megatron_on).value();
  ASSERT_NE(found.best(), nullptr);
  EXPECT_EQ(found.best()->step_time, best);
}

/// Plans that take ten times the bound, and know it.
struct slow_planner {
  result<plan> operator()(const layout& on, const toy& cost, std::span<const tokens> lengths,
                          search_budget effort) const {
    result<plan> made = plan_on(on, cost, lengths, effort);
    if (made) made.value().step_time = least(on, cost, lengths) + made.value().reduce_time;
    return made;
  }
  seconds least(const layout& on, const toy& cost, std::span<const tokens> lengths) const {
    seconds sum{};
    for (const tokens length : lengths) sum += cost.time({{}, {0}, length}, pass::forward, on.shape.parts() - 1) * 100;
    return sum;
  }
};

TEST(ShapeSearch, UsesWhatAPlannerKnowsOfItsOwnPlans) {
  const std::vector<std::vector<tokens>> lists = batches(6);
  const shape_search search{.first = small, .effort = small, .finalists = 1, .threads = 1};
  const auto unknowing = [](const layout& on, const toy& cost, std::span<const tokens> lengths, search_budget effort) {
    return slow_planner{}(on, cost, lengths, effort);
  };
  const ranking with = search(layouts(500), lists, toy_on, slow_planner{}).value();
  const ranking without = search(layouts(500), lists, toy_on, unknowing).value();
  ASSERT_NE(with.best(), nullptr);
  EXPECT_EQ(with.best()->step_time, without.best()->step_time);
  EXPECT_GT(with.count(outcome::bounded), without.count(outcome::bounded));
}

TEST(ShapeSearch, ShowsTheSpreadOverBatches) {
  const std::vector<std::vector<tokens>> lists{{{64}, {64}}, {{128}, {128}, {128}}};
  const ranking found = shape_search{.first = small, .effort = small}(layouts(1500), lists, toy_on, plan_on).value();
  ASSERT_NE(found.best(), nullptr);
  const candidate& best = *found.best();
  EXPECT_LT(best.fastest, best.slowest);
  EXPECT_DOUBLE_EQ(best.step_time.value, (best.fastest.value + best.slowest.value) / 2);
  EXPECT_EQ(found.batch_tokens, (128 + 384) / 2);
  EXPECT_DOUBLE_EQ(found.rate(best), 256 / best.step_time.value / few_gpus);
}

TEST(ShapeSearch, LooksFirstAtWhatPromisesMostByBoundAndRoom) {
  const search_budget look{10, 1};
  bool any_tight = false;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    if (!tests::is_tried(static_cast<int>(seed) - 1)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<std::vector<tokens>> lists = batches(seed, 1);
    const double longest = static_cast<double>(std::max_element(lists[0].begin(), lists[0].end())->value);
    std::vector<layout> seen;
    const auto noted = [&](const layout& on, const toy& cost, std::span<const tokens> lengths, search_budget effort) {
      if (effort == look) seen.push_back(on);
      return plan_on(on, cost, lengths, effort);
    };
    const ranking found =
        shape_search{.probe = look, .first = small, .effort = small}(layouts(500), lists, toy_on, noted).value();
    ASSERT_GT(seen.size(), 8u);
    std::vector<double> promised;
    for (const layout& on : seen) {
      const auto same = [&](const candidate& c) { return c.layout == on; };
      const memory_rates rates = toy_on(on).value().rates;
      const double missing = on.shape.stages * longest * rates.live_token / (on.shape.memory->amount - rates.fixed);
      any_tight |= missing > 1;
      promised.push_back(std::find_if(found.candidates.begin(), found.candidates.end(), same)->lower_bound.value *
                         (missing > 1 ? std::pow(missing, 0.25) : 1));
    }
    for (std::size_t i = 1; i < promised.size(); ++i) EXPECT_LE(promised[i - 1], promised[i] * (1 + 1e-12));
  }
  EXPECT_TRUE(any_tight);
}

/// The same model, which holds a quarter as much while it evaluates.
struct evaluated_toy : toy {
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int) const {
    return memory_rates{.fixed = rates.fixed / 4, .live_token = rates.live_token / 4};
  }
};

TEST(ShapeSearch, FindsTheBestLayoutOfAnEvaluation) {
  const auto cost_of = [](const layout& on) -> result<evaluated_toy> {
    result<toy> one = toy_on(on);
    if (!one) return std::move(one).error();
    return evaluated_toy{one.value()};
  };
  const auto plan_of = [](const layout& on, const evaluated_toy& cost, std::span<const tokens> lengths, search_budget) {
    return planner{on.shape, slicers::equal_cost{}, cost}.plan_forward(lengths);
  };
  const std::vector<std::vector<tokens>> lists = batches(4);
  const tokens longest = *std::max_element(lists[0].begin(), lists[0].end());
  const double limit = 16 + static_cast<double>(longest.value) / 2;  // weights of a rank and the longest sequence,
                                                                     // which on few layouts fit in a step
  std::vector<layout> all = layouts(limit, 16);
  all.push_back(all.front());
  all.back().shape.vocabulary = vocabulary::spread;
  std::optional<seconds> best;
  for (const layout& on : all) {
    const result<evaluated_toy> cost = cost_of(on);
    if (!cost) continue;
    seconds sum{};
    bool fits = true;
    for (const std::vector<tokens>& lengths : lists) {
      const result<plan> made = plan_of(on, cost.value(), lengths, {});
      fits = fits && made.has_value();
      if (made) sum += made.value().step_time * 0.5;
    }
    if (fits && (!best || sum < *best)) best = sum;
  }
  const ranking found =
      shape_search{.first = small, .effort = small, .forward_only = true}(all, lists, cost_of, plan_of).value();
  ASSERT_NE(found.best(), nullptr);
  EXPECT_EQ(found.best()->step_time, best);
  EXPECT_GT(found.count(outcome::bounded), 0u);
  for (const candidate& c : found.candidates) {
    EXPECT_TRUE(c.outcome != outcome::planned || c.lower_bound <= c.step_time * (1 + 1e-12));
    EXPECT_TRUE(c.layout.shape.vocabulary != vocabulary::spread || c.outcome == outcome::refused);
  }
}

TEST(ShapeSearch, NeedsABatch) {
  EXPECT_EQ(shape_search{}(layouts(500), {}, toy_on, plan_on).error().code, errc::invalid_input);
  const std::vector<std::vector<tokens>> empty(1);
  EXPECT_EQ(shape_search{}(layouts(500), empty, toy_on, plan_on).error().code, errc::invalid_input);
}

TEST(ShapeSearch, EndsWithOnePlanWhenItIsStoppedAtOnce) {
  std::stop_source stop;
  stop.request_stop();
  const ranking found = shape_search{}(layouts(500), batches(1), toy_on, plan_on, stop.get_token()).value();
  ASSERT_NE(found.best(), nullptr);
  EXPECT_FALSE(found.best()->finalist);
  EXPECT_EQ(found.count(outcome::planned), 1u);
  EXPECT_GT(found.count(outcome::untried), found.candidates.size() / 2);
}

TEST(ShapeSearch, HasAFairPlanOfManyLayoutsAtOnce) {
  std::vector<layout> many = layouts(500, 64);
  while (many.size() < 300) many.insert(many.end(), many.begin(), many.end());  // the same ones again
  const std::vector<std::vector<tokens>> lists = batches(2);
  std::stop_source stop;
  stop.request_stop();
  const ranking first = shape_search{}(many, lists, toy_on, plan_on, stop.get_token()).value();
  ASSERT_NE(first.best(), nullptr);
  EXPECT_EQ(first.count(outcome::planned), 1u);
  const auto best_on = [&](std::size_t threads) {
    return shape_search{.first = small, .effort = small, .threads = threads}(many, lists, toy_on, plan_on).value();
  };
  const ranking all = best_on(1), again = best_on(3);
  EXPECT_LE(first.best()->step_time, all.best()->step_time * 1.25);
  ASSERT_EQ(all.candidates.size(), again.candidates.size());
  for (std::size_t i = 0; i < all.candidates.size(); ++i) {
    EXPECT_EQ(all.candidates[i].step_time, again.candidates[i].step_time);
    EXPECT_EQ(all.candidates[i].outcome, again.candidates[i].outcome);
  }
}

TEST(ShapeSearch, HasPlannedWhatPromisesMostOfHalfTheLayoutsOnceTheseAreBounded) {
  std::vector<layout> many = layouts(500, 64);
  while (many.size() < 600) many.insert(many.end(), many.begin(), many.end());
  const std::vector<std::vector<tokens>> lists = batches(2);
  std::stop_source stop;
  const auto at_half = [&](const shapes::search_progress& p) {
    if (p.now == shapes::search_progress::round::bounds && 2 * p.done > many.size()) stop.request_stop();
  };
  const ranking half =
      shape_search{.first = small, .effort = small}(many, lists, toy_on, plan_on, stop.get_token(), at_half).value();
  const ranking all = shape_search{.first = small, .effort = small}(many, lists, toy_on, plan_on).value();
  EXPECT_GT(half.count(outcome::planned), 8u);
  EXPECT_LE(half.best()->step_time, all.best()->step_time * 1.1);
}

TEST(ShapeSearch, PlansNothingMoreOnceItIsStoppedWithAPlan) {
  const std::vector<std::vector<tokens>> lists = batches(1);
  for (const int last : {1, 5, 20}) {
    std::stop_source stop;
    int made = 0;
    const auto counted = [&](const layout& on, const toy& cost, std::span<const tokens> lengths, search_budget effort) {
      result<plan> p = plan_on(on, cost, lengths, effort);
      if (p && ++made == 2 * last) stop.request_stop();
      return p;
    };
    const ranking found =
        shape_search{.first = small, .effort = {4000, 6}}(layouts(500), lists, toy_on, counted, stop.get_token())
            .value();
    ASSERT_NE(found.best(), nullptr);
    EXPECT_EQ(made, 2 * last);
    EXPECT_EQ(found.plans.size(), lists.size());
  }
}

TEST(ShapeSearch, HasAFinalistInFrontAtEveryEffort) {
  const std::vector<std::vector<tokens>> lists = batches(9);
  int k = 0;
  for (const search_budget effort : {search_budget{4000, 6}, small, search_budget{20'000, 20}}) {
    if (!tests::is_tried(k++)) continue;
    const ranking found =
        shape_search{.first = small, .effort = effort, .finalists = 2}(layouts(500), lists, toy_on, plan_on).value();
    ASSERT_NE(found.best(), nullptr);
    EXPECT_TRUE(found.best()->finalist);
    EXPECT_EQ(found.best()->step_time, planned_on(found.best()->layout, lists, effort));
  }
}

TEST(ShapeSearch, HandsOverThePlansOfTheBest) {
  const std::vector<std::vector<tokens>> lists = batches(4, 3);
  for (const search_budget effort : {small, search_budget{4000, 6}}) {
    const ranking found = shape_search{.first = small, .effort = effort}(layouts(500), lists, toy_on, plan_on).value();
    ASSERT_EQ(found.plans.size(), lists.size());
    const layout& on = found.best()->layout;
    for (std::size_t b = 0; b < lists.size(); ++b)
      EXPECT_EQ(found.plans[b].hash, plan_on(on, toy_on(on).value(), lists[b], effort).value().hash);
  }
}

TEST(ShapeSearch, LeavesWhatMemoryForcesIntoVeryManyPacks) {
  const std::vector<std::vector<tokens>> lists{{{4096}, {512}, {512}, {256}}};
  const auto with_largest = [&](std::uint64_t largest) {
    return shape_search{.probe = {0, 1, largest}, .long_probes = 0, .first = small, .effort = small}(
               layouts(1500, 16), lists, toy_on, plan_on)
        .value();
  };
  const ranking any = with_largest(search_budget::no_limit), few = with_largest(2000);
  EXPECT_EQ(any.count(outcome::too_long), 0u);
  EXPECT_GT(few.count(outcome::too_long), 0u);
  ASSERT_NE(few.best(), nullptr);
  EXPECT_EQ(few.best()->step_time, any.best()->step_time);
  for (const candidate& c : few.candidates)
    if (c.outcome == outcome::too_long) {
      EXPECT_NE(c.why.find("the search may simulate 2000"), std::string::npos) << c.why;
    }
}

TEST(ShapeSearch, PlansManyPacksWhereNothingElseFits) {
  const std::vector<std::vector<tokens>> lists = batches(1);
  const ranking found =
      shape_search{.probe = {0, 1, 1}, .first = small, .effort = small}(layouts(500), lists, toy_on, plan_on).value();
  ASSERT_NE(found.best(), nullptr);
  EXPECT_EQ(
      found.best()->step_time,
      (shape_search{.first = small, .effort = small}(layouts(500), lists, toy_on, plan_on).value().best()->step_time));
}

TEST(ShapeSearch, TellsHowFarItIsFromTheFirstMoment) {
  using shapes::search_progress;
  std::vector<search_progress> heard;
  const auto listen = [&](const search_progress& far) { heard.push_back(far); };
  const std::vector<layout> all = layouts(500);
  const ranking found =
      shape_search{.first = small, .effort = {4000, 6}, .threads = 2}(all, batches(3), toy_on, plan_on, {}, listen)
          .value();
  ASSERT_GT(heard.size(), all.size());
  EXPECT_EQ(heard.front().now, search_progress::round::bounds);
  EXPECT_EQ(heard.front().done, 0u);
  EXPECT_EQ(heard.front().left, all.size());
  for (std::size_t i = 1; i < heard.size(); ++i) {
    const search_progress &before = heard[i - 1], &now = heard[i];
    EXPECT_GE(now.now, before.now);
    EXPECT_TRUE(now.done == before.done + 1 || now.done == 0);
    if (now.done > 0) {
      EXPECT_LT(now.left, before.left + (before.left == 0));
    }
    EXPECT_TRUE(before.best == seconds{} || now.best <= before.best);
  }
  EXPECT_EQ(heard.back().now, search_progress::round::plans);
  EXPECT_EQ(heard.back().best, found.best()->step_time);
}

}  // namespace
}  // namespace slimpack::shape_search_test
