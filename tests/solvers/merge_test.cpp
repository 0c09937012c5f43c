#include <slimpack/solvers/improve/shipped.hpp>

#include "move_sites.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

namespace slimpack::merge_move_test {
namespace {

using solvers::improve::merge;

// The last of forward packs goes, the first of backward ones, and the others grow alike.
TEST(MergeMove, MakesOneFewerOfTheSameTime) {
  detail::splitmix random;
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> there = tests::window::after<merge>({1, 2, 3}, pass::forward, random).times;
    EXPECT_EQ(there, there.size() == 1 ? std::vector<double>{3} : (std::vector<double>{2, 4}));
    const std::vector<double> back = tests::window::after<merge>({3, 1, 2}, pass::backward, random).times;
    EXPECT_EQ(back, back.size() == 1 ? std::vector<double>{4} : (std::vector<double>{2, 4}));
  }
}

TEST(MergeMove, TakesTwoPacksToAsManyAsTheOptionsSay) {
  detail::splitmix random;
  std::set<std::size_t> left;
  for (int i = 0; i < 300; ++i) {
    const tests::window made = tests::window::after<merge>(std::vector<double>(20, 1.0), pass::forward, random,
                                                           {.tuning = {.merged_packs = 5}});
    EXPECT_TRUE(made.wanted);
    left.insert(made.times.size());
    EXPECT_NEAR(std::accumulate(made.times.begin(), made.times.end(), 0.0), static_cast<double>(made.times.size() + 1),
                1e-12);
  }
  EXPECT_EQ(left, (std::set<std::size_t>{1, 2, 3, 4}));
}

TEST(MergeMove, WantsNothingOfTheLastPackOrOfNoTime) {
  detail::splitmix random;
  EXPECT_FALSE(tests::window::after<merge>({2}, pass::forward, random).wanted);
  EXPECT_FALSE(tests::window::after<merge>({0, 0, 0}, pass::forward, random).wanted);
}

}  // namespace
}  // namespace slimpack::merge_move_test
