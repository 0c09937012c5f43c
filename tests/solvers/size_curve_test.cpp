#include <slimpack/solvers/pack/partition_rule.hpp>

#include <gtest/gtest.h>

namespace slimpack::size_curve_test {
namespace {

/// Ratios that are easy to work with by hand.
constexpr solvers::size_ratios ratios{
    .steady = 0.5, .ramp_least = 1, .fill = 2, .drain = 1, .turn_least = 0.5, .before = 1, .after = 2};

/// 10,000 s of work on three stages; a share is 1,000 s, a quantum 10 s. Ramps fill at 2 / 2 and drain at 1 / 2.
constexpr detail::size_curve::terms three_stages{.total = 10'000, .share = 1'000, .grain = 10, .depth = 2};

TEST(SizeCurve, GrowsWhileThePipelineFillsAndShrinksWhileItDrains) {
  detail::size_curve size(ratios, three_stages);
  EXPECT_EQ(size(seconds{0}), seconds{10});       // one quantum
  EXPECT_EQ(size(seconds{100}), seconds{110});    // 10 + 1 x 100
  EXPECT_EQ(size(seconds{5'000}), seconds{500});  // 0.5 x 1000
  EXPECT_EQ(size(seconds{9'800}), seconds{110});  // 10 + 0.5 x 200
  EXPECT_EQ(size(seconds{10'000}), seconds{10});
}

//  the turn at 5000 leaves 0.4 of the room: 0.5 x 0.4 x 1000 = 200; before it 1 / 2 of the distance more, after it 2 /
//  2
TEST(SizeCurve, ShrinksTowardsATurn) {
  detail::size_curve size(ratios, three_stages);
  size.turn(5'000, 0.4);
  EXPECT_EQ(size(seconds{4'800}), seconds{300});
  EXPECT_EQ(size(seconds{5'000}), seconds{200});
  EXPECT_EQ(size(seconds{5'100}), seconds{300});
  EXPECT_EQ(size(seconds{6'000}), seconds{500});
}

//  the first turn alone would allow 450, but must shrink towards the second: 100 + (4200 - 4000) / 2 = 200
TEST(SizeCurve, LooksAheadToTheTurnThatIsNarrower) {
  detail::size_curve size(ratios, three_stages);
  size.turn(4'000, 0.9);
  size.turn(4'200, 0.2);
  EXPECT_EQ(size(seconds{4'000}), seconds{200});
  EXPECT_EQ(size(seconds{4'200}), seconds{100});
}

TEST(SizeCurve, IsSteadyOnOneStage) {
  detail::size_curve size(ratios, {.total = 10'000, .share = 1'000, .grain = 10});
  size.turn(5'000, 0);
  for (const double x : {0.0, 5'000.0, 10'000.0}) EXPECT_EQ(size(seconds{x}), seconds{500}) << x;
}

//  o = 50: slopes are 1 + 20 x 50 / 1000 = twice as steep, turns 20 x 50 = 1000 s of share wider
TEST(SizeCurve, MakesFewerPacksWhereTheyCostMoreBesides) {
  detail::size_curve::terms costly = three_stages;
  costly.overhead = 50;
  detail::size_curve size(ratios, costly);
  size.turn(5'000, 0.4);
  EXPECT_EQ(size(seconds{100}), seconds{210});    // 10 + 2 x 100
  EXPECT_EQ(size(seconds{5'000}), seconds{400});  // 0.5 x 0.4 x (1000 + 1000)
}

TEST(SizeCurve, KeepsPacksFewOutsideOfRamps) {
  detail::size_curve::terms few = three_stages;
  few.least = 800;
  detail::size_curve size(ratios, few);
  EXPECT_EQ(size(seconds{100}), seconds{110});
  EXPECT_EQ(size(seconds{5'000}), seconds{800});
}

}  // namespace
}  // namespace slimpack::size_curve_test
