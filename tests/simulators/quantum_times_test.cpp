#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/quantum_times.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../support/kinds_cost.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::quantum_times_test {
namespace {

// One second a token, one more for each token before it, half of that on chunk 1; twice as long backward.
struct halving {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    const double prefix = static_cast<double>(s.begin.value);
    const double length = static_cast<double>(s.length.value);
    const double forward = length * (1 + prefix) / (part == 0 ? 1 : 2);
    return {p == pass::forward ? forward : 2 * forward};
  }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const { return time(s, pass::forward, part) * 0.5; }
};

// The quantum [10, 15): 5 (1 + 10) = 55 s on part 0, 27.5 s on part 1; backward 110 and 55, without the weights' half
// of forward 110 - 27.5 = 82.5 and 41.25.
TEST(QuantumTimes, HoldTheTimesOfEachPart) {
  simulators::quantum_times t;
  t.assign(halving{}, {{0}, {10}, {5}}, 2);
  EXPECT_EQ(t.forward, (std::vector<double>{55, 27.5}));
  EXPECT_EQ(t.backward, (std::vector<double>{110, 55}));
  EXPECT_EQ(t.inputs, (std::vector<double>{82.5, 41.25}));
}

// 25 and 12 tokens in quanta of 10: three whole quanta, of which two begin at 0 and one at 10, and rests of 5 and 2.
TEST(QuantumTimes, EachQuantumIsVisitedOnceBetweenItsCheapestAndDearest) {
  const std::vector<sequence> batch = batch_view(std::vector<tokens>{{25}, {12}}).sequences();
  const simulators::batch_quanta all(batch, {10});
  double tokens_seen = 0;
  double least = 0;
  double most = 0;
  simulators::each_quantum(all, halving{}, 1,
                           [&](const auto& cheapest, const auto& dearest, double count, double length) {
                             tokens_seen += count * length;
                             least += count * cheapest.forward[0];
                             most += count * dearest.forward[0];
                           });
  EXPECT_EQ(tokens_seen, 37);
  const double exact = 10 + 10 * 11 + 5 * 21 + 10 + 2 * 11;
  EXPECT_LE(least, exact);
  EXPECT_GE(most, exact);
  EXPECT_GT(least, 0);
}

/// Says nothing of its borders.
struct silent : tests::kinds_cost {
  [[nodiscard]] bool has_borders() const { return false; }
};

/// How many times of a batch's quanta do not lie between the least and the most of their group.
template <class Cost>
int count_outside(const Cost& cost, const std::vector<sequence>& batch, tokens quantum) {
  const simulators::batch_quanta all(batch, quantum);
  std::vector<simulators::quantum_times> low, high;
  simulators::each_quantum(all, cost, 2, [&](const auto& least, const auto& most, double, double) {
    low.push_back(least), high.push_back(most);
  });
  int outside = 0;
  simulators::quantum_times own;
  for (const sequence& s : batch) {
    tokens at = s.begin;
    for (std::int64_t k = all.first_quantum(s); k < all.end_quantum(s); ++k, at += quantum) {
      own.assign(cost, {s.id, at, quantum}, 2);
      const auto g = static_cast<std::size_t>(k / all.group_size());
      for (std::vector<double> simulators::quantum_times::*const of :
           {&simulators::quantum_times::forward, &simulators::quantum_times::backward,
            &simulators::quantum_times::inputs})
        for (std::size_t part = 0; part < 2; ++part) {
          const double t = (own.*of)[part];
          outside += (low[g].*of)[part] > t * (1 + 1e-9) || (high[g].*of)[part] < t * (1 - 1e-9);
        }
    }
  }
  return outside;
}

// Layers of every kind; lists and forests, of which some begin between two multiples; more positions than groups in
// every second. Chunks end anywhere.
TEST(QuantumTimes, HoldOfEveryQuantumWhereTimesMayFall) {
  int borders = 0, silent_outside = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(tests::cases(40)); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const tokens quantum{random.between(1, 9)};
    const tokens longest = quantum * (seed % 2 == 0 ? 1500 : 50);
    const tests::kinds_cost cost(random, quantum.value * random.between(1, 40));
    std::vector<sequence> batch = batch_view(testing::trial_forest(random, 10, longest)).sequences();
    if (seed % 3 == 0) {
      batch.clear();
      for (std::uint32_t i = 0; i < 5; ++i) batch.push_back({{i}, random.length(longest)});
    }
    EXPECT_EQ(count_outside(cost, batch, quantum), 0);
    borders += cost.has_borders();
    silent_outside += count_outside(silent{cost}, batch, quantum);
  }
  EXPECT_GT(borders, 0);
  EXPECT_GT(silent_outside, 0) << "times that may fall are within those of the first and the last";
}

}  // namespace
}  // namespace slimpack::quantum_times_test
