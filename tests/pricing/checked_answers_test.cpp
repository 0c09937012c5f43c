#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/pricing/detail/cost_answers.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace slimpack::checked_answers_test {
namespace {

/// A model that offers what the others do not.
struct offers_more : costs::quadratic {
  using costs::quadratic::time;
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{1e-5};
    for (const slice& s : pack) sum += time(s, p, part);
    return sum * 0.9;
  }
  [[nodiscard]] seconds call_overhead(pass, int) const { return {3e-7}; }
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const { return time(s, p, part) * 0.9; }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const { return time(s, pass::backward, part) * 0.3; }
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{.fixed = 1e9, .live_token = 100}; }
  [[nodiscard]] bool has_borders() const { return true; }
  [[nodiscard]] bytes kept(const slice& piece, int) const { return {0.5 * static_cast<double>(piece.length.value)}; }
};

/// What a plan is accepted with says what the hooks say, to the bit, and finds nothing to blame.
template <class Cost>
void compare(const Cost& model, const shape& on, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::generator random(seed);
  const detail::answers_of<Cost> answers(model);
  detail::time_faults faults{std::stop_token{}};
  const detail::checked_answers cost(answers, faults);
  std::vector<tokens> lengths;
  for (std::int64_t n = random.between(1, 6); n > 0; --n) lengths.push_back(random.length({4096}));
  const partition packs = testing::random_partition(lengths, on.quantum, costs::quadratic{}, random);
  const std::vector<memory_rates> rates = rates_of(model, on).value();
  EXPECT_EQ(rates, rates_of(cost, on).value());
  for (const weight_gradients weights : {weight_gradients::with_inputs, weight_gradients::apart}) {
    const workload work = price(packs, model, on, rates, weights), same = price(packs, cost, on, rates, weights);
    EXPECT_EQ(work.times, same.times);
    EXPECT_EQ(work.split, same.split);
  }
  const std::vector<sequence> batch = batch_view(lengths).sequences();
  const std::vector<bound> bounds = simulators::lower_bounds(model, on, batch, rates),
                           others = simulators::lower_bounds(cost, on, batch, rates);
  ASSERT_EQ(bounds.size(), others.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) EXPECT_EQ(bounds[i].time, others[i].time) << bounds[i].name;
  EXPECT_EQ(has_borders(model), has_borders(cost));
  EXPECT_EQ(reduce_time_of(model), reduce_time_of(cost));
  for (int part = 0; part < on.parts(); ++part)
    for (const pass p : {pass::forward, pass::backward}) {
      const slice whole{{0}, {0}, lengths.front()};
      EXPECT_EQ(useful_time(model, whole, p, part), useful_time(cost, whole, p, part));
      EXPECT_EQ(collective_time(model, whole, p, part), collective_time(cost, whole, p, part));
    }
  for (int part = 0; part < on.parts(); ++part)
    EXPECT_EQ(gradient_buckets_of(model, part).size(), gradient_buckets_of(cost, part).size());
  EXPECT_FALSE(faults.any());
}

TEST(CheckedAnswers, AreThoseOfTheModel) {
  const shape on{.stages = 3, .replicas = 2, .tensor = 2, .quantum = {64}};
  shape spread = on;
  spread.vocabulary = vocabulary::spread;
  costs::model_shape model;
  model.layers = 6, model.hidden = 512, model.heads = 8, model.kv_heads = 2, model.head_dim = 64, model.value_dim = 64;
  model.intermediate = 1024, model.vocabulary = 4096;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    compare(costs::quadratic{.per_pack = {1e-5}, .hop = {1e-6}}, on, seed);
    compare(offers_more{{.per_pack = {1e-5}, .hop = {1e-6}}}, on, seed);
    for (const shape& one : {on, spread})
      compare(costs::transformer::make(model, costs::gpus::h100(), one).value(), one, seed);
  }
}

/// Takes off a slice what it adds to another.
struct outweighed : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass, int) const { return {s.begin > tokens{0} ? 3.0 : -1.0}; }
};

TEST(CheckedAnswers, BlameASliceThatOthersOutweigh) {
  const outweighed model;
  const detail::answers_of<outweighed> answers(model);
  detail::time_faults faults{std::stop_token{}};
  const detail::checked_answers cost(answers, faults);
  const slice pack[]{{{0}, {128}, {128}}, {{1}, {0}, {128}}};
  EXPECT_EQ(pack_time(cost, pack, pass::forward, 0), seconds{3});
  ASSERT_TRUE(faults.any());
  const std::vector<tokens> lengths{{256}, {128}};
  EXPECT_NE(faults.told(lengths, {128}).detail.find("-1 s for slice [0, 128) of sequence"), std::string::npos)
      << faults.told(lengths, {128}).detail;
}

}  // namespace
}  // namespace slimpack::checked_answers_test
