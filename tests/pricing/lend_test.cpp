#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/lend.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/memory.hpp>

#include "../support/least_time.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::lend_test {
namespace {

/// A row of two slices of two tokens, on two stages.
partition row_of_two() {
  partition packs;
  for (const pass p : both_passes)
    for (const std::int64_t i : {0, 1})
      packs.of(p).append({{0}, {2 * nth_place(p, i, std::int64_t{2})}, {2}}), packs.of(p).close();
  return packs;
}

//  A second for each pair of a query and a key: slices take 3 s and 7 s. In the lock step of both stages, stage 0 with
//  slice 1 lends stage 1 with slice 0 one key of two queries, 2 s. Messages take half a second each.
//    helper  3 + 2, and 0.5 for the queries, since slice 0 attends to nothing before it               5.5 s
//    lender  the more of 7 - 2 and 5.5, and 0.5 for the results                                        6 s
TEST(Lend, TakesWhatIsWorkedOutByHand) {
  const shape on{.stages = 2, .quantum = {1}};
  const costs::quadratic cost{.linear = 0, .attention = 1, .backward_linear = 1, .backward_attention = 1, .hop = {0.5}};
  const partition packs = row_of_two();
  workload w = price(packs, cost, on, std::vector<memory_rates>(2));
  const std::vector<loan> loans = loans_of(packs, on, attention_lending::level, 2).value();
  lend(packs, cost, loans, w);
  EXPECT_EQ(w.times.calls[pass::forward], (std::vector<seconds>{{3}, {5.5}, {6}, {7}}));
  EXPECT_EQ(w.times.calls[pass::backward], (std::vector<seconds>{{6}, {7}, {3}, {5.5}}));
  EXPECT_EQ(w.times.communication, seconds{3});  // 0.5 s of the helper and 1 s of the lender, in each pass
  EXPECT_EQ(w.loans, loans);
}

// Where queries travel while the helper attends to its own prefix, nobody waits for them.
TEST(Lend, HidesQueriesBehindTheHelpersOwnPrefix) {
  const shape on{.stages = 2, .quantum = {1}};
  const costs::quadratic cost{.linear = 0, .attention = 1, .hop = {0.5}};
  partition packs;
  for (const pass p : both_passes)
    for (const std::int64_t i : {0, 1, 2, 3})
      packs.of(p).append({{0}, {2 * nth_place(p, i, std::int64_t{4})}, {2}}), packs.of(p).close();
  workload w = price(packs, cost, on, std::vector<memory_rates>(2));
  lend(packs, cost, loans_of(packs, on, attention_lending::level, 4).value(), w);
  // Slice 2 has 11 pairs, slice 1 has 7, 4 of them to its prefix: 2 are lent.
  EXPECT_EQ(w.times.calls[pass::forward][3], seconds{9});    // slice 1 on stage 1
  EXPECT_EQ(w.times.calls[pass::forward][4], seconds{9.5});  // slice 2 on stage 0, and its results
}

// Helpers are found by their cells: loans by a helper each take about what as many by one take, not the square.
TEST(Lend, FindsAHelperAmongManyAtOnce) {
  constexpr std::uint32_t count = 30'000;
  partition packs;
  for (std::uint32_t i = 0; i < count; ++i) packs.forward.append({{0}, {2 * i}, {2}}), packs.forward.close();
  const auto time_of = [&](bool is_one) {
    std::vector<loan> loans;
    for (std::uint32_t i = 1; i < count; ++i)
      loans.push_back({{0, {instruction_kind::forward, {i}}},
                       {1, {instruction_kind::forward, {is_one ? 0 : i - 1}}},
                       packs.forward[i][0],
                       {{0}, {0}, {1}}});
    return tests::least_time([&] {
      workload w;
      w.shape.stages = 2;
      w.times.calls[pass::forward].assign(2 * count, seconds{1});
      lend(packs, costs::quadratic{}, loans, w);
    });
  };
  EXPECT_LT(time_of(false), 10 * time_of(true));
}

// What is lent is held while the helper runs, backward with gradients.
TEST(Lend, HoldsTheKeys) {
  const shape on{.stages = 2, .quantum = {1}};
  const partition packs = row_of_two();
  workload w = price(packs, costs::quadratic{}, on, std::vector<memory_rates>(2, {.live_token = 0, .lent_token = 10}));
  lend(packs, costs::quadratic{}, loans_of(packs, on, attention_lending::level, 2).value(), w);
  const instruction f0{instruction_kind::forward, {0}}, f1{instruction_kind::forward, {1}},
      b0{instruction_kind::backward, {0}}, b1{instruction_kind::backward, {1}};
  const std::vector<program> programs{{f0, f1, b0, b1}, {f0, f1, b0, b1}};
  EXPECT_EQ(simulators::peak_memory(w, programs), (std::vector<double>{0, 20}));
  EXPECT_EQ(simulators::stage_memory(w, 1).during(f0), 10);
  EXPECT_EQ(simulators::stage_memory(w, 1).during(f1), 0);
}

// A pair of a lent key is one more for the helper; the lender's pack still counts all of its own.
TEST(Lend, HoldsPairsWithTheLentKeys) {
  const shape on{.stages = 2, .quantum = {1}};
  const partition packs = row_of_two();
  const memory_rates rates{.live_token = 0, .forward_pair = 100, .backward_pair = 1000};
  workload w = price(packs, costs::quadratic{}, on, std::vector<memory_rates>(2, rates));
  const instruction f0{instruction_kind::forward, {0}}, f1{instruction_kind::forward, {1}};
  const double without = simulators::stage_memory(w, 1).during(f0);
  const double of_lender = simulators::stage_memory(w, 0).during(f1);
  const std::vector<loan> loans = loans_of(packs, on, attention_lending::level, 2).value();
  double lent = 0;
  for (const loan& l : loans)
    if (l.helper.stage == 1 && l.helper.what == f0) lent += l.pairs();
  EXPECT_GT(lent, 0);
  lend(packs, costs::quadratic{}, loans, w);
  EXPECT_EQ(simulators::stage_memory(w, 1).during(f0), without + 100 * lent);
  EXPECT_EQ(simulators::stage_memory(w, 0).during(f1), of_lender);
}

}  // namespace
}  // namespace slimpack::lend_test
