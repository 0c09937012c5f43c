#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>
#include <slimpack/costs/model/training_flops.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::mixer_test {
namespace {

using costs::attention_span;
using costs::mixing;

/// Keys of the token at a place, from 0, counted by what the layer is.
std::int64_t keys_of(const attention_span& span, std::int64_t at) {
  switch (span.how) {
    case mixing::full:
      return at + 1;
    case mixing::window:
    case mixing::top_k:
      return std::min(at + 1, span.reach);
    case mixing::chunks:
      return at % span.reach + 1;
    default:
      return 0;
  }
}

constexpr mixing attending[]{mixing::full, mixing::window, mixing::chunks, mixing::top_k};

TEST(Mixer, CountsPairsOfSlicesAsTheirTokensAttend) {
  for (const mixing how : attending)
    for (const std::int64_t reach : {1, 5, 8, 64})
      for (const std::int64_t begin : {0, 1, 4, 7, 8, 63, 64, 100})
        for (const std::int64_t n : {1, 2, 5, 8, 63, 64, 65, 200}) {
          const attention_span span{how, reach};
          std::int64_t pairs = 0, first = begin;
          for (std::int64_t at = begin; at < begin + n; ++at) {
            pairs += keys_of(span, at);
            first = std::min(first, at + 1 - keys_of(span, at));
          }
          const slice s{{}, {begin}, {n}};
          EXPECT_EQ(span.pairs(s), static_cast<double>(pairs))
              << static_cast<int>(how) << " " << reach << " " << begin << " " << n;
          if (how == mixing::top_k) first = 0;  // they may be any
          EXPECT_EQ(span.seen_before(s).value, begin - first) << static_cast<int>(how) << " " << reach << " " << begin;
        }
  EXPECT_EQ((attention_span{mixing::sampled, 0, 0.25}.pairs({{}, {3}, {4}})), 0.25 * (4 + 5 + 6 + 7));
  EXPECT_EQ((attention_span{mixing::delta}.pairs({{}, {3}, {4}})), 0);
}

TEST(Mixer, CutsSlicesAtTheBordersOfChunks) {
  const attention_span span{mixing::chunks, 8};
  for (std::int64_t begin = 0; begin < 20; ++begin)
    for (std::int64_t n = 1; n < 40; ++n) {
      double pairs = 0, tokens_of_all = 0;
      span.each_chunk({n}, {begin}, [&](double count, tokens queries, tokens prefix) {
        EXPECT_LE((queries + prefix).value, 8);
        pairs += count * slice{{}, prefix, queries}.pairs();
        tokens_of_all += count * static_cast<double>(queries.value);
      });
      EXPECT_EQ(pairs, span.pairs({{}, {begin}, {n}})) << begin << " " << n;
      EXPECT_EQ(tokens_of_all, static_cast<double>(n));
    }
}

// The formulas of the recurrences and of their chunks, with numbers of models that were published.
TEST(Mixer, CountsScansAsTheirFormulas) {
  const costs::mixer nemotron{.span = {mixing::dual},
                              .heads = 256,
                              .kv_heads = 8,
                              .head_dim = 256,
                              .value_dim = 64,
                              .scan = 128,
                              .taps = 4,
                              .convolved = 16384 + 2 * 8 * 256};
  EXPECT_EQ(nemotron.recurrent_flops(), 4.0 * 256 * 64 * 256);
  EXPECT_EQ(nemotron.chunk_flops(), 128.0 * (8 * 256 + 256 * 64));
  EXPECT_EQ(nemotron.state_bytes(), 4.0 * 256 * 64 * 256 + 2.0 * 3 * (16384 + 2 * 8 * 256));
  const costs::mixer qwen{.span = {mixing::delta}, .heads = 32, .kv_heads = 16, .head_dim = 128, .value_dim = 128};
  EXPECT_EQ(qwen.recurrent_flops(), 6.0 * 32 * 128 * 128);
  EXPECT_EQ(qwen.state_bytes(), 4.0 * 32 * 128 * 128);
  const costs::mixer minimax{
      .span = {mixing::lightning}, .heads = 64, .kv_heads = 64, .head_dim = 128, .value_dim = 128, .scan = 256};
  EXPECT_EQ(minimax.recurrent_flops(), 4.0 * 64 * 128 * 128);
  EXPECT_EQ(minimax.chunk_flops(), 256.0 * 64 * 256);
  const costs::mixer jamba{.span = {mixing::selective}, .heads = 8192, .head_dim = 16, .value_dim = 1};
  EXPECT_EQ(jamba.recurrent_flops(), 4.0 * 8192 * 16);
  EXPECT_EQ(jamba.chunk_flops(), 0);
  EXPECT_EQ(costs::mixer{}.recurrent_flops(), 0);
}

/// Llama-3.1-8B with other layers.
costs::model_shape with(std::vector<costs::mixer> mixers) {
  costs::model_shape m = tests::llama_3_1_8b();
  for (int i = 0; i < m.layers; ++i) m.mixer_of.push_back(i % static_cast<int>(mixers.size()));
  m.mixers = std::move(mixers);
  return m;
}

TEST(TrainingFlops, CountWhatEachLayerAttendsTo) {
  const costs::model_shape plain = tests::llama_3_1_8b();
  const std::vector<tokens> lengths{{100}, {70000}};
  costs::mixer full = costs::model_shape::full_attention(plain), window = full, chosen = full;
  window.span = {mixing::window, 128};
  chosen.span = {mixing::top_k, 2048}, chosen.index_heads = 64, chosen.index_width = 128;
  EXPECT_EQ(costs::training_flops(with({full, full}), lengths), costs::training_flops(plain, lengths));
  const double all = 100.0 * 101 / 2 + 70000.0 * 70001 / 2;
  const auto pairs = [](double n, double w) { return n <= w ? n * (n + 1) / 2 : w * (w + 1) / 2 + (n - w) * w; };
  const double pair = 4.0 * 32 * 128, half = plain.layers / 2.0;
  EXPECT_NEAR(costs::training_flops(plain, lengths) - costs::training_flops(with({full, window}), lengths),
              3 * pair * half * (all - pairs(100, 128) - pairs(70000, 128)), 1e-9 * 3 * pair * half * all);
  // An indexer has projections besides, and scores of all pairs.
  const double h = static_cast<double>(plain.hidden), index = h * (64 * 128 + 128 + 64);
  EXPECT_NEAR(costs::training_flops(with({chosen}), lengths),
              costs::training_flops(plain, lengths) + 3 * plain.layers * (2 * index * 70100 + 2.0 * 64 * 128 * all) -
                  3 * pair * plain.layers * (all - pairs(100, 2048) - pairs(70000, 2048)),
              1e-12 * costs::training_flops(plain, lengths));
}

TEST(Layer, OfAMixerOrAnMlpAloneHasOneBlock) {
  costs::model_shape m = with({costs::model_shape::full_attention(tests::llama_3_1_8b()), {.span = {mixing::none}}});
  m.mlp_widths.assign(static_cast<std::size_t>(m.layers), m.intermediate);
  m.mlp_widths[0] = 0;
  const costs::layer attention = costs::layer::of(m, m.kind(0), 2), mlp = costs::layer::of(m, m.kind(1), 2),
                     both = costs::layer::of(m, m.kind(2), 2);
  EXPECT_EQ(attention.blocks + mlp.blocks, both.blocks);
  EXPECT_EQ(attention.weights + mlp.weights, both.weights);
  EXPECT_EQ(attention.linear_flops + mlp.linear_flops, both.linear_flops);
  EXPECT_EQ(mlp.pair_flops, 0);
  EXPECT_EQ(mlp.kv_elements, 0);
  EXPECT_EQ(attention.up_flops, 0);
}

TEST(Layer, ThatPredictsFurtherTokensHasAProjectionOfTwoHiddenStates) {
  costs::model_shape m = tests::llama_3_1_8b();
  m.layers += 1, m.further = 1;
  const costs::layer usual = costs::layer::of(m, m.kind(0), 1), last = costs::layer::of(m, m.kind(m.layers - 1), 1);
  const double h = static_cast<double>(m.hidden);
  EXPECT_EQ(last.weights - usual.weights, 2 * h * h);
  EXPECT_EQ(last.linear_flops - usual.linear_flops, 4 * h * h);
}

}  // namespace
}  // namespace slimpack::mixer_test
