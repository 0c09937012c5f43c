#include <slimpack/pricing/remap/remapping.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::remapping_test {
namespace {

using state = std::vector<int>;  // tokens above the target, per replica

/// The least cost of any sequence of single tokens moved, relays included, from each state to all targets reached:
/// Dijkstra's algorithm from there backwards. No entry leaves [-most, most].
std::map<state, int> least_costs(std::size_t replicas, std::size_t node, int inside, int between, int most) {
  std::map<state, int> least;
  using entry = std::pair<int, state>;
  std::priority_queue<entry, std::vector<entry>, std::greater<>> queue;
  queue.push({0, state(replicas, 0)});
  while (!queue.empty()) {
    const auto [cost, at] = queue.top();
    queue.pop();
    if (!least.emplace(at, cost).second) continue;
    for (std::size_t from = 0; from < replicas; ++from)
      for (std::size_t to = 0; to < replicas; ++to) {
        state next = at;
        if (from == to || ++next[from] > most || --next[to] < -most) continue;
        queue.push({cost + (from / node == to / node ? inside : between), std::move(next)});
      }
  }
  return least;
}

void check_reaches(const remapping& made, std::span<const tokens> held, std::size_t node) {
  std::vector<tokens> after(held.begin(), held.end());
  tokens inside{}, between{};
  for (const moved_tokens& m : made.moves) {
    EXPECT_GT(m.count, tokens{});
    after[m.from] = after[m.from] - m.count, after[m.to] += m.count;
    (m.from / node == m.to / node ? inside : between) += m.count;
  }
  EXPECT_EQ(after, made.target);
  EXPECT_EQ(inside, made.inside);
  EXPECT_EQ(between, made.between);
  EXPECT_LT(made.moves.size(), held.size());
  const auto [least, most] = std::minmax_element(made.target.begin(), made.target.end());
  EXPECT_LE(*most - *least, tokens{1});
}

// Every layout of up to 4 replicas with up to 4 tokens each, nodes of 1, 2 and all, links of three kinds: all matrices
// there are, and every way through third replicas.
TEST(Remapping, CostsNoMoreThanAnyOtherTransfers) {
  int layouts = 0;
  for (const std::size_t replicas : {std::size_t{2}, std::size_t{3}, std::size_t{4}})
    for (const std::size_t node : {std::size_t{1}, std::size_t{2}, replicas})
      for (const auto& [a, b] : {std::pair{1, 1}, {1, 3}, {2, 5}}) {
        const std::map<state, int> least = least_costs(replicas, node, a, b, 4);
        std::vector<tokens> held(replicas);
        for (;;) {
          const remapping made = remapping::of(held, static_cast<std::uint32_t>(node));
          check_reaches(made, held, node);
          state above;
          for (std::size_t r = 0; r < replicas; ++r)
            above.push_back(static_cast<int>((held[r] - made.target[r]).value));
          const std::int64_t cost = a * made.inside.value + b * made.between.value;
          ASSERT_EQ(cost, least.at(above))
              << replicas << " replicas, " << node << " on a node, costs " << a << ", " << b;
          ++layouts;
          std::size_t next = 0;
          while (next < replicas && held[next] == tokens{4}) held[next++] = {0};
          if (next == replicas) break;
          held[next] += tokens{1};
        }
      }
  std::cout << layouts << " layouts, each against every way to reach its targets\n";
}

// a I + b (S - I), S = sum of surpluses, I = sum over nodes of min(surplus, deficit).
TEST(Remapping, HasItsClosedForm) {
  for (std::uint64_t seed = 1; seed <= 500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const auto node = static_cast<std::size_t>(random.between(1, 8));
    std::vector<tokens> held(static_cast<std::size_t>(random.between(1, 40)));
    for (tokens& one : held) one = {random.once_in(4) ? 0 : random.between(0, 100000)};
    const remapping made = remapping::of(held, static_cast<std::uint32_t>(node));
    check_reaches(made, held, node);
    std::int64_t surplus = 0, within = 0;
    for (std::size_t first = 0; first < held.size(); first += node) {
      std::int64_t s = 0, d = 0;
      for (std::size_t r = first; r < std::min(first + node, held.size()); ++r) {
        s += std::max<std::int64_t>(0, (held[r] - made.target[r]).value);
        d += std::max<std::int64_t>(0, (made.target[r] - held[r]).value);
      }
      surplus += s, within += std::min(s, d);
    }
    EXPECT_EQ(made.inside.value, within);
    EXPECT_EQ(made.between.value, surplus - within);
  }
}

TEST(Remapping, MovesNothingWhereAllHaveAsMuch) {
  const std::vector<tokens> held{{7}, {6}, {7}, {7}};
  const remapping made = remapping::of(held, 2);
  EXPECT_TRUE(made.moves.empty());
  EXPECT_EQ(made.target, held) << "those that hold most keep what is left over";
  EXPECT_TRUE(remapping::of(std::span<const tokens>{}).target.empty());
}

TEST(Remapping, StaysInsideANodeFirst) {
  const remapping made = remapping::of(std::vector<tokens>{{40}, {0}, {20}, {20}}, 2);
  EXPECT_EQ(made.moves, (std::vector<moved_tokens>{{0, 1, {20}}}));
  const remapping across = remapping::of(std::vector<tokens>{{40}, {20}, {20}, {0}}, 2);
  EXPECT_EQ(across.moves, (std::vector<moved_tokens>{{0, 3, {20}}}));
  EXPECT_EQ(across.between, tokens{20});
}

}  // namespace
}  // namespace slimpack::remapping_test
