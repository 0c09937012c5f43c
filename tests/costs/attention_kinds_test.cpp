#include <slimpack/costs/model/attention_kinds.hpp>
#include <slimpack/costs/model/training_flops.hpp>

#include <slimpack/costs/model/training_flops.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace slimpack::attention_kinds_test {
namespace {

using costs::attends;
using costs::attention_kinds;
using costs::attention_span;

/// Counted one by one: keys of token i, from 0.
double pairs_one_by_one(attention_span span, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (span.to == attends::full) sum += static_cast<double>(i + 1);
    if (span.to == attends::window || span.to == attends::top_k)
      sum += static_cast<double>(std::min(i + 1, span.reach));
    if (span.to == attends::chunk) sum += static_cast<double>(i % span.reach + 1);
  }
  return sum;
}

TEST(AttentionKinds, CountPairsAsTokensAttend) {
  for (const attends to : {attends::full, attends::window, attends::chunk, attends::top_k, attends::state})
    for (const std::int64_t reach : {1, 5, 8, 64})
      for (const std::int64_t n : {0, 1, 4, 5, 6, 8, 16, 63, 64, 65, 200})
        EXPECT_EQ((attention_span{to, reach}.pairs(n)), pairs_one_by_one({to, reach}, n))
            << static_cast<int>(to) << " " << reach << " " << n;
}

TEST(AttentionKinds, OfFullLayersAreCountedRight) {
  const std::vector<tokens> lengths{tokens{100}, tokens{7000}};
  const costs::model_shape m = tests::deepseek_v3();
  attention_kinds all;
  EXPECT_EQ(costs::overcount_of(m, all, lengths).total, 1);
  all.layers.resize(61);
  EXPECT_TRUE(all.all_full());
  EXPECT_EQ(costs::overcount_of(m, all, lengths).attention, 1);
  EXPECT_EQ(costs::overcount_of(m, all, lengths).total, 1);
}

TEST(AttentionKinds, AreCountedTooMuchByTheRatioOfTheirOperations) {
  const costs::model_shape m = tests::llama_3_1_8b();
  const std::vector<tokens> lengths{tokens{1000}};
  attention_kinds all;
  all.layers.assign(32, {});
  for (int i = 0; i < 16; ++i) all.layers[static_cast<std::size_t>(i)] = {attends::window, 10};
  const double full = 1000 * 1001 / 2.0, window = 55 + 990 * 10;
  const costs::overcount over = costs::overcount_of(m, all, lengths);
  EXPECT_DOUBLE_EQ(over.attention, 2 * full / (full + window));
  const double spared =
      3 * 16 * (full - window) * 2 * 32 * 256;  // forward and backward, 32 heads, scores and values of 128
  const double counted = costs::training_flops(m, lengths);
  EXPECT_NEAR(over.total, counted / (counted - spared), 1e-12);
  all.layers.assign(32, {attends::state, 0});
  EXPECT_TRUE(std::isinf(costs::overcount_of(m, all, lengths).attention));
}

}  // namespace
}  // namespace slimpack::attention_kinds_test
