#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../support/bucketed_cost.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::any_cost_test {
namespace {

/// What a search is told behind virtual calls is what the policies say, to the bit.
template <class Cost>
void compare(const Cost& model, const shape& on, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::generator random(seed);
  const detail::cost_behind<Cost> behind(model);
  const detail::any_cost& cost = behind;
  const slicers::equal_cost cut;
  const detail::slicer_behind<slicers::equal_cost, Cost> cutter(cut, behind);
  std::vector<tokens> lengths;
  for (std::int64_t n = random.between(1, 6); n > 0; --n) lengths.push_back(random.length({4096}));
  const partition packs = testing::random_partition(lengths, on.quantum, costs::quadratic{}, random);
  for (const pass p : both_passes) {
    timings one, other;
    detail::price_layers(packs.of(p), p, model, on.parts(), one);
    price_layers(packs.of(p), p, cost, on.parts(), other);
    EXPECT_EQ(one, other);
    for (int part = 0; part < on.parts(); ++part) {
      EXPECT_EQ(pack_overhead(model, p, part), pack_overhead(cost, p, part));
      EXPECT_EQ(call_overhead_of(model, p, part), call_overhead_of(cost, p, part));
      for (std::size_t i = 0; i < packs.of(p).size(); ++i)
        EXPECT_EQ(pack_time(model, packs.of(p)[i], p, part), pack_time(cost, packs.of(p)[i], p, part));
      for (const slice& s : packs.of(p).slices()) {
        EXPECT_EQ(model.time(s, p, part), cost.time(s, p, part));
        EXPECT_EQ(least_time(model, s, p, part), least_time(cost, s, p, part));
        EXPECT_EQ(weight_time(model, s, part), weight_time(cost, s, part));
        const sequence whole{s.sequence, lengths[s.sequence.value]};
        const cut_budget room{model.time(s, p, part) * 0.5, {2048}, on.quantum, part, true};
        const tokens at = p == pass::forward ? s.begin : s.end();
        EXPECT_EQ(cut.next(whole, at, p, room, model), cutter.next(whole, at, p, room, cost));
      }
    }
  }
  const std::array<std::uint32_t, 2> sharers{0, 1};
  const slice mine{{}, {0}, on.quantum};
  shared_row row{{}, pass::forward, {0}, on.quantum * 2, sharers};
  row.others = on.quantum, row.sent = on.quantum;
  EXPECT_EQ(exchange_time(model, row, std::span(&mine, 1), pass::forward, 0),
            exchange_time(cost, row, std::span(&mine, 1), pass::forward, 0));
  const std::vector<memory_rates> rates(static_cast<std::size_t>(on.stages));
  workload work = price(packs, model, on, rates);
  const workload same = price(packs, cost, on, rates);
  detail::count_late_sums(model, work);
  EXPECT_EQ(work.times.calls[pass::forward], same.times.calls[pass::forward]);
  EXPECT_EQ(work.times.calls[pass::backward], same.times.calls[pass::backward]);
  EXPECT_EQ(work.turn, same.turn);
  const schedules::list schedule;
  const detail::schedule_behind<schedules::list> any(schedule);
  EXPECT_EQ(any.timed(work).value(), schedules::timed(schedule, work).value());
  EXPECT_EQ(any.timed_longer(work).value(), schedules::timed(longer_of(schedule), work).value());
  EXPECT_TRUE(any.orders_may_change());
  EXPECT_FALSE(detail::schedule_behind<schedules::one_f_one_b>(schedules::one_f_one_b{}).orders_may_change());
}

TEST(AnyCost, AnswersAsTheModelDoes) {
  const shape on{.stages = 3, .replicas = 2, .quantum = {64}};
  costs::model_shape model;
  model.layers = 6, model.hidden = 512, model.heads = 8, model.kv_heads = 2, model.head_dim = 64, model.value_dim = 64;
  model.intermediate = 1024, model.vocabulary = 4096;
  const costs::transformer priced = costs::transformer::make(model, costs::gpus::h100(), on).value();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    compare(costs::quadratic{.per_pack = {0.25}, .hop = {0.5}, .per_call = {0.125}}, on, seed);
    compare(priced, on, seed);
  }
}

TEST(AnyCost, CountsSumsThatAreLateToLastPacks) {
  const shape on{.stages = 2, .replicas = 2};
  const tests::bucketed_cost model{{.linear = 1, .attention = 0}, {{{0, {3}, {}}}, {}}, {}};
  partition packs;
  for (const pass p : both_passes)
    for (const std::uint32_t id : {0U, 1U}) packs.of(p).append({{id}, {0}, {4}}), packs.of(p).close();
  const detail::cost_behind<tests::bucketed_cost> behind(model);
  const detail::any_cost& cost = behind;
  const std::vector<memory_rates> rates(2);
  EXPECT_EQ(price(packs, model, on, rates).times.calls[pass::backward], (std::vector<seconds>{{8}, {8}, {8}, {8}}));
  EXPECT_EQ(price(packs, cost, on, rates).times.calls[pass::backward], (std::vector<seconds>{{8}, {8}, {8 + 3}, {8}}));
}

}  // namespace
}  // namespace slimpack::any_cost_test
