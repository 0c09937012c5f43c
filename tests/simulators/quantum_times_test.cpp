#include <slimpack/costs/quadratic.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/quantum_times.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include <gtest/gtest.h>

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
  const std::vector<sequence> batch = solvers::sequences_of(std::vector<tokens>{{25}, {12}});
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

}  // namespace
}  // namespace slimpack::quantum_times_test
