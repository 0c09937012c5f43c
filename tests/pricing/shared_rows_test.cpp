#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::shared_rows_test {
namespace {

/// Two replicas share 16 tokens in two rows of 8: the first has [0, 2) and [6, 8) of a row, the second [2, 6).
struct example {
  std::vector<partition> packs{2};
  std::vector<merge> merges{{{0}, {0, 1}, {{{0}, {0}}, {{1}, {1}}}, {{{0}, {0}}, {{1}, {1}}}}};

  example() {
    for (const pass p : both_passes)
      for (const std::int64_t run : {0, 8}) {
        const std::int64_t row = p == pass::forward ? run : 8 - run;
        packs[0].of(p).append({{0}, {row + (p == pass::forward ? 0 : 6)}, {2}});
        packs[0].of(p).append({{0}, {row + (p == pass::forward ? 6 : 0)}, {2}});
        packs[1].of(p).append({{0}, {row + 2}, {4}});
        for (partition& one : packs) one.of(p).close();
      }
  }
  [[nodiscard]] std::vector<shared_row> rows(std::uint32_t replica) const {
    return simulators::shared_rows(merges, [&](std::uint32_t r) -> const partition& { return packs[r]; }, replica);
  }
};

TEST(SharedRows, CountTheOthersTokensThatOneAttendsTo) {
  const example e;
  std::vector<std::int64_t> first, second, ends;
  for (const shared_row& row : e.rows(0)) first.push_back(row.others.value), ends.push_back(row.end.value);
  for (const shared_row& row : e.rows(1)) second.push_back(row.others.value);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{8, 16, 16, 8}));
  EXPECT_EQ(first, (std::vector<std::int64_t>{4, 4, 4, 4}));
  EXPECT_EQ(second, (std::vector<std::int64_t>{4, 2, 2, 4})) << "[14, 16) comes after the second one's last token";
}

TEST(SharedRows, SayWhereTheyBeginAndWhatIsSent) {
  const example e;
  std::vector<std::int64_t> begins, first, second;
  for (const shared_row& row : e.rows(0)) begins.push_back(row.begin.value), first.push_back(row.sent.value);
  for (const shared_row& row : e.rows(1)) second.push_back(row.sent.value);
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 8, 8, 0}));
  EXPECT_EQ(first, (std::vector<std::int64_t>{4, 2, 2, 4})) << "[14, 16) is needed by nobody";
  EXPECT_EQ(second, (std::vector<std::int64_t>{4, 4, 4, 4}));
}

TEST(SharedRows, KeepNothingOfOthersWhereQueriesTravel) {
  example e;
  e.merges[0].exchange = exchange::queries;
  for (const shared_row& row : e.rows(1)) {
    EXPECT_EQ(row.exchange, exchange::queries);
    EXPECT_EQ(row.others, tokens{0});
    EXPECT_EQ(row.sent, tokens{0});
  }
}

// 3.5 bytes are 4 whole ones: 4 x 4 after the first row, 4 x 6 after the second; backward releases 4 x 2, then 4 x 4.
TEST(SharedRows, AreKeptFromForwardToBackward) {
  const example e;
  const shape on{.replicas = 2, .quantum = {2}};
  const std::vector<memory_rates> rates{{.gradient_token = 1, .other_token = 3.5}};
  const workload w = price(e.packs[1], costs::quadratic{}, on, rates, weight_gradients::with_inputs, e.rows(1));
  EXPECT_EQ(w.forward.kept, (std::vector<double>{0, 16, 24}));
  EXPECT_EQ(w.backward.kept, (std::vector<double>{0, 8, 24}));
  // Accumulators: 8 tokens of its own and 6 of the other's, of which the first backward row closes 4 and 2.
  EXPECT_EQ(w.gradient_running, (std::vector<std::int64_t>{14, 8}));
  EXPECT_EQ(w.gradient_before, (std::vector<std::int64_t>{0, 8, 0}));
}

}  // namespace
}  // namespace slimpack::shared_rows_test
