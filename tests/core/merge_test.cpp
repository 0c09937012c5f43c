#include <slimpack/core/merge.hpp>

#include <gtest/gtest.h>

namespace slimpack::merge_test {
namespace {

TEST(Merge, HasTheRowsOfEachPass) {
  merge shared{.sequence = {3}, .replicas = {0, 2}, .forward = {{{5}, {6}}}, .backward = {{{1}, {0}}, {{2}, {4}}}};
  EXPECT_EQ(shared.of(pass::forward).size(), 1u);
  EXPECT_EQ(shared.of(pass::backward)[1][1], pack_id{4});
  shared.of(pass::forward).clear();
  EXPECT_TRUE(shared.forward.empty());
}

TEST(Merge, HasTheLegsOfItsRelays) {
  EXPECT_TRUE(merge{}.legs().empty());
  merge shared;
  shared.relays = {{{0, 1}, {2, 3}, 2}};
  EXPECT_EQ(shared.legs(), legs_in_order(shared.relays));
  EXPECT_EQ(shared.legs().size(), 8u) << "two segments of a strand that crosses, and of one over proxies";
}

}  // namespace
}  // namespace slimpack::merge_test
