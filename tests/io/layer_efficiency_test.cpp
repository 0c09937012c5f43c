// What the analytic prices take of the tables of layers, made again from these tables by the rule that
// costs/model/gpus.hpp states: the median share of the peak of a layer's products together, on at least 2048 tokens.
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/profile.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace layer_efficiency_test {
namespace {

using namespace slimpack;

std::vector<double> shares_of(const costs::gpu& device) {
  const io::profile own = io::read_profile(data("profiles")).value().of(device.name).value();
  std::vector<double> shares;
  for (const costs::layer_sample& s : own.layers) {
    if (s.tokens < tokens{2048} || !s.attn_pre_proj || !s.attn_post_proj || !s.mlp_up_proj || !s.mlp_down_proj)
      continue;
    const costs::model_shape m{.layers = 1,
                               .hidden = s.hidden,
                               .heads = s.q_heads,
                               .kv_heads = s.kv_heads,
                               .head_dim = s.hidden / s.q_heads,
                               .value_dim = s.hidden / s.q_heads,
                               .intermediate = s.ffn,
                               .gated = true};
    const seconds time = *s.attn_pre_proj + *s.attn_post_proj + *s.mlp_up_proj + *s.mlp_down_proj;
    shares.push_back(costs::layer::of(m, false, s.tensor).linear_flops * static_cast<double>(s.tokens.value) /
                     time.value / device.peak_bf16_flops);
  }
  return shares;
}

TEST(LayerEfficiency, IsTheMedianOfTheShippedTables) {
  for (const auto& [device, rows] : {std::pair{costs::gpus::a100(), 112}, {costs::gpus::h100(), 56}}) {
    std::vector<double> shares = shares_of(device);
    ASSERT_EQ(shares.size(), static_cast<std::size_t>(rows)) << device.name;
    std::sort(shares.begin(), shares.end());
    const double median = (shares[shares.size() / 2] + shares[(shares.size() - 1) / 2]) / 2;
    EXPECT_NEAR(device.layer_efficiency, median, 0.0051) << device.name;     // two digits
    EXPECT_NEAR(median / device.gemm_efficiency, 0.9, 0.01) << device.name;  // what in_layers says of other GPUs
  }
}

}  // namespace
}  // namespace layer_efficiency_test
