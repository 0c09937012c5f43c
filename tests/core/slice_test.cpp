#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

#include <string>

namespace slimpack::slice_test {
namespace {

TEST(Slice, IsEnteredWhereItsPassComesFrom) {
  const slice s{{0}, {3}, {4}};
  EXPECT_EQ(s.entry(pass::forward), tokens{3});
  EXPECT_EQ(s.exit(pass::forward), tokens{7});
  EXPECT_EQ(s.entry(pass::backward), tokens{7});
  EXPECT_EQ(s.exit(pass::backward), tokens{3});
}

// Tokens 3, 4, 5 and 6 attend to 4, 5, 6 and 7 keys.
TEST(Slice, CountsPairsOfItsTokensAndWhatTheyAttendTo) { EXPECT_EQ((slice{{0}, {3}, {4}}.pairs()), 22); }

TEST(Pass, HasAName) {
  EXPECT_EQ(std::string(name_of(pass::forward)), "forward");
  EXPECT_EQ(std::string(name_of(pass::backward)), "backward");
}

}  // namespace
}  // namespace slimpack::slice_test
