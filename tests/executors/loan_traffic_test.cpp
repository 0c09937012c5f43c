#include <slimpack/executors/lending/loan_traffic.hpp>

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/executors/lending/loan_format.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::loan_traffic_test {
namespace {

constexpr message_format half{2, element_type::float16};        // 4 bytes a token
constexpr message_format double_row{3, element_type::float64};  // 24 bytes

/// Keys and queries go out, outputs come back; backward more.
loan_format format_of(int layers) {
  loan_format f;
  f.layers = layers;
  f.offered = {{{half, true}}, {{half, true}, {half, false}}};
  f.asked = {{{half, false}}, {{half, false}}};
  f.answered = {{{double_row, false}}, {{half, true}}};
  return f;
}

loan lent(std::uint32_t lender, std::uint32_t helper, pass p, std::int64_t context, std::int64_t queries) {
  return {
      {lender, {pass_kind(p), {0}}}, {helper, {pass_kind(p), {1}}}, {{0}, {context}, {queries}}, {{0}, {0}, {context}}};
}

// In each of 3 layers, forward: 10 keys and 5 queries of 4 bytes out, 5 outputs of 24 back. Backward 10 keys, 5 queries
// twice out.
TEST(LoanTraffic, CountsWhatEachSideSendsInEachLayer) {
  const std::vector<loan_format> chunks{format_of(3)};
  const std::vector<loan> loans{lent(0, 1, pass::forward, 10, 5), lent(0, 1, pass::backward, 10, 5)};
  EXPECT_EQ(executors::loan_traffic_of(loans, 0, chunks),
            (executors::loan_traffic{{6, 9}, {3 * (40 + 20), 3 * (40 + 20 + 20)}}));
  EXPECT_EQ(executors::loan_traffic_of(loans, 1, chunks), (executors::loan_traffic{{3, 3}, {3 * 120, 3 * 40}}));
  EXPECT_EQ(executors::loan_traffic_of(loans, 2, chunks), executors::loan_traffic{});
}

// Traffic of all loans is the sum of that of each, and what the stages send together is what the loans' messages hold.
TEST(LoanTraffic, AddsUpOverLoansAndStages) {
  testing::generator random(7);
  const std::vector<loan_format> chunks{format_of(2)};
  for (int i = 0; i < 50; ++i) {
    std::vector<loan> loans;
    by_pass<std::int64_t> held;
    for (std::int64_t n = random.between(0, 6); n > 0; --n) {
      const auto lender = static_cast<std::uint32_t>(random.between(0, 3));
      const pass p = random.once_in(2) ? pass::forward : pass::backward;
      loans.push_back(lent(lender, (lender + 1) % 4, p, random.between(1, 99), random.between(1, 99)));
      const loan_format& f = chunks[0];
      for (const auto* messages : {&f.offered, &f.asked, &f.answered})
        for (const loan_message& m : (*messages)[p])
          held[p] += f.layers * static_cast<std::int64_t>(m.bytes_of(loans.back()));
    }
    executors::loan_traffic together, one_by_one;
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
      const auto add = [](executors::loan_traffic& sum, const executors::loan_traffic& more) {
        for (const pass p : both_passes) sum.messages[p] += more.messages[p], sum.bytes[p] += more.bytes[p];
      };
      add(together, executors::loan_traffic_of(loans, stage, chunks));
      for (const loan& l : loans) add(one_by_one, executors::loan_traffic_of({&l, 1}, stage, chunks));
    }
    EXPECT_EQ(together, one_by_one) << "case " << i << ", seed 7";
    for (const pass p : both_passes) EXPECT_EQ(together.bytes[p], held[p]) << "case " << i << ", seed 7";
  }
}

}  // namespace
}  // namespace slimpack::loan_traffic_test
