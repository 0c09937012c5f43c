#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/pack/sequence_orders.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::sequence_orders_test {
namespace {

using detail::sequence_orders;

std::vector<std::uint32_t> ids(const std::vector<sequence>& order) {
  std::vector<std::uint32_t> found;
  for (const sequence& s : order) found.push_back(s.id.value);
  return found;
}

std::size_t place_of(const std::vector<sequence>& order, sequence_id s) {
  return static_cast<std::size_t>(
      std::find_if(order.begin(), order.end(), [&](const sequence& other) { return other.id == s; }) - order.begin());
}

// Of 1, 2, 3, 4 and 5 tokens a front of a half has the second and the fourth, and the others come from behind.
TEST(SequenceOrders, HaveTheLongestBetweenShortOnes) {
  const std::vector<tokens> lengths{{4}, {1}, {5}, {2}, {3}};
  const sequence_orders orders(batch_view(lengths).sequences());
  using order = std::vector<std::uint32_t>;
  EXPECT_EQ(ids(orders.of(0).forward), (order{2, 0, 4, 3, 1}));
  EXPECT_EQ(ids(orders.of(1).forward), (order{1, 3, 4, 0, 2}));
  EXPECT_EQ(ids(orders.of(0.5).forward), (order{1, 4, 2, 0, 3}));
  for (const double front : {0.0, 0.3, 0.5, 1.0}) EXPECT_EQ(orders.of(front).forward, orders.of(front).backward);
}

// Lists alone: the order that a rule in one sentence gives, whatever the front.
TEST(SequenceOrders, OfListsRiseUpToTheLongestAndFallBehindIt) {
  for (int seed = 1; seed <= tests::cases(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(static_cast<std::uint64_t>(seed));
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 20); n > 0; --n) lengths.push_back(random.length({64}));
    const std::vector<sequence> all = batch_view(lengths).sequences();
    const double front = random.ratio();
    const std::vector<sequence> order = sequence_orders(all).of(front).forward;
    EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), all.begin(), all.end()));
    std::size_t peak = 0;
    while (peak + 1 < order.size() && order[peak].length <= order[peak + 1].length) ++peak;
    for (std::size_t k = peak; k + 1 < order.size(); ++k) EXPECT_GE(order[k].length, order[k + 1].length);
    for (const sequence& s : all) EXPECT_TRUE(sequence_orders(all).ends_path(s));
  }
}

/// The tokens of a sequence and of all that go on behind it.
std::int64_t subtree(const std::vector<sequence>& all, sequence_id s) {
  std::int64_t sum = all[s.value].length.value;
  for (const sequence& other : all)
    if (other.parent == s) sum += subtree(all, other.id);
  return sum;
}
bool is_below(const std::vector<sequence>& all, sequence_id s, sequence_id top) {
  return s == top || (!all[s.value].is_root() && is_below(all, all[s.value].parent, top));
}

TEST(SequenceOrders, AreDepthFirstWithSiblingsInOneOrder) {
  int forks = 0;
  for (int seed = 1; seed <= tests::cases(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(static_cast<std::uint64_t>(seed));
    const forest batch = testing::trial_forest(random, random.between(1, 16), {64});
    const std::vector<sequence> all = batch_view(batch).sequences();
    const sequence_orders orders(all);
    const by_pass<std::vector<sequence>> order = orders.of(random.once_in(3) ? 0.5 : random.ratio());
    for (const pass p : both_passes)
      EXPECT_TRUE(std::is_permutation(order[p].begin(), order[p].end(), all.begin(), all.end()));
    for (const sequence& s : all) {
      std::vector<sequence_id> children;
      std::size_t below = 0;
      for (const sequence& other : all) {
        if (other.parent == s.id) children.push_back(other.id);
        below += is_below(all, other.id, s.id);
      }
      EXPECT_EQ(orders.ends_path(s), children.empty());
      // All below it stand in one piece: behind it forward, before it backward.
      const std::size_t there = place_of(order.forward, s.id), back = place_of(order.backward, s.id);
      for (std::size_t k = 0; k < below; ++k) {
        EXPECT_TRUE(is_below(all, order.forward[there + k].id, s.id));
        EXPECT_TRUE(is_below(all, order.backward[back - k].id, s.id));
      }
      const auto comes_first = [&](const std::vector<sequence>& in) {
        return [&](sequence_id a, sequence_id b) { return place_of(in, a) < place_of(in, b); };
      };
      std::vector<sequence_id> in_backward = children;
      std::sort(children.begin(), children.end(), comes_first(order.forward));
      std::sort(in_backward.begin(), in_backward.end(), comes_first(order.backward));
      EXPECT_EQ(children, in_backward);
      // Few tokens at both ends.
      std::size_t peak = 0;
      const auto size = [&](std::size_t k) { return subtree(all, children[k]); };
      while (peak + 1 < children.size() && size(peak) <= size(peak + 1)) ++peak;
      for (std::size_t k = peak; k + 1 < children.size(); ++k) EXPECT_GE(size(k), size(k + 1));
      forks += children.size() > 1;
    }
  }
  EXPECT_GT(forks, tests::cases(50));
}

}  // namespace
}  // namespace slimpack::sequence_orders_test
