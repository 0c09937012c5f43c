#include <slimpack/solvers/improve/shipped.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::reorder_test {
namespace {

using solvers::improve::reorder;

/// The sequences of a pass in order.
std::vector<std::uint32_t> ids(const micropacks& packs) {
  std::vector<std::uint32_t> found;
  for (const slice& s : packs.slices()) found.push_back(s.sequence.value);
  return found;
}

/// Four sequences of a pack each are in one order, but for one of them.
bool moved_one(const std::vector<std::uint32_t>& order) {
  for (std::uint32_t moved = 0; moved < 4; ++moved) {
    std::vector<std::uint32_t> others = order;
    std::erase(others, moved);
    if (std::is_sorted(others.begin(), others.end())) return true;
  }
  return false;
}

// In one pass or in both, each a third of the time; in both they end in the same order.
TEST(Reorder, MovesOneSequenceInOnePassOrInBoth) {
  const std::vector<sequence> own{{{0}, {10}}, {{1}, {10}}, {{2}, {10}}, {{3}, {10}}};
  const std::vector<std::uint32_t> before{0, 1, 2, 3};
  detail::splitmix random;
  const solvers::search_options options;
  int forward = 0, backward = 0, both = 0;
  for (int i = 0; i < 900; ++i) {
    partition packs;
    for (const pass p : both_passes)
      for (const sequence& s : own) packs.of(p).push({s.id, {0}, s.length}), packs.of(p).close();
    solvers::improve::sequence_site at{packs, own, {100}, random, options};
    EXPECT_TRUE(reorder{}(at));
    const std::vector<std::uint32_t> there = ids(packs.forward), back = ids(packs.backward);
    EXPECT_TRUE(moved_one(there));
    EXPECT_TRUE(moved_one(back));
    const bool changed_there = there != before, changed_back = back != before;
    EXPECT_TRUE(!changed_there || !changed_back || there == back);
    (changed_there && changed_back ? both : changed_there ? forward : backward) += changed_there || changed_back;
  }
  // 16 pairs, of which the last before itself and 3 neighbours change nothing: 12/16 of 300 each.
  for (const int count : {forward, backward, both}) EXPECT_NEAR(count, 225, 50);
}

}  // namespace
}  // namespace slimpack::reorder_test
