#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/slicer_laws.hpp>

#include "../support/kinds_cost.hpp"
#include "cases.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace slimpack::slicer_laws_test {
namespace {

template <class Slicer>
class SlicerLaws : public ::testing::Test {};

struct uniform_8192 : slicers::uniform {};
struct uniform_off_the_quantum : slicers::uniform {
  uniform_off_the_quantum() : uniform{.at_most = {1000}} {}
};
struct uniform_one_token : slicers::uniform {
  uniform_one_token() : uniform{.at_most = {1}} {}
};

using shipped =
    ::testing::Types<uniform_8192, uniform_off_the_quantum, uniform_one_token, slicers::equal_cost, slicers::whole>;
TYPED_TEST_SUITE(SlicerLaws, shipped);

/// Free but for its launch: every budget of time is either enough for all or for nothing.
struct flat {
  [[nodiscard]] seconds time(const slice&, pass, int) const { return {1}; }
};

TYPED_TEST(SlicerLaws, HoldUnderEveryCostModel) {
  const auto hold = [](const auto& cost, std::uint64_t seed) {
    const testing::report found = testing::slicer_laws(TypeParam{}, cost, {.seed = seed, .cases = tests::cases(30)});
    EXPECT_TRUE(found) << found;
    for (const int law : {1, 2, 3, 4, 5}) EXPECT_GT(found.checks(law), 0) << "law " << law << " was not tried";
  };
  hold(costs::quadratic{}, 1);
  hold(costs::quadratic{.attention = 0}, 2);
  hold(costs::quadratic{.linear = 0, .attention = 1e-9}, 3);
  hold(flat{}, 4);
  testing::generator random(5);
  for (std::uint64_t seed = 5; seed <= 8; ++seed) hold(tests::kinds_cost(random, 8192), seed);
}

}  // namespace
}  // namespace slimpack::slicer_laws_test
