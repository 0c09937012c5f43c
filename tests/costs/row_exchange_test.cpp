#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/transformer.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace slimpack::row_exchange_test {
namespace {

using costs::recompute;

/// Attention takes 0.1 s a pair of a layer of tests::tiny(), backward three times that; nodes hold two GPUs.
costs::gpu slow_gpu() {
  return {.name = "slow",
          .memory = {1e6},
          .peak_bf16_flops = 1000,
          .memory_bandwidth = 72,
          .multiprocessors = 1,
          .gpus_per_node = 2,
          .gemm_efficiency = 0.288,
          .attention_efficiency = 0.16,
          .backward_attention_ratio = 3,
          .inside = {{0.125}, 16},
          .between = {{0.25}, 4}};
}

/// A replica's head and tail slice of the row [0, 8) that two share: 4 tokens, 1 + 2 + 7 + 8 pairs.
const std::vector<slice> head_and_tail{{{0}, {0}, {2}}, {{0}, {6}, {2}}};

/// What it waits for on part 0, if the row ends at `end` and `sharers` share it.
double waits(const shape& on, pass p, std::int64_t end = 8, std::uint32_t sharers = 2,
             recompute what = recompute::none) {
  const auto cost = costs::transformer::make(tests::tiny(), slow_gpu(), on, {.recompute = what}).value();
  std::vector<std::uint32_t> replicas(sharers);
  std::iota(replicas.begin(), replicas.end(), 0u);
  return cost.exchange({{0}, p, {0}, {end}, replicas}, head_and_tail, p, 0).value;
}

// Two stages of a layer on a node, so replicas are on nodes of their own. Keys and values of 8 tokens, 2 x 4 bytes each,
// half of them a hop: 32 bytes, 8 s, of which attention covers half of 18 pairs, 0.9 s. Backward twice the bytes and three
// times the attention.
TEST(RowExchange, TimesAHopByHand) {
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::forward), 0.25 + 8 - 0.9);
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::backward), 0.25 + 16 - 2.7);
}

// Queries and outputs of 4 tokens are 2 x 8 bytes each, backward 2 x 12: fewer than keys and values of 1,024 tokens.
TEST(RowExchange, SendsQueriesWhereTheyAreFewer) {
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::forward, 1024), 0.25 + 64 / 4.0 - 0.9);
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::backward, 1024), 0.25 + 96 / 4.0 - 2.7);
}

// Of three sharers each has two hops, of a third of the keys, and a third of the attention meanwhile.
TEST(RowExchange, HopsFromSharerToSharer) {
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 3}, pass::forward, 12, 3), 2 * (0.25 + 8 - 0.6));
}

TEST(RowExchange, ExchangesAgainWhatIsComputedAgain) {
  const shape on{.stages = 2, .replicas = 2};
  for (const recompute what : {recompute::attention, recompute::full})
    EXPECT_DOUBLE_EQ(waits(on, pass::backward, 8, 2, what), waits(on, pass::backward) + waits(on, pass::forward));
}

// Both layers on one GPU, both replicas on one node: 2 x (0.125 + 32 / 16) s, less half of 18 pairs of both layers.
TEST(RowExchange, IsQuickerInsideANode) {
  EXPECT_DOUBLE_EQ(waits({.replicas = 2}, pass::forward), 2 * (0.125 + 2) - 1.8);
}

TEST(RowExchange, IsHiddenByEnoughAttention) {
  costs::gpu fast = slow_gpu();
  fast.between = {{0.25}, 1e6};
  const shape on{.stages = 2, .replicas = 2};
  const auto cost = costs::transformer::make(tests::tiny(), fast, on).value();
  const std::vector<std::uint32_t> both{0, 1};
  EXPECT_EQ(cost.exchange({{0}, pass::forward, {0}, {8}, both}, head_and_tail, pass::forward, 0), seconds{0.25});
}

// Over links so slow that attention covers nothing to speak of, measured times of it give what its operations do.
TEST(RowExchange, IsAlikeForMeasuredTimesAndForOperations) {
  costs::gpu far = costs::gpus::h100();
  far.between.bandwidth = 1e6;
  const shape on{.stages = 4, .replicas = 4, .tensor = 2};
  const std::vector<std::uint32_t> replicas{1, 2, 3};
  const std::vector<slice> mine{{{7}, {4096}, {512}}, {{7}, {8192 - 512}, {512}}};
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::deepseek_v3()}) {
    for (const recompute what : {recompute::none, recompute::full}) {
      const auto counted = costs::transformer::make(m, far, on, {.recompute = what}).value();
      for (const double exposed : {1.0, 1.3}) {
        const costs::kernel_times kernels{costs::wave_model(far)};
        const auto measured = costs::profiled_of(m, on, kernels, costs::network(far),
                                                 {.recompute = what, .slowdown = {.exposed = exposed}, .longest = {65536}})
                                  .value();
        for (const pass p : {pass::forward, pass::backward})
          for (int part = 0; part < 4; ++part) {
            const shared_row row{{7}, p, {0}, {8192}, replicas};
            EXPECT_NEAR(measured.exchange(row, mine, p, part) / counted.exchange(row, mine, p, part), exposed, 0.02)
                << m.name << ", part " << part;
          }
      }
    }
  }
}

TEST(RowExchange, IsNotKnownOfSamplesAlone) {
  std::vector<costs::profiled::sample> samples;
  for (const pass p : {pass::forward, pass::backward}) samples.push_back({p, 0, {8}, {8}, {1.0}});
  const std::vector<std::uint32_t> both{0, 1};
  const auto cost = costs::profiled::make(samples).value();
  EXPECT_EQ(cost.exchange({{0}, pass::forward, {0}, {8}, both}, head_and_tail, pass::forward, 0), seconds{0});
}

}  // namespace
}  // namespace slimpack::row_exchange_test
