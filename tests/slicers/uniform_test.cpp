#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/uniform.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace slimpack::uniform_test {
namespace {

using slicers::uniform;

const sequence s{{7}, {1000}};

slice next(const uniform& u, tokens at, pass p, tokens room = {1 << 20}, tokens quantum = {128}) {
  return u.next(s, at, p, {.time = {0}, .size = room, .quantum = quantum, .empty = false}, costs::quadratic{});
}

TEST(UniformSlicer, CutsEveryAtMostTokens) {
  const uniform u{.at_most = {384}};
  EXPECT_EQ(next(u, {0}, pass::forward), (slice{{7}, {0}, {384}}));
  EXPECT_EQ(next(u, {384}, pass::forward), (slice{{7}, {384}, {384}}));
  EXPECT_EQ(next(u, {768}, pass::forward), (slice{{7}, {768}, {232}}));
}

TEST(UniformSlicer, CutsAtTheSamePlacesBackward) {
  const uniform u{.at_most = {384}};
  EXPECT_EQ(next(u, {1000}, pass::backward), (slice{{7}, {768}, {232}}));
  EXPECT_EQ(next(u, {768}, pass::backward), (slice{{7}, {384}, {384}}));
  EXPECT_EQ(next(u, {384}, pass::backward), (slice{{7}, {0}, {384}}));
}

TEST(UniformSlicer, RoundsUpToTheQuantum) {
  EXPECT_EQ(next({.at_most = {129}}, {0}, pass::forward).length, tokens{256});
  EXPECT_EQ(next({.at_most = {1}}, {0}, pass::forward).length, tokens{128});
  EXPECT_EQ(next({.at_most = {129}}, {0}, pass::forward, {1 << 20}, {1}).length, tokens{129});
}

TEST(UniformSlicer, GivesNothingRatherThanLess) {
  EXPECT_EQ(next({.at_most = {384}}, {0}, pass::forward, {383}), (slice{{7}, {0}, {0}}));
  EXPECT_EQ(next({.at_most = {384}}, {1000}, pass::backward, {231}), (slice{{7}, {1000}, {0}}));
}

TEST(UniformSlicer, GivesShortSequencesWhole) {
  EXPECT_EQ(next({}, {0}, pass::forward), (slice{{7}, {0}, {1000}}));
  EXPECT_EQ(next({}, {1000}, pass::backward), (slice{{7}, {0}, {1000}}));
}

TEST(UniformSlicer, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << uniform{.at_most = {4096}};
  EXPECT_EQ(text.str(), "slicers::uniform{.at_most = {4096}}");
}

}  // namespace
}  // namespace slimpack::uniform_test
