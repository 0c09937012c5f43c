#include <slimpack/shapes/even_stages.hpp>

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>

#include "../costs/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace slimpack::layer_times_test {
namespace {

/// Short sequences, so that logits weigh as much as some layers.
const std::vector<std::vector<tokens>> batches{{{4096}, {300}, {6000}}, {{1000}, {128}}};

result<costs::transformer> transformer_on(const costs::model_shape& model, const shapes::layout& on) {
  return costs::transformer::sheet(model, costs::gpus::h100(), on.shape,
                                   {.recompute = on.recompute, .layers = on.layers});
}

/// What all batches take on each stage.
std::vector<double> stage_times(const costs::model_shape& model, const shapes::layout& on) {
  const costs::transformer cost = transformer_on(model, on).value();
  std::vector<double> sum(static_cast<std::size_t>(on.shape.stages));
  for (int part = 0; part < on.shape.parts(); ++part)
    for (const std::vector<tokens>& lengths : batches)
      for (const tokens length : lengths)
        for (const pass p : {pass::forward, pass::backward})
          sum[static_cast<std::size_t>(part % on.shape.stages)] += cost.least({{}, {0}, length}, p, part).value;
  return sum;
}

/// Dense layers first, then layers of experts.
costs::model_shape mixed() {
  costs::model_shape model = tests::mixtral_8x7b();
  model.layers = 12, model.dense_layers = 5;
  return model;
}

/// Experts in every second layer, of the others every second an MLP of a width of its own; full attention, a window, a
/// state and nothing in turn; and a layer that predicts further tokens.
costs::model_shape patterned() {
  costs::model_shape model = tests::mixtral_8x7b();
  model.layers = 13, model.further = 1;
  const costs::mixer full = costs::model_shape::full_attention(model);
  costs::mixer window = full;
  window.span = {costs::mixing::window, 512};
  const std::int64_t wide = 2 * model.hidden;
  const costs::mixer state{.span = {costs::mixing::dual},
                           .heads = 128,
                           .kv_heads = 8,
                           .head_dim = 128,
                           .value_dim = 64,
                           .in = 2 * wide + 2 * 8 * 128 + 128,
                           .out = wide,
                           .scan = 128};
  model.mixers = {full, window, state, {.span = {costs::mixing::none}}};
  for (int i = 0; i < model.layers; ++i) {
    model.expert_layers.push_back(i % 2 == 1), model.mixer_of.push_back(i % 4);
    model.mlp_widths.push_back(i % 4 == 2 ? 0 : model.intermediate);
  }
  return model;
}

// Both passes together are each alone.
TEST(LayerTimes, AreOfThePassesThatAreGiven) {
  const shapes::layout on{{.stages = 2, .tensor = 2}};
  const auto times = [&](std::span<const pass> passes) {
    return shapes::layer_times_of(tests::llama_3_1_8b(), on, batches, transformer_on, passes).value();
  };
  const std::span<const pass> both(both_passes);
  const shapes::layer_times all = times(both), forward = times(both.first(1)), backward = times(both.last(1));
  EXPECT_NEAR(all.last.value, (forward.last + backward.last).value, 1e-9 * all.last.value);
  EXPECT_NEAR(all.layers[3].value, (forward.layers[3] + backward.layers[3]).value, 1e-9 * all.layers[3].value);
  EXPECT_GT(backward.layers[3], forward.layers[3]);
}

TEST(LayerTimes, AddUpToTheTimesOfStages) {
  for (const costs::model_shape& model : {tests::llama_3_1_8b(), tests::mixtral_8x7b(), mixed(), patterned()})
    for (const costs::recompute again : {costs::recompute::none, costs::recompute::selective}) {
      const shapes::layout on{{.stages = 2, .tensor = 2, .chunks = 2}, again, {3, 4, 1, model.layers - 8}};
      const shapes::layer_times times = shapes::layer_times_of(model, on, batches, transformer_on).value();
      ASSERT_EQ(times.layers.size(), static_cast<std::size_t>(model.layers));
      const auto of = [&](int first, int count) {
        double sum = 0;
        for (int i = first; i < first + count; ++i) sum += times.layers[static_cast<std::size_t>(i)].value;
        return sum;
      };
      const std::vector<double> expected = stage_times(model, on);
      EXPECT_NEAR(of(0, 3) + of(7, 1), expected[0], 1e-9 * expected[0]) << model.name;
      EXPECT_NEAR(of(3, 4) + of(8, model.layers - 8) + times.last.value, expected[1], 1e-9 * expected[1]) << model.name;
    }
}

TEST(LayerTimes, TellWhichLayersMakeStagesEven) {
  for (const costs::model_shape& model : {tests::llama_3_1_8b(), mixed()}) {
    shapes::layout on{{.stages = 4}};
    const std::vector<double> plain = stage_times(model, on);
    on.layers = shapes::even_stages(shapes::layer_times_of(model, on, batches, transformer_on).value(), on.shape);
    EXPECT_EQ(std::accumulate(on.layers.begin(), on.layers.end(), 0), model.layers);
    const std::vector<double> even = stage_times(model, on);
    EXPECT_LT(*std::max_element(even.begin(), even.end()), *std::max_element(plain.begin(), plain.end())) << model.name;
  }
}

TEST(LayerTimes, SayWhatTheCostModelRefuses) {
  EXPECT_EQ(
      shapes::layer_times_of(tests::llama_3_1_8b(), {{.stages = 2, .tensor = 3}}, batches, transformer_on).error().code,
      errc::invalid_input);
}

}  // namespace
}  // namespace slimpack::layer_times_test
