#include <slimpack/core/slice.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
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
    return simulators::shared_rows(
        merges, [&](std::uint32_t r) -> const partition& { return packs[r]; }, replica);
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

/// Sharers that have random tokens of random rows, and none of some.
struct scattered {
  std::vector<std::vector<std::uint32_t>> owner_of;  // by row and token of it
  std::vector<partition> packs;
  std::vector<merge> merges;

  explicit scattered(testing::generator& random) : packs(static_cast<std::size_t>(random.between(2, 6))) {
    merge& m = merges.emplace_back();
    for (std::uint32_t k = 0; k < packs.size(); ++k) m.replicas.push_back(k);
    for (std::int64_t rows = random.between(1, 5); rows > 0; --rows) {
      std::vector<std::uint32_t>& row = owner_of.emplace_back(static_cast<std::size_t>(random.between(1, 30)));
      const std::int64_t mean = random.between(1, 8);
      for (std::size_t t = 0; t < row.size(); ++t)
        row[t] = t > 0 && !random.once_in(mean)
                     ? row[t - 1]
                     : static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(packs.size()) - 1));
    }
    for (const pass p : both_passes)
      for (std::size_t turn = 0; turn < owner_of.size(); ++turn) {
        const std::size_t r = p == pass::forward ? turn : owner_of.size() - 1 - turn;
        std::vector<pack_id>& of_row = m.of(p).emplace_back(packs.size(), merge::none);
        for (std::uint32_t k = 0; k < packs.size(); ++k) {
          micropacks& to = packs[k].of(p);
          if (std::ranges::count(owner_of[r], k) == 0) continue;
          of_row[k] = {static_cast<std::uint32_t>(to.size())};
          for (std::size_t t = 0; t < owner_of[r].size();) {
            const std::size_t begin = t++;
            while (t < owner_of[r].size() && owner_of[r][t] == owner_of[r][begin]) ++t;
            if (owner_of[r][begin] == k)
              to.append(
                  {{0}, {begin_of(r) + static_cast<std::int64_t>(begin)}, {static_cast<std::int64_t>(t - begin)}});
          }
          to.close();
        }
      }
  }
  [[nodiscard]] std::int64_t begin_of(std::size_t row) const {
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < row; ++r) begin += static_cast<std::int64_t>(owner_of[r].size());
    return begin;
  }
  /// Behind a sharer's last token, beyond which it attends to nothing.
  [[nodiscard]] std::int64_t last_of(std::uint32_t sharer) const {
    std::int64_t last = 0;
    for (std::size_t r = 0; r < owner_of.size(); ++r)
      for (std::size_t t = 0; t < owner_of[r].size(); ++t)
        if (owner_of[r][t] == sharer) last = begin_of(r) + static_cast<std::int64_t>(t) + 1;
    return last;
  }
  /// Token by token: of a row, what a sharer attends to of the others, and how often its own are sent to one.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> counted(std::size_t r, std::uint32_t sharer) const {
    std::int64_t others = 0, sent = 0;
    for (std::size_t t = 0; t < owner_of[r].size(); ++t) {
      const std::int64_t token = begin_of(r) + static_cast<std::int64_t>(t);
      if (owner_of[r][t] != sharer) others += token < last_of(sharer) ? 1 : 0;
      for (std::uint32_t to = 0; to < packs.size() && owner_of[r][t] == sharer; ++to)
        if (to != sharer && token < last_of(to)) ++sent;
    }
    return {others, sent};
  }
};

TEST(SharedRows, AreWhatIsCountedTokenByToken) {
  testing::generator random(7);
  for (int n = tests::cases(300); n > 0; --n) {
    const scattered s(random);
    for (std::uint32_t k = 0; k < s.packs.size(); ++k) {
      const std::vector<shared_row> rows = simulators::shared_rows(
          s.merges, [&](std::uint32_t r) -> const partition& { return s.packs[r]; }, k);
      std::size_t at = 0;
      for (const pass p : both_passes) {
        std::vector<std::pair<std::int64_t, std::int64_t>> expected;
        std::int64_t waiting = 0;  // of rows without own tokens: forward for the next own row, backward with the own
                                   // row before
        for (std::size_t turn = 0; turn < s.owner_of.size(); ++turn) {
          const std::size_t r = p == pass::forward ? turn : s.owner_of.size() - 1 - turn;
          const auto [others, sent] = s.counted(r, k);
          if (std::ranges::count(s.owner_of[r], k) > 0)
            expected.emplace_back(others + std::exchange(waiting, 0), sent);
          else if (p == pass::forward)
            waiting += others;
          else if (!expected.empty())
            expected.back().first += others;
        }
        for (const auto& [others, sent] : expected) {
          ASSERT_LT(at, rows.size());
          EXPECT_EQ(rows[at].pass, p);
          EXPECT_EQ(rows[at].others.value, others) << "case " << n << ", sharer " << k << ", row " << at;
          EXPECT_EQ(rows[at++].sent.value, sent) << "case " << n << ", sharer " << k;
        }
      }
      EXPECT_EQ(at, rows.size());
    }
  }
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
  EXPECT_EQ(w.times.kept.forward, (std::vector<double>{0, 16, 24}));
  EXPECT_EQ(w.times.kept.backward, (std::vector<double>{0, 8, 24}));
  // Accumulators: 8 tokens of its own and 6 of the other's, of which the first backward row closes 4 and 2.
  EXPECT_EQ(w.gradient_running, (std::vector<std::int64_t>{14, 8}));
  EXPECT_EQ(w.gradient_before, (std::vector<std::int64_t>{0, 8, 0}));
}

}  // namespace
}  // namespace slimpack::shared_rows_test
