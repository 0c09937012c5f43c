#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/order/changing_order.hpp>
#include <slimpack/simulators/order/window_change.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::changing_order_test {
namespace {

// Whole numbers, so that sums are exact in any order.
const costs::quadratic cost{.linear = 1, .attention = 0, .backward_linear = 2, .per_pack = {8}, .hop = {40}};

/// A replica's packs in an order, counted again from nothing.
struct replica {
  partition packs;
  shape on;
  std::vector<memory_rates> rates;
  std::vector<program> programs;
  bool shared{};  ///< stands for several that have not all of its packs: every third takes no memory
  weight_gradients weights{weight_gradients::with_inputs};  ///< may run apart, as the programs say

  [[nodiscard]] workload work() const {
    workload priced = settled(price(packs, cost, on, rates, weights), programs);
    std::vector<std::int64_t>& before = priced.times.before.forward;
    for (std::size_t i = 0; i + 1 < before.size() && shared; i += 3) {
      const std::int64_t size = before[i + 1] - before[i];
      for (std::size_t later = i + 1; later < before.size(); ++later) before[later] -= size;
    }
    return priced;
  }
  /// Nothing where programs wait for each other or hold more than the limit.
  [[nodiscard]] std::optional<seconds> makespan() const {
    const workload priced = work();
    simulators::task_graph graph;
    if (!graph.assign(priced, programs)) return std::nullopt;
    for (const double peak : simulators::peak_memory(priced, programs))
      if (peak > on.memory->amount) return std::nullopt;
    std::vector<seconds> start;
    return graph.sweep(start);
  }
  [[nodiscard]] simulators::changing_order order() const {
    std::vector<std::int64_t> tokens;
    for (std::size_t i = 0; i < packs.forward.size(); ++i) tokens.push_back(size_of(packs.forward[i]).value);
    return {work(), programs, tokens, needs()};
  }
  [[nodiscard]] std::vector<std::int64_t> needs() const {
    const workload priced = price(packs, cost, on, rates);
    std::vector<std::int64_t> tokens;
    for (const std::uint32_t turn : priced.turn) tokens.push_back(priced.times.before.forward[turn + 1]);
    return tokens;
  }
};

/// Which kinds of orders change.
struct kind {
  int chunks{1};  ///< up to
  weight_gradients weights{weight_gradients::with_inputs};
};

/// As list or zero_bubble orders it, under a limit that leaves it little. Of every other one, gradients of keys and
/// values take twice what tokens do, so that a backward may leave more behind than it releases. What weight gradients
/// keep is not a whole multiple of what a token is. Of one in three, running packs hold something for their pairs.
replica any(testing::generator& random, bool shared = false, kind of = {}) {
  const testing::random_replica drawn =
      testing::any_replica({.longest = {2000}, .quantum = {64}, .chunks = of.chunks}, random);
  replica made{drawn.packs, drawn.work.shape, drawn.work.rates, {}, shared, of.weights};
  if (random.once_in(2))
    for (memory_rates& r : made.rates) r.gradient_token = 2 * r.live_token;
  if (testing::generator own = random; own.once_in(3))  // a copy: other cases stay as they are
    for (memory_rates& r : made.rates)
      r.forward_pair = static_cast<double>(own.between(0, 1)), r.backward_pair = 1 - r.forward_pair;
  if (of.weights == weight_gradients::apart) {
    for (memory_rates& r : made.rates) r.weight_token = 2 * r.live_token + 1;
    using order = schedules::zero_bubble_order;
    const schedules::zero_bubble rule{random.once_in(2) ? order::automatic : order::h2};
    made.programs = rule.programs(price(made.packs, cost, made.on, made.rates, of.weights)).value();
  } else {
    made.programs = schedules::list{}.programs(made.work()).value();
  }
  const std::vector<double> peak = simulators::peak_memory(made.work(), made.programs);
  made.on.memory = {memory_unit::token,
                    *std::max_element(peak.begin(), peak.end()) + static_cast<double>(random.between(0, 300))};
  return made;
}

/// Whether two neighbours of a stage may change places at all: packs pass each part in one order, weight gradients a
/// stage.
bool may_pass(const instruction& x, const instruction& y) {
  if (x.is_weights() && y.is_weights()) return false;
  return x.kind != y.kind || x.chunk != y.chunk;
}

// The oracle runs the changed programs through the task graph and the memory account.
void swaps_what_fits(std::uint64_t seed, int replicas, kind of) {
  testing::generator random(seed);
  if (tests::under_sanitizer) replicas /= 4;
  int kept = 0, refused = 0;
  for (int i = 0; i < replicas; ++i) {
    replica r = any(random, i % 2 == 1, of);
    simulators::changing_order order = r.order();
    for (int sweep = 0; sweep < 3; ++sweep) {
      for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const seconds before = r.makespan().value();
        ASSERT_EQ(order.makespan(), before) << "seed " << seed << ", replica " << i;
        program& code = r.programs[order.part(rank) % r.programs.size()];
        const auto at = std::find(code.begin(), code.end(), order[rank]);
        bool right = at + 1 != code.end() && may_pass(*at, at[1]);
        if (right) {
          std::iter_swap(at, at + 1);
          const std::optional<seconds> after = r.makespan();
          right = after && *after <= before;
          if (!right) std::iter_swap(at, at + 1);
        }
        ASSERT_EQ(order.swap(rank), right) << "seed " << seed << ", replica " << i << ", rank " << rank;
        ++(right ? kept : refused);
      }
      order.begin();
      ASSERT_EQ(order.programs(), r.programs);
    }
  }
  std::cout << kept << " swaps stay, " << refused << " do not\n";
  EXPECT_GT(kept, 1000 / tests::one_in);
}

TEST(ChangingOrder, SwapsWhatTakesNoLongerAndFitsAndNothingElse) { swaps_what_fits(7, 150, {}); }
TEST(ChangingOrder, SwapsSoWithChunks) { swaps_what_fits(8, 60, {.chunks = 3}); }
TEST(ChangingOrder, SwapsSoWithWeightGradientsApart) { swaps_what_fits(9, 60, {.weights = weight_gradients::apart}); }
TEST(ChangingOrder, SwapsSoWithBoth) { swaps_what_fits(10, 40, {.chunks = 3, .weights = weight_gradients::apart}); }

/// Packs `at` and the next as one, at the place that changing_order leaves.
replica joined(const replica& of, pass p, std::size_t at) {
  replica made = of;
  micropacks& packs = made.packs.of(p);
  micropacks fewer;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    for (const slice& s : packs[i]) fewer.push(s);
    if (i != at) fewer.close();
  }
  packs = std::move(fewer);
  for (program& code : made.programs) {
    const std::size_t gone = p == pass::forward ? at + 1 : at;
    std::erase_if(code, [&](const instruction& i) { return i.pass() == p && i.pack.value == gone; });
    for (instruction& i : code)
      if (i.pass() == p && i.pack.value > gone) --i.pack.value;
  }
  return made;
}

simulators::window_change change_of(const replica& after, pass p, std::size_t at, std::vector<std::uint32_t> places) {
  const workload work = after.work();
  const auto parts = static_cast<std::size_t>(after.on.parts());
  simulators::window_change change{p,
                                   std::move(places),
                                   {},
                                   {},
                                   {work.times.before[p][at + 1] - work.times.before[p][at]},
                                   {work.pairs[p][at]},
                                   {},
                                   {},
                                   {}};
  for (std::size_t part = 0; part < parts; ++part) {
    change.time.push_back(work.times.calls[p][at * parts + part].value);
    change.message.push_back(work.times.messages[p][at * parts + part].value);
  }
  if (p == pass::backward) {
    change.needs = {after.needs()[at]};
    change.gradient_running = {work.gradient_running[at]};
    change.gradient_after = {work.gradient_before[at + 1]};
  }
  return change;
}

// What the search gives up early it may miss, so a few that would do are refused.
void joins_what_fits(std::uint64_t seed, int replicas, kind of, double most_missed) {
  testing::generator random(seed);
  if (tests::under_sanitizer) replicas /= 2;
  int kept = 0, missed = 0, refused = 0;
  for (int i = 0; i < replicas; ++i) {
    replica r = any(random, false, of);
    simulators::changing_order order = r.order();
    std::vector<std::uint32_t> places[2];  // that the packs of r are at
    for (std::uint32_t pack = 0; pack < r.packs.forward.size(); ++pack) places[0].push_back(pack);
    for (std::uint32_t pack = 0; pack < r.packs.backward.size(); ++pack) places[1].push_back(pack);
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const instruction first = order[rank];
      std::vector<std::uint32_t>& mine = places[first.pass() == pass::backward];
      const auto at = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), first.pack.value) - mine.begin());
      const std::size_t enters = first.pass() == pass::forward ? 0 : static_cast<std::size_t>(r.on.parts()) - 1;
      if (order.part(rank) != enters || first.is_weights() || at + 1 >= mine.size()) continue;
      if (first.pass() == pass::backward && (order.splits(mine[at]) || order.splits(mine[at + 1]))) continue;
      const seconds before = r.makespan().value();
      ASSERT_EQ(order.makespan(), before) << "seed " << seed << ", replica " << i;
      replica after = joined(r, first.pass(), at);
      const std::optional<seconds> time = after.makespan();
      const bool right = time && *time <= before;
      const bool stays = order.recut(change_of(after, first.pass(), at, {mine[at], mine[at + 1]}));
      ASSERT_TRUE(right || !stays) << "seed " << seed << ", replica " << i << ", rank " << rank;
      ++(stays ? kept : right ? missed : refused);
      if (!stays) continue;
      mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(first.pass() == pass::forward ? at + 1 : at));
      r = std::move(after);
    }
    order.begin();
    ASSERT_EQ(order.programs(), r.programs) << "seed " << seed << ", replica " << i;
    ASSERT_EQ(order.makespan(), r.makespan().value()) << "seed " << seed << ", replica " << i;
  }
  std::cout << kept << " joins stay, " << missed << " are missed, " << refused << " do not\n";
  EXPECT_GT(kept, replicas / 2);
  EXPECT_LT(missed, most_missed * kept);
}

TEST(ChangingOrder, JoinsPacksThatTakeNoLongerTogetherAndFit) { joins_what_fits(11, 400, {}, 0.05); }
TEST(ChangingOrder, JoinsSoWithChunks) { joins_what_fits(12, 200, {.chunks = 3}, 0.1); }
TEST(ChangingOrder, JoinsSoBesideWeightGradientsApart) {
  joins_what_fits(13, 200, {.chunks = 3, .weights = weight_gradients::apart}, 0.3);
}

}  // namespace
}  // namespace slimpack::changing_order_test
