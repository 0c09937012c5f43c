#include <slimpack/costs/model/model_shape.hpp>

#include <gtest/gtest.h>

namespace slimpack::model_shape_test {
namespace {

using costs::model_shape;

TEST(ModelShape, HasExpertsInLayersAfterTheDenseOnes) {
  const model_shape m{.layers = 4, .experts = 8, .dense_layers = 2};
  EXPECT_FALSE(m.is_moe(0));
  EXPECT_FALSE(m.is_moe(1));
  EXPECT_TRUE(m.is_moe(2));
  EXPECT_TRUE(m.is_moe(3));
}

TEST(ModelShape, OfADenseModelHasExpertsInNoLayer) {
  const model_shape m{.layers = 2};
  EXPECT_FALSE(m.is_moe(0));
  EXPECT_FALSE(m.is_moe(1));
}

TEST(ModelShape, IsGatedWithEndsOfItsOwnWhereNothingIsSaid) {
  EXPECT_TRUE(model_shape{}.gated);
  EXPECT_FALSE(model_shape{}.tied);
  EXPECT_EQ(model_shape{}.kv_rank, 0);  // no MLA
  model_shape tied;
  tied.tied = true;
  EXPECT_NE(tied, model_shape{});
}

}  // namespace
}  // namespace slimpack::model_shape_test
