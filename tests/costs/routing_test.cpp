#include <slimpack/costs/model/model_shape.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace slimpack::routing_test {
namespace {

using costs::routing;

TEST(Routing, HasOneFactorForAllLayersOrOneForEach) {
  EXPECT_EQ(routing{.imbalance = 1.5}.of_layer(57), 1.5);
  const routing measured{.imbalance = 9, .imbalances = {1.25, 2}};
  EXPECT_EQ(measured.of_layer(0), 1.25);
  EXPECT_EQ(measured.of_layer(1), 2);
  EXPECT_THROW(static_cast<void>(measured.of_layer(2)), std::out_of_range);
}

// 1 + MaxVio_global of table 2 of arXiv:2408.15664.
TEST(Routing, IsNearlyEvenAndNothingIsHiddenUnlessSaid) {
  EXPECT_EQ(routing{}, (routing{.imbalance = 1.04, .overlap = 0, .nodes = 0}));
}

}  // namespace
}  // namespace slimpack::routing_test
