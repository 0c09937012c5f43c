#include <slimpack/costs/memory/saved_tensors.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace slimpack::saved_tensors_test {
namespace {

using costs::layer;
using costs::recompute;
using costs::saved_tensor;
using costs::saved_tensors;

/// A table of one tensor.
saved_tensors only(saved_tensor t) { return {.layer = {std::move(t)}}; }

double token_bytes(saved_tensor t, int tensor, bool sequence_parallel = true) {
  return only(std::move(t)).token_bytes(layer::of(tests::tiny(), false, tensor), recompute::none, sequence_parallel);
}

TEST(SavedTensors, KeepByDefaultWhatFlashAttentionAndFusedOperationsKeep) {
  const saved_tensors table = saved_tensors::flash_attention();
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::slimpipe_13b(), tests::slimpipe_70b()}) {
    const auto h = static_cast<double>(m.hidden);
    const auto k = static_cast<double>(m.kv_heads * m.head_dim);
    const auto f = static_cast<double>(m.intermediate);
    for (const int t : {1, 2, 8}) {
      const layer l = layer::of(m, false, t);
      EXPECT_DOUBLE_EQ(table.token_bytes(l, recompute::none, true) * t, 12 * h + 4 * k + 6 * f) << m.name;
      EXPECT_DOUBLE_EQ(table.token_bytes(l, recompute::light, true) * t, 8 * h + 4 * k + 4 * f) << m.name;
      EXPECT_DOUBLE_EQ(table.token_bytes(l, recompute::attention, true) * t, 12 * h + 4 * k + 6 * f) << m.name;
      EXPECT_DOUBLE_EQ(table.token_bytes(l, recompute::selective, true) * t, 8 * h + 4 * k) << m.name;
      EXPECT_DOUBLE_EQ(table.token_bytes(l, recompute::full, true) * t, 2 * h) << m.name;
      EXPECT_DOUBLE_EQ(table.prefix_bytes(l, recompute::full, true) * t, 4 * k) << m.name;
      EXPECT_EQ(table.prefix_bytes(l, recompute::selective, true), 0) << m.name;
      EXPECT_EQ(table.pair_bytes(l, recompute::none), 0) << m.name;
    }
  }
}

// Without a gate, before and after the one non-linearity: 4 f for 6 f. tiny() has h 4, k 2, f 8.
TEST(SavedTensors, LeaveOutTheGateOfAPlainMlp) {
  costs::model_shape m = tests::tiny();
  m.gated = false;
  EXPECT_EQ(saved_tensors::flash_attention().token_bytes(layer::of(m, false, 1), recompute::none, true), 48 + 8 + 32);
}

// Four elements of the hidden width: over two ranks under sequence parallelism, whole without, gathered always whole.
TEST(SavedTensors, ShardTheHiddenWidthUnderSequenceParallelismOnly) {
  EXPECT_EQ(token_bytes({.hidden = 3}, 2, true), 3 * 4 / 2);
  EXPECT_EQ(token_bytes({.hidden = 3}, 2, false), 3 * 4);
  EXPECT_EQ(token_bytes({.gathered = 3}, 2, true), 3 * 4);
}

// Widths of tiny() on two ranks: query and output 2 each, keys and values 4, MLP 4, one head.
TEST(SavedTensors, ShardTheWidthsOfHeadsAndMlpAlways) {
  for (const bool sequence_parallel : {false, true}) {
    EXPECT_EQ(token_bytes({.query = 3}, 2, sequence_parallel), 3 * 2);
    EXPECT_EQ(token_bytes({.key_value = 3}, 2, sequence_parallel), 3 * 4);
    EXPECT_EQ(token_bytes({.output = 3}, 2, sequence_parallel), 3 * 2);
    EXPECT_EQ(token_bytes({.feed_forward = 3}, 2, sequence_parallel), 3 * 4);
    EXPECT_EQ(token_bytes({.gate = 3}, 2, sequence_parallel), 3 * 4);
    EXPECT_EQ(token_bytes({.heads = 3}, 2, sequence_parallel), 3);
  }
}

TEST(SavedTensors, KeepUnderARecomputationWhatIsMarkedForIt) {
  const layer l = layer::of(tests::tiny(), false, 1);
  const saved_tensors table{.layer = {{.heads = 1, .attention = true},
                                      {.heads = 10, .selective = true},
                                      {.heads = 100, .full = true},
                                      {.heads = 1000},
                                      {.heads = 10000, .light = true}}};
  EXPECT_EQ(table.token_bytes(l, recompute::light, true), 2 * 10100);
  EXPECT_EQ(table.token_bytes(l, recompute::attention, true), 2 * 101);
  EXPECT_EQ(table.token_bytes(l, recompute::selective, true), 2 * 110);
  EXPECT_EQ(table.token_bytes(l, recompute::full, true), 2 * 100);
  EXPECT_EQ(table.token_bytes(l, recompute::none, true), 2 * 11111);
}

// What later slices read is kept under any recomputation: beside what that keeps anyway, only the rest of it.
TEST(SavedTensors, KeepWhatLaterSlicesReadOnce) {
  const layer l = layer::of(tests::tiny(), false, 1);
  const saved_tensors table{
      .layer = {{.heads = 1, .selective = true, .prefix = true}, {.heads = 10, .prefix = true}, {.heads = 100}}};
  EXPECT_EQ(table.prefix_bytes(l, recompute::none, true), 0);
  EXPECT_EQ(table.prefix_bytes(l, recompute::selective, true), 2 * 10);
  EXPECT_EQ(table.prefix_bytes(l, recompute::full, true), 2 * 11);
  EXPECT_EQ(only({.heads = 1}).prefix_bytes(l, recompute::full, true), 2 * l.kv_elements);
}

TEST(SavedTensors, KnowARecomputationThatKeepsMoreThanFull) {
  const saved_tensors table{.layer = {{.heads = 1, .full = true}, {.heads = 1, .selective = true}}};
  for (const recompute what : costs::all_recompute)
    EXPECT_EQ(table.knows(what), what != recompute::light && what != recompute::attention) << name_of(what);
}

TEST(SavedTensors, CountScoresPerPairAndNotPerToken) {
  const layer l = layer::of(tests::tiny(), false, 1);
  const saved_tensors table = only({.pairs = 5, .selective = true});
  EXPECT_EQ(table.pair_bytes(l, recompute::none), 2 * 5);
  EXPECT_EQ(table.pair_bytes(l, recompute::selective), 2 * 5);
  EXPECT_EQ(table.pair_bytes(l, recompute::attention), 0);
  EXPECT_EQ(table.token_bytes(l, recompute::none, true), 0);
}

}  // namespace
}  // namespace slimpack::saved_tensors_test
