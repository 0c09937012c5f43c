#include <slimpack/solvers/improve/detail/local_search.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace slimpack::evolve_test {
namespace {

/// As far as a front is from 0.7 and a backward size from 1.5.
seconds distance(const detail::partition_rule& of) {
  const double front = of.front - 0.7, size = of.sizes.backward.steady - 1.5;
  return {front * front + size * size};
}

detail::partition_rule start() { return {.sizes = {.backward = {.steady = 0.4}}, .quantum = {128}}; }

TEST(Evolve, ComesNearTheBestRatios) {
  int left = 3000;
  seconds best = distance(start());  // 0.47^2 + 1.1^2 = 1.43
  detail::splitmix random;
  const auto score = [&](const detail::partition_rule& child) -> result<seconds> {
    --left;
    best = std::min(best, distance(child));
    return distance(child);
  };
  detail::evolve(start(), best, 0.3, random, score, [&] { return left == 0; });
  EXPECT_LT(best.value, 1e-3);
}

TEST(Evolve, DoesAgainWhatHelped) {
  int left = 1000;
  detail::partition_rule last = start();
  double gained = 0;  // what the last change did to the front, if it helped
  int again = 0;
  detail::splitmix random;
  const auto score = [&](const detail::partition_rule& child) -> result<seconds> {
    --left;
    const double step = child.front - last.front;
    if (gained != 0) {
      EXPECT_NEAR(step, gained, 1e-12);
      ++again;
    }
    gained = 0;
    if (distance(child) < distance(last)) {
      gained = step;
      last = child;
    }
    return distance(child);
  };
  detail::evolve(start(), distance(start()), 0.3, random, score, [&] { return left == 0; });
  EXPECT_GT(again, 10);
}

TEST(Evolve, LeavesChildrenThatHaveNoPlan) {
  int left = 1000;
  detail::splitmix random;
  double furthest = 0;
  const auto score = [&](const detail::partition_rule& child) -> result<seconds> {
    --left;
    furthest = std::max(furthest, child.front);
    return error{errc::out_of_memory, "none fits"};
  };
  detail::evolve(start(), distance(start()), 0.3, random, score, [&] { return left == 0; });
  EXPECT_LE(furthest, 0.23 + 0.3 * 0.3);  // one change of the parent's front, of 0.3 times the first step at most
}

}  // namespace
}  // namespace slimpack::evolve_test
