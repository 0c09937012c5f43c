#include <slimpack/costs/model/model_shape.hpp>

#include <slimpack/costs/model/detail/layer_products.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/transformer.hpp>

#include "models.hpp"

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

/// 12 layers; every second has experts, and every third a state.
costs::model_shape patterned() {
  model_shape m = tests::tiny_experts();
  m.layers = 12;
  m.mixers = {m.mixer({}),
              {.span = {costs::mixing::lightning},
               .heads = 2,
               .head_dim = 4,
               .value_dim = 4,
               .in = 3 * m.hidden,
               .out = m.hidden}};
  for (int i = 0; i < m.layers; ++i) m.expert_layers.push_back(i % 2 == 1), m.mixer_of.push_back(i % 3 == 2);
  return m;
}

TEST(ModelShape, HasExpertsInTheLayersOfAList) {
  const model_shape m = patterned();
  EXPECT_FALSE(m.is_moe(0));
  EXPECT_TRUE(m.is_moe(1));
  EXPECT_EQ(m.moe_layers(), 6);
  EXPECT_EQ(m.kind(2), costs::layer_kind(false, 1));
  EXPECT_EQ(m.kind(5), costs::layer_kind(true, 1));
  model_shape dense = m;
  dense.experts = 0;
  EXPECT_EQ(dense.moe_layers(), 0);
  EXPECT_EQ((model_shape{.layers = 5, .experts = 4, .dense_layers = 2}.moe_layers()), 3);
}

TEST(ModelShape, HasTheWeightsOfEachKindOfItsLayers) {
  const model_shape m = patterned();
  const double h = static_cast<double>(m.hidden), q = m.heads * static_cast<double>(m.head_dim),
               k = m.kv_heads * static_cast<double>(m.head_dim);
  const double attention = h * (2 * q + 2 * k), state = 4 * h * h;
  const double mlp = 3 * h * static_cast<double>(m.intermediate), moe = 4 * 3 * h * 8 + 4 * h;
  const double all = 8 * attention + 4 * state + 6 * mlp + 6 * moe + 2 * h * static_cast<double>(m.vocabulary);
  EXPECT_EQ(costs::parameters(m), all);
  // Two of four experts are active, and of the embedding and the head the head.
  EXPECT_EQ(costs::active_parameters(m), all - 6 * 2 * 3 * h * 8 - h * static_cast<double>(m.vocabulary));
}

TEST(ModelShape, HasSharedExpertsOfAWidthOfTheirOwn) {
  model_shape shared = tests::tiny_experts(), wide = shared;
  shared.shared_experts = 3, wide.shared_intermediate = 24;
  EXPECT_EQ(shared.shared_width(), 24);
  for (const int expert : {1, 2}) {
    const costs::layer a = costs::layer::of(shared, true, 2, expert, 1.25),
                       b = costs::layer::of(wide, true, 2, expert, 1.25);
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.linear_flops, b.linear_flops);
    EXPECT_EQ(a.feed_forward, b.feed_forward);
    EXPECT_EQ(detail::products_of(shared, true, 2, expert).size(), detail::products_of(wide, true, 2, expert).size());
  }
  wide.shared_intermediate = 20;  // two and a half experts
  EXPECT_EQ(costs::layer::of(shared, true, 1).weights - costs::layer::of(wide, true, 1).weights,
            3.0 * 4 * static_cast<double>(wide.hidden));
}

TEST(ModelShape, HasProductsOfTheFlopsOfEachKind) {
  model_shape m = patterned();
  m.shared_intermediate = 20, m.output_gate = true;
  for (const costs::layer_kind kind : {costs::layer_kind{}, {true, 0}, {false, 1}, {true, 1}}) {
    double flops = 0;
    for (const detail::layer_product& p : detail::products_of(m, kind, 1))
      flops += 2 * p.rows * static_cast<double>(p.n) * static_cast<double>(p.k);
    EXPECT_DOUBLE_EQ(flops, costs::layer::of(m, kind, 1).linear_flops) << kind.moe << kind.mixer;
  }
}

/// The least seconds of a sequence on one stage of all layers.
double time_of(const model_shape& m) {
  const costs::transformer cost = costs::transformer::sheet(m, costs::gpus::h100(), {}, {}).value();
  return (cost.least({{}, {0}, tokens{4096}}, pass::forward, 0) +
          cost.least({{}, {0}, tokens{4096}}, pass::backward, 0))
      .value;
}

TEST(ModelShape, IsPricedByTheKindsOfItsLayersInAnyOrder) {
  model_shape first = tests::mixtral_8x7b();
  first.layers = 6, first.dense_layers = 3;
  model_shape mixed = first;
  mixed.dense_layers = 0, mixed.expert_layers = {true, false, true, false, false, true};
  EXPECT_NEAR(time_of(mixed), time_of(first), 1e-12 * time_of(first));
  mixed.expert_layers[1] = true;
  EXPECT_GT(time_of(mixed), 1.01 * time_of(first));
  model_shape stateful = first;
  stateful.mixers = {{.span = {costs::mixing::lightning}, .in = 8 * first.hidden, .out = 8 * first.hidden},
                     first.mixer({})};
  stateful.mixer_of = {0, 1, 1, 1, 1, 1};
  EXPECT_GT(time_of(stateful), 1.01 * time_of(first));
}

}  // namespace
}  // namespace slimpack::model_shape_test
