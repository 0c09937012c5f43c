#include <slimpack/costs/kernels/wave_model.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>

namespace slimpack::wave_model_test {
namespace {

using costs::wave_model;

/// Two multiprocessors that need 1 s for 128 queries and a key of a head of size 1, and nothing for all else.
costs::gpu two_processors() {
  costs::gpu g;
  g.multiprocessors = 2;
  g.peak_bf16_flops = 2 * 4 * 128;
  g.memory_bandwidth = 1024;
  g.gemm_efficiency = g.attention_efficiency = 0.5;
  g.backward_attention_ratio = 3;
  return g;
}
constexpr wave_model::attention_constants nothing_else{.launch = {},
                                                       .share = 1,
                                                       .tile_keys = 0,
                                                       .waves = 1,
                                                       .diagonal = 1,
                                                       .key_passes = 0,
                                                       .head_passes = 0,
                                                       .backward_launch = {},
                                                       .backward_cost = 1,
                                                       .backward_tile = 0};
/// And 1 s for a 128 x 128 tile of a product and a k of 1: 2 x 2 x 128 x 128 flop/s.
costs::gpu two_product_processors() {
  costs::gpu g = two_processors();
  g.peak_bf16_flops = 2.0 * 2 * 128 * 128;
  g.memory_bandwidth = 1e60;
  return g;
}
constexpr wave_model::product_constants no_overheads{
    .launch = {}, .share = 1, .tile_depth = 0, .waves = 1, .passes = 1};

seconds forward(const wave_model::attention_constants& with, std::int64_t q, std::int64_t k, int heads,
                int kv_heads = 1) {
  return wave_model(two_processors(), with, {}).attention(pass::forward, {q}, {k}, heads, kv_heads, 1);
}
seconds backward(const wave_model::attention_constants& with, std::int64_t q, std::int64_t k, int heads) {
  return wave_model(two_processors(), with, {}).attention(pass::backward, {q}, {k}, heads, 1, 1);
}
seconds product(const wave_model::product_constants& with, std::int64_t m, std::int64_t n, std::int64_t k) {
  return wave_model(two_product_processors(), {}, with).product(m, n, k);
}

// 3 heads are 3 tiles of 256 keys for 2 multiprocessors: 2 rounds, 512 s. With gaps filled 3 / 2 x 256 = 384 s.
TEST(WaveModel, TilesRunInWholeRounds) {
  EXPECT_EQ(forward(nothing_else, 128, 256, 3), seconds{512});
  wave_model::attention_constants filled = nothing_else;
  filled.waves = 0;
  EXPECT_EQ(forward(filled, 128, 256, 3), seconds{384});
  filled.waves = 0.5;
  EXPECT_EQ(forward(filled, 128, 256, 3), seconds{448});
}

// Tiles of 256 and 128 keys run together: 256 s. Spread evenly they would take (256 + 128) / 2 = 192 s.
TEST(WaveModel, TheLongestTileOfARoundDecides) {
  EXPECT_EQ(forward(nothing_else, 256, 256, 1), seconds{256});
  wave_model::attention_constants filled = nothing_else;
  filled.waves = 0;
  EXPECT_EQ(forward(filled, 256, 256, 1), seconds{192});
}

// 2 tiles, one round: the prefix's 128 keys, and 128 own ones that cost double, and 10 keys of start: 394 s.
TEST(WaveModel, TheDiagonalAndTheStartOfATileCostExtra) {
  wave_model::attention_constants c = nothing_else;
  c.diagonal = 2;
  c.tile_keys = 10;
  EXPECT_EQ(forward(c, 128, 256, 2), seconds{394});
}

// 256 keys of 4 bytes, once for each of 2 key/value heads and twice for each of 4 heads: 1024 x 10 / 1024 B/s = 10 s
// beside 2 rounds of 256 s.
TEST(WaveModel, KeysAndValuesCrossTheMemoryBus) {
  wave_model::attention_constants c = nothing_else;
  c.key_passes = 1;
  c.head_passes = 2;
  EXPECT_EQ(forward(c, 128, 256, 4, 2), seconds{522});
}

// 3 tiles of 128 keys; 128 queries attend to each, the last one's diagonal included: 2 rounds of 128 s, times 2.5, and
// with 32 queries of start for each tile (128 + 32) x 2 x 2.5; its own 128 queries take 32 / 2 more, x 2.5.
TEST(WaveModel, BackwardTilesAreKeys) {
  wave_model::attention_constants c = nothing_else;
  c.backward_cost = 2.5;
  EXPECT_EQ(backward(c, 128, 384, 1), seconds{640});
  c.backward_tile = 32;
  EXPECT_EQ(backward(c, 128, 384, 1), seconds{840});
}

// Forward one tile of 8192 keys keeps one of two multiprocessors busy: 8192 s. Backward has 64 tiles for both: 4096 s.
TEST(WaveModel, ThinSlicesFillTheMachineBackwardOnly) {
  EXPECT_EQ(forward(nothing_else, 128, 8192, 1), seconds{8192});
  EXPECT_EQ(backward(nothing_else, 128, 8192, 1), seconds{4096});
}

/// Rounds of tiles of these works, 128 keys taking 128 s on each of `processors`: one after the other.
template <class Work>
double rounds_one_by_one(std::int64_t kinds, std::int64_t heads, std::int64_t processors, double waves,
                         const Work& work) {
  double all = 0, whole = 0;
  for (std::int64_t i = 0, begun = 0; i < kinds; ++i) {
    const std::int64_t then = ((i + 1) * heads + processors - 1) / processors;
    all += work(i), whole += static_cast<double>(then - begun) * work(i);
    begun = then;
  }
  const double even = all * static_cast<double>(heads) / static_cast<double>(processors);
  return even + waves * (whole - even);
}

TEST(WaveModel, LongSlicesAreTheSumOfTheirTiles) {
  testing::generator random(11);
  for (int trial = 0; trial < 60; ++trial) {
    costs::gpu g = two_processors();
    g.multiprocessors = static_cast<int>(random.between(1, 200));
    g.peak_bf16_flops = 4.0 * 128 * g.multiprocessors;
    const std::int64_t heads = random.between(1, 96), q = random.between(1, 600'000),
                       k = q + random.between(0, 1) * random.between(0, 600'000);
    wave_model::attention_constants c = nothing_else;
    c.waves = 0.7;
    const wave_model model(g, c, {});
    const auto queries = static_cast<double>(q), keys = static_cast<double>(k);
    const double ahead = rounds_one_by_one((q + 127) / 128, heads, g.multiprocessors, c.waves,
                                           [&](std::int64_t i) { return keys - static_cast<double>(128 * i); });
    const double back = rounds_one_by_one((k + 127) / 128, heads, g.multiprocessors, c.waves, [&](std::int64_t i) {
      return std::min(queries, keys - static_cast<double>(128 * i));
    });
    EXPECT_NEAR(model.attention(pass::forward, {q}, {k}, heads, 1, 1).value, ahead, 1e-11 * ahead)
        << q << " of " << k << ", " << heads;
    EXPECT_NEAR(model.attention(pass::backward, {q}, {k}, heads, 1, 1).value, back, 1e-11 * back)
        << q << " of " << k << ", " << heads;
  }
}

// Tiles: 1 and 3 x 1 of 100 s for 2 multiprocessors: 1 and 2 rounds, or 1/2 and 3/2 with the gaps filled.
TEST(WaveModel, ProductsRunInWholeRoundsToo) {
  EXPECT_EQ(product(no_overheads, 128, 128, 100), seconds{100});
  EXPECT_EQ(product(no_overheads, 257, 1, 100), seconds{200});
  wave_model::product_constants filled = no_overheads;
  filled.waves = 0;
  EXPECT_EQ(product(filled, 128, 128, 100), seconds{50});
  EXPECT_EQ(product(filled, 257, 1, 100), seconds{150});
  filled.tile_depth = 20;
  filled.launch = {7};
  EXPECT_EQ(product(filled, 257, 1, 100), seconds{187});
}

// 100 s of compute; 2 (128 x 100 x 2 + 128 x 128) = 83968 bytes in 100 s: the 4th root of twice the 4th power.
TEST(WaveModel, BytesAddToComputeOnlyWhereTheyAreAlike) {
  costs::gpu g = two_product_processors();
  g.memory_bandwidth = 839.68;
  EXPECT_DOUBLE_EQ(wave_model(g, {}, no_overheads).product(128, 128, 100).value, 100 * std::pow(2.0, 0.25));
  g.memory_bandwidth = 8396.8;  // a tenth: 100 (1 + 1e-4)^(1/4)
  EXPECT_DOUBLE_EQ(wave_model(g, {}, no_overheads).product(128, 128, 100).value, 100 * std::pow(1.0001, 0.25));
}

TEST(WaveModel, TimesDoNotFallWhenWorkGrows) {
  constexpr std::uint64_t seed = 17;
  std::cout << "seed " << seed << '\n';
  testing::generator random(seed);
  for (const costs::gpu& g : {costs::gpus::a100(), costs::gpus::h100(), two_processors()}) {
    const wave_model model(g);
    for (int i = 0; i < 400; ++i) {
      const tokens q = random.length({65536});
      const tokens k = q + tokens{random.between(0, 65536)};
      const tokens more{random.between(1, 300)};
      const auto heads = random.between(1, 64);
      for (const pass p : {pass::forward, pass::backward}) {
        const seconds t = model.attention(p, q, k, heads, 1, 128);
        const seconds least{t.value * (1 - 1e-12)};  // sums of thousands of tiles
        EXPECT_GE(model.attention(p, q, k + more, heads, 1, 128), least) << q.value << ' ' << k.value;
        EXPECT_GE(model.attention(p, q + more, k + more, heads, 1, 128), least) << q.value << ' ' << k.value;
        EXPECT_GE(model.attention(p, std::min(q + more, k), k, heads, 1, 128), least) << q.value << ' ' << k.value;
        EXPECT_GE(model.attention(p, q, k, heads + 1, 1, 128), least) << q.value << ' ' << k.value;
      }
      const seconds t = model.product(q.value, k.value, 777);
      EXPECT_GE(model.product(q.value + more.value, k.value, 777), t);
      EXPECT_GE(model.product(q.value, k.value + more.value, 777), t);
      EXPECT_GE(model.product(q.value, k.value, 777 + more.value), t);
    }
  }
}

// attention_efficiency is that of long sequences: the model's constants must add up to it.
TEST(WaveModel, SustainsWhatTheDataSheetFiguresSay) {
  for (const costs::gpu& g : {costs::gpus::a100(), costs::gpus::h100()}) {
    const wave_model model(g);
    const double flops = 4.0 * 128 * 32 * 16384 * (16384 + 1) / 2;
    const double rate = flops / model.attention(pass::forward, {16384}, {16384}, 32, 8, 128).value;
    EXPECT_NEAR(rate / g.peak_bf16_flops, g.attention_efficiency, 0.05) << g.name;
    const double products = 2.0 * 8192 * 8192 * 8192 / model.product(8192, 8192, 8192).value;
    EXPECT_NEAR(products / g.peak_bf16_flops, g.gemm_efficiency, 0.05) << g.name;
  }
}

}  // namespace
}  // namespace slimpack::wave_model_test
