#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/shapes/with_even_stages.hpp>

#include "../costs/models.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::with_even_stages_test {
namespace {

// Logits keep the last of several stages busy, so it gets fewer layers; one stage has them all.
TEST(WithEvenStages, AddsALayoutWhereTheLastStageHasFewerLayers) {
  const std::vector<std::vector<tokens>> batches{std::vector<tokens>(8, tokens{4096})};
  const auto cost_of = [](const costs::model_shape& model, const shapes::layout& on) {
    return costs::transformer::sheet(model, costs::gpus::h100(), on.shape,
                                     {.recompute = on.recompute, .layers = on.layers});
  };
  const std::vector<shapes::layout> given{{.shape = {.stages = 1}}, {.shape = {.stages = 4}}};
  const std::vector<shapes::layout> all = shapes::with_even_stages(tests::llama_3_1_8b(), given, batches, cost_of);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], given[0]);
  EXPECT_EQ(all[1], given[1]);
  EXPECT_EQ(all[2].shape, given[1].shape);
  EXPECT_EQ(all[2].layers.size(), 4u);
  EXPECT_LT(all[2].layers.back(), all[2].layers.front());
}

}  // namespace
}  // namespace slimpack::with_even_stages_test
