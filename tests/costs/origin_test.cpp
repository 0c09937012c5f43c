#include <slimpack/costs/kernels/origin.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

namespace slimpack::origin_test {
namespace {

using costs::origin;

TEST(Origin, ComesFromTheBestToTheLeastKnown) {
  constexpr origin known[]{origin::measured, origin::interpolated, origin::extrapolated, origin::derived,
                           origin::modelled};
  EXPECT_TRUE(std::is_sorted(std::begin(known), std::end(known)));
  EXPECT_EQ(*std::max_element(std::begin(known), std::end(known)), origin::modelled);
  EXPECT_EQ(origin{}, origin::measured);
}

}  // namespace
}  // namespace slimpack::origin_test
