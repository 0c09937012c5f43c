#include <slimpack/core/order/detail/sequence_numbers.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::price_test {
namespace {

/// A second a token, and 100 more on each later part; messages take a tenth of a second a token.
struct by_part {
  [[nodiscard]] seconds time(const slice& s, pass, int part) const {
    return {static_cast<double>(s.length.value + 100 * part)};
  }
  [[nodiscard]] seconds message(tokens size, pass, int) const { return {0.1 * static_cast<double>(size.value)}; }
};

struct with_bytes : by_part {
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return memory_rates{.fixed = 1.0 + stage}; }
};

/// Sequence 0 has 30 tokens in two slices, sequence 1 has 5 in one.
partition example() {
  partition packs;
  packs.forward.push({{0}, {0}, {20}});
  packs.forward.push({{1}, {0}, {5}});
  packs.forward.close();
  packs.forward.push({{0}, {20}, {10}});
  packs.forward.close();
  packs.backward.push({{1}, {0}, {5}});
  packs.backward.close();
  packs.backward.push({{0}, {15}, {15}});
  packs.backward.close();
  packs.backward.push({{0}, {0}, {15}});
  packs.backward.close();
  return packs;
}

shape on(int stages, int chunks = 1) {
  shape s;
  s.stages = stages;
  s.chunks = chunks;
  return s;
}

TEST(Price, SumsEachPackOnEachPart) {
  const workload w = price(example(), by_part{}, on(2), std::vector<memory_rates>(2));
  EXPECT_EQ(w.times.calls[pass::forward], (std::vector<seconds>{{25}, {225}, {10}, {110}}));
  EXPECT_EQ(w.times.calls[pass::backward], (std::vector<seconds>{{5}, {105}, {15}, {115}, {15}, {115}}));
  EXPECT_EQ(w.times.before.forward, (std::vector<std::int64_t>{0, 25, 35}));
  EXPECT_EQ(w.times.before.backward, (std::vector<std::int64_t>{0, 5, 20, 35}));
  EXPECT_EQ(w.times.packs(pass::forward), 2u);
}

TEST(Price, SendsNoMessageFromTheEndOfAPass) {
  const workload w = price(example(), by_part{}, on(1, 3), std::vector<memory_rates>(1));
  EXPECT_EQ(w.times.messages[pass::forward], (std::vector<seconds>{{2.5}, {2.5}, {0}, {1}, {1}, {0}}));
  EXPECT_EQ(w.times.messages[pass::backward],
            (std::vector<seconds>{{0}, {0.5}, {0.5}, {0}, {1.5}, {1.5}, {0}, {1.5}, {1.5}}));
}

// Sequence 1 needs forward pack 0; from sequence 0 on, pack 1 is needed.
TEST(Price, FindsTheForwardPackThatEachBackwardWaitsFor) {
  EXPECT_EQ(price(example(), by_part{}, on(1), {{}}).turn, (std::vector<std::uint32_t>{0, 1, 1}));
}

// Sequence 1 runs backward in one slice: no accumulators. Sequence 0 opens 30, of which 15 remain after B1.
TEST(Price, CountsAccumulatorsFromASequencesFirstBackwardToItsLast) {
  const workload w = price(example(), by_part{}, on(1), {{}});
  EXPECT_EQ(w.gradient_running, (std::vector<std::int64_t>{0, 30, 15}));
  EXPECT_EQ(w.gradient_before, (std::vector<std::int64_t>{0, 0, 15, 0}));
}

TEST(Price, OfNothingIsEmpty) {
  const workload w = price({}, by_part{}, on(2), std::vector<memory_rates>(2));
  EXPECT_EQ(w.times.packs(pass::forward), 0u);
  EXPECT_EQ(w.times.before.forward, std::vector<std::int64_t>{0});
  EXPECT_TRUE(w.turn.empty());
}

TEST(RatesOf, CountTokensUnderALimitInTokens) {
  shape s = on(2);
  s.memory = memory_limit{memory_unit::token, 10};
  EXPECT_EQ(rates_of(with_bytes{}, s).value()[1].fixed, 0);
  EXPECT_EQ(unit_of(with_bytes{}, s), memory_unit::token);
}

TEST(RatesOf, CountBytesWhereTheModelKnowsThem) {
  EXPECT_EQ(rates_of(with_bytes{}, on(2)).value()[1].fixed, 2);
  EXPECT_EQ(unit_of(with_bytes{}, on(2)), memory_unit::byte);
  EXPECT_EQ(rates_of(by_part{}, on(2)).value()[1].live_token, 1);
  EXPECT_EQ(unit_of(by_part{}, on(2)), memory_unit::token);
}

TEST(RatesOf, RefuseALimitInBytesUnderAModelThatKnowsNone) {
  shape s = on(2);
  s.memory = memory_limit{memory_unit::byte, 1e9};
  EXPECT_EQ(rates_of(by_part{}, s).error().code, errc::invalid_input);
  EXPECT_TRUE(rates_of(with_bytes{}, s).has_value());
}

/// Knows evaluations, too; in steps pieces keep a byte a token.
struct evaluates : with_bytes {
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
    return memory_rates{.fixed = 0.5 + stage, .forward_token = 3};
  }
  [[nodiscard]] bytes kept(const slice& s, int) const { return {static_cast<double>(s.length.value)}; }
};

TEST(EvaluationRatesOf, AreThoseOfEvaluationsWhereTheModelKnowsThem) {
  EXPECT_EQ(evaluation_rates_of(evaluates{}, on(2)).value()[1], (memory_rates{.fixed = 1.5, .forward_token = 3}));
  EXPECT_EQ(evaluation_rates_of(with_bytes{}, on(2)).value(), rates_of(with_bytes{}, on(2)).value());
  shape s = on(2);
  s.memory = memory_limit{memory_unit::token, 10};
  EXPECT_EQ(evaluation_rates_of(evaluates{}, s).value()[1], memory_rates{});
  s.memory->unit = memory_unit::byte;
  EXPECT_EQ(evaluation_rates_of(by_part{}, s).error().code, errc::invalid_input);
}

TEST(Price, KeepsNothingBesideTokensInAnEvaluation) {
  struct keeps : with_bytes {
    [[nodiscard]] bytes kept(const slice& s, int) const { return {static_cast<double>(s.length.value)}; }
  };
  partition alone = example();
  EXPECT_FALSE(price(alone, evaluates{}, on(1), std::vector<memory_rates>(1)).times.kept.forward.empty());
  alone.backward = {};
  EXPECT_TRUE(price(alone, evaluates{}, on(1), std::vector<memory_rates>(1)).times.kept.forward.empty());
  EXPECT_FALSE(price(alone, keeps{}, on(1), std::vector<memory_rates>(1)).times.kept.forward.empty())
      << "held to be as in a step";
}

/// The example, its two sequences under other ids.
partition renamed(sequence_id first, sequence_id second) {
  partition packs;
  const partition from = example();
  for (const pass p : {pass::forward, pass::backward}) {
    micropacks& to = packs.of(p);
    for (std::size_t i = 0; i < from.of(p).size(); ++i) {
      for (slice s : from.of(p)[i]) {
        s.sequence = s.sequence.value == 0 ? first : second;
        to.push(s);
      }
      to.close();
    }
  }
  return packs;
}

TEST(Price, FollowsSequencesWhateverTheirIds) {
  const workload near = price(example(), by_part{}, {}, {memory_rates{}});
  for (const auto& [first, second] :
       {std::pair<std::uint32_t, std::uint32_t>{65535, 40}, {1, 0}, {7, 40}, {7, 4000000000}}) {
    const workload far = price(renamed({first}, {second}), by_part{}, {}, {memory_rates{}});
    EXPECT_EQ(far.turn, near.turn) << first;
    EXPECT_EQ(far.gradient_running, near.gradient_running) << first;
    EXPECT_EQ(far.gradient_before, near.gradient_before) << first;
  }
}

// Three slices of two sequences, whatever their ids: two numbers, not four billion cells.
TEST(SequenceNumbers, CountTheSequencesThatOccur) {
  const detail::sequence_numbers far(renamed({7}, {4000000000}).forward);
  EXPECT_EQ(far.count(), 2u);
  EXPECT_EQ(far({7}), 0u);
  EXPECT_EQ(far({4000000000}), 1u);
  const detail::sequence_numbers near(example().forward);
  EXPECT_EQ(near.count(), 2u);
  EXPECT_EQ(near({1}), 1u);
}

// Three slices: up to 48 cells are fewer steps than sorting and searching, and those of no sequence stay unused.
TEST(SequenceNumbers, AreIdsWhereTheseAreNear) {
  const detail::sequence_numbers near(renamed({7}, {47}).forward);
  EXPECT_EQ(near.count(), 48u);
  EXPECT_EQ(near({47}), 47u);
  EXPECT_EQ(detail::sequence_numbers(renamed({7}, {48}).forward).count(), 2u);
}

/// Each row adds as many seconds as it has tokens before its end; a slice of no row covers three a token, of a part
/// less.
struct covering : by_part {
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice>, pass, int) const {
    return {static_cast<double>(row.end.value)};
  }
  [[nodiscard]] seconds covers(const slice& s, pass, int part) const {
    return {3.0 * static_cast<double>(s.length.value) - part};
  }
};
struct exposed : covering {
  [[nodiscard]] seconds covers(const slice&, pass, int) const { return {0}; }
};

// Sequences 0 and 1 are shared, the others are not. A pack takes max(0, e - c) beside its slices, e and c being of all
// its rows and of all its slices without one; what nobody waits for counts as no communication.
TEST(Price, LetsSlicesOfThePackCoverExchangesWhereTheModelSaysSo) {
  for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    partition packs;
    std::vector<shared_row> rows;
    const std::vector<std::uint32_t> both{0, 1};
    std::vector<tokens> lengths;
    for (int i = 0; i < 6; ++i) lengths.push_back({random.between(1, 30)});
    by_pass<std::vector<double>> expected;
    double waited = 0;
    for (const pass way : both_passes) {
      std::vector<std::int64_t> pack_of;
      for (std::size_t s = 0; s < lengths.size(); ++s)
        pack_of.push_back(s < 3 ? random.between(0, 2) : static_cast<std::int64_t>(s) - 3);  // no pack is empty
      for (std::uint32_t i = 0; i < 3; ++i) {
        micropacks& to = packs.of(way);
        double slices = 0, exchanged = 0, count = 0, local = 0;
        for (std::uint32_t s = 0; s < lengths.size(); ++s) {
          if (pack_of[s] != i) continue;
          to.push({{s}, {0}, lengths[s]});
          slices += static_cast<double>(lengths[s].value), ++count;
          if (s < 2) {
            rows.push_back(
                {.sequence = {s}, .pass = way, .pack = {i}, .end = {random.between(1, 60)}, .sharers = both});
            exchanged += static_cast<double>(rows.back().end.value);
          } else {
            ++local;
          }
        }
        to.close();
        for (int part = 0; part < 2; ++part) {
          double covered = -part * local;
          for (const slice& one : to[i])
            if (one.sequence.value > 1) covered += 3.0 * static_cast<double>(one.length.value);
          const double left = std::max(0.0, exchanged - covered);
          expected[way].push_back(slices + 100 * part * count + left);
          waited += left;
        }
      }
    }
    const workload w =
        price(packs, covering{}, on(2), std::vector<memory_rates>(2), weight_gradients::with_inputs, rows);
    for (const pass way : both_passes)
      for (std::size_t cell = 0; cell < w.times.calls[way].size(); ++cell)
        EXPECT_NEAR(w.times.calls[way][cell].value, expected[way][cell], 1e-9) << cell;
    EXPECT_NEAR(w.times.communication.value, waited, 1e-9);
    const workload apart =
        price(packs, exposed{}, on(2), std::vector<memory_rates>(2), weight_gradients::with_inputs, rows);
    EXPECT_GE(apart.times.communication, w.times.communication);
  }
}

}  // namespace
}  // namespace slimpack::price_test
