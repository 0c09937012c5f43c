#include <slimpack/costs/quadratic.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include "cases.hpp"

#include <gtest/gtest.h>

namespace slimpack {
namespace {

template <class Cost>
class CostModelLaws : public ::testing::Test {};

struct default_quadratic : costs::quadratic {};
struct costly_packs : costs::quadratic {
  costly_packs() : quadratic{.per_pack = {6.4e-5}, .hop = {2.4e-5}} {}
};
struct attention_only : costs::quadratic {
  attention_only() : quadratic{.linear = 0, .attention = 1, .backward_attention = 5} {}
};

using shipped = ::testing::Types<default_quadratic, costly_packs, attention_only>;
TYPED_TEST_SUITE(CostModelLaws, shipped);

TYPED_TEST(CostModelLaws, Hold) {
  const testing::report found = testing::cost_model_laws(TypeParam{}, 4, {.cases = tests::cases(100)});
  EXPECT_TRUE(found) << found;
  for (const int law : {1, 2, 3, 4, 5}) EXPECT_GT(found.checks(law), 0) << "law " << law << " was not tried";
}

}  // namespace
}  // namespace slimpack
