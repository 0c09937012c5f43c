#include <slimpack/core/micropack.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::micropack_test {
namespace {

std::vector<slice> pack(const micropacks& packs, std::size_t i) { return {packs[i].begin(), packs[i].end()}; }

TEST(Micropacks, KeepPacksInRunOrder) {
  micropacks packs;
  EXPECT_TRUE(packs.empty());
  packs.push({{0}, {0}, {128}});
  packs.push({{1}, {0}, {64}});
  packs.close();
  packs.push({{0}, {128}, {128}});
  packs.close();
  ASSERT_EQ(packs.size(), 2u);
  EXPECT_EQ(pack(packs, 0), (std::vector<slice>{{{0}, {0}, {128}}, {{1}, {0}, {64}}}));
  EXPECT_EQ(pack(packs, 1), (std::vector<slice>{{{0}, {128}, {128}}}));
  EXPECT_EQ(packs.slices().size(), 3u);
  EXPECT_EQ(size_of(packs[0]), tokens{192});
}

TEST(Micropacks, MergeSlicesThatTouch) {
  micropacks packs;
  packs.push({{0}, {0}, {128}});
  packs.push({{0}, {128}, {128}});
  packs.close();
  EXPECT_EQ(pack(packs, 0), (std::vector<slice>{{{0}, {0}, {256}}}));
  packs.push({{0}, {384}, {128}});  // backward, from the end
  packs.push({{0}, {256}, {128}});
  packs.close();
  EXPECT_EQ(pack(packs, 1), (std::vector<slice>{{{0}, {256}, {256}}}));
}

TEST(Micropacks, DoNotMergeOtherSequencesGapsOrClosedPacks) {
  micropacks packs;
  packs.push({{0}, {0}, {128}});
  packs.push({{1}, {128}, {128}});
  packs.push({{1}, {384}, {128}});
  packs.close();
  packs.push({{1}, {512}, {128}});
  packs.close();
  EXPECT_EQ(packs[0].size(), 3u);
  EXPECT_EQ(packs[1].size(), 1u);
}

TEST(Micropacks, KeepAppendedSlicesApart) {
  micropacks packs;
  packs.append({{0}, {0}, {128}});
  packs.append({{0}, {128}, {128}});
  packs.close();
  EXPECT_EQ(pack(packs, 0), (std::vector<slice>{{{0}, {0}, {128}}, {{0}, {128}, {128}}}));
}

TEST(Micropacks, KeepNoPackWithoutSlices) {
  micropacks packs;
  packs.close();
  packs.push({{0}, {0}, {1}});
  packs.close();
  packs.close();
  EXPECT_EQ(packs.size(), 1u);
}

TEST(Micropacks, AreEmptyAgainOnceCleared) {
  micropacks packs;
  packs.push({{0}, {0}, {1}});
  packs.close();
  packs.clear();
  EXPECT_EQ(packs, micropacks{});
}

TEST(Partition, GivesThePacksOfAPass) {
  partition both;
  both.forward.push({{0}, {0}, {1}});
  both.forward.close();
  EXPECT_EQ(&both.of(pass::forward), &both.forward);
  EXPECT_EQ(&both.of(pass::backward), &both.backward);
  EXPECT_NE(both, partition{});
}

}  // namespace
}  // namespace slimpack::micropack_test
