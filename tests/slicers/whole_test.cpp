#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/whole.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace slimpack::whole_test {
namespace {

const sequence s{{7}, {1000}};
const costs::quadratic second_a_token{.linear = 1, .attention = 0, .backward_linear = 1};

slice next(seconds time, tokens room, bool empty, pass p = pass::forward) {
  return slicers::whole{}.next(s, p == pass::forward ? tokens{0} : s.length, p,
                               {.time = time, .size = room, .empty = empty}, second_a_token);
}

TEST(WholeSlicer, NeverCuts) {
  EXPECT_EQ(next({1000}, {1000}, false), (slice{{7}, {0}, {1000}}));
  EXPECT_EQ(next({1000}, {1000}, false, pass::backward), (slice{{7}, {0}, {1000}}));
}

TEST(WholeSlicer, GivesNothingThatExceedsThePack) {
  EXPECT_EQ(next({999}, {1000}, false).length, tokens{0});
  EXPECT_EQ(next({1000}, {999}, false).length, tokens{0});
}

TEST(WholeSlicer, GivesAnEmptyPackAnythingThatHasRoom) {
  EXPECT_EQ(next({0}, {1000}, true).length, tokens{1000});
  EXPECT_EQ(next({0}, {999}, true).length, tokens{0});
}

TEST(WholeSlicer, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << slicers::whole{};
  EXPECT_EQ(text.str(), "slicers::whole{}");
}

}  // namespace
}  // namespace slimpack::whole_test
