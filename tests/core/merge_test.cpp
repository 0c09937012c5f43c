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

}  // namespace
}  // namespace slimpack::merge_test
