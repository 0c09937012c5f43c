#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include "cases.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::cost_model_laws_test {
namespace {

template <class Cost>
class CostModelLaws : public ::testing::Test {};

struct default_quadratic : costs::quadratic {};
struct costly_packs : costs::quadratic {
  costly_packs() : quadratic{.per_pack = {6.4e-5}, .hop = {2.4e-5}, .per_call = {3.2e-5}} {}
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

/// Random times at random places, and plenty of them fall.
TEST(ProfiledCostModelLaws, HoldForAnyTable) {
  testing::generator random(9);
  for (int i = tests::cases(5); i > 0; --i) {
    std::vector<costs::profiled::sample> samples;
    for (const pass p : {pass::forward, pass::backward})
      for (int part = 0; part < 2; ++part)
        for (int n = 0; n < 40; ++n) {
          const tokens queries = random.length({16384});
          samples.push_back({p, part, queries, queries + random.length({16384}), {1e-3 + random.ratio()}});
        }
    const costs::profiled cost = costs::profiled::make(samples).value();
    EXPECT_GT(cost.largest_change(), 0);
    const testing::report found = testing::cost_model_laws(cost, 2, {.cases = tests::cases(50), .analytic = false});
    EXPECT_TRUE(found) << found;
    for (const int law : {1, 2, 3, 5}) EXPECT_GT(found.checks(law), 0) << "law " << law << " was not tried";
  }
}

}  // namespace
}  // namespace slimpack::cost_model_laws_test
