#include <slimpack/solvers/milp/model.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::milp_model_test {
namespace {

using detail::linear_sum;
using detail::milp_model;

TEST(MilpModel, SumsAreWorthTheirTerms) {
  milp_model model;
  const linear_sum x = model.number(0, 10);
  const linear_sum y = model.binary();
  EXPECT_EQ((2 * (x + 3) - y).at({4, 1}), 2 * (4 + 3) - 1);
  EXPECT_EQ(model.columns()[0].high, 10);
  EXPECT_TRUE(model.columns()[1].integer);
}

// x + x + 1 >= y + x - 2 is x - y >= -3: each variable once, constants on the right.
TEST(MilpModel, RowsNameEachVariableOnce) {
  milp_model model;
  const linear_sum x = model.number(0, 10);
  const linear_sum y = model.binary();
  model.at_least(x + x + 1, y + x - 2);
  ASSERT_EQ(model.rows().size(), 1u);
  const milp_model::row& row = model.rows()[0];
  ASSERT_EQ(row.terms.size(), 2u);
  EXPECT_EQ(row.terms[0].factor, 1);
  EXPECT_EQ(row.terms[1].variable, 1);
  EXPECT_EQ(row.terms[1].factor, -1);
  EXPECT_EQ(row.low, -3);
}

TEST(MilpModel, RowsWithoutVariablesAreLeftOut) {
  milp_model model;
  const linear_sum x = model.number(0, 10);
  model.at_least(x + 5, x);
  EXPECT_TRUE(model.rows().empty());
}

}  // namespace
}  // namespace slimpack::milp_model_test
