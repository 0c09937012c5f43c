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
double waits(const shape& on, pass p, exchange how, std::int64_t end = 8, std::uint32_t sharers = 2,
             recompute what = recompute::none) {
  const auto cost = costs::transformer::sheet(tests::tiny(), slow_gpu(), on, {.recompute = what}).value();
  std::vector<std::uint32_t> replicas(sharers);
  std::iota(replicas.begin(), replicas.end(), 0u);
  return cost.exchange({{0}, p, {0}, {end}, replicas, {0}, how}, head_and_tail, p, 0).value;
}

/// The same where keys and values are kept: of a row [begin, 8), `others` tokens come and `sent` go.
double keeps(pass p, std::int64_t begin, std::int64_t others, std::int64_t sent, recompute what = recompute::none) {
  const auto cost =
      costs::transformer::sheet(tests::tiny(), slow_gpu(), {.stages = 2, .replicas = 2}, {.recompute = what}).value();
  const std::vector<std::uint32_t> replicas{0, 1};
  const std::vector<slice> mine{{{0}, {begin}, {2}}, {{0}, {begin + 6}, {2}}};
  return cost.exchange({{0}, p, {0}, {begin + 8}, replicas, {begin}, exchange::keep, {others}, {sent}}, mine, p, 0)
      .value;
}

// Two stages of a layer on a node, so replicas are on nodes of their own. Keys and values of 4 tokens, 2 x 4 bytes
// each, are 32 bytes, 8 s, and nothing lies before the row. Their gradients are of 4 bytes an element.
TEST(RowExchange, SendsKeysAndValuesThatAreKeptOnce) {
  EXPECT_DOUBLE_EQ(keeps(pass::forward, 0, 4, 4), 0.25 + 8);
  EXPECT_DOUBLE_EQ(keeps(pass::backward, 0, 4, 4), 0.25 + 16);
  EXPECT_DOUBLE_EQ(keeps(pass::forward, 0, 2, 4), 0.25 + 8) << "it sends more than it receives";
  EXPECT_DOUBLE_EQ(keeps(pass::forward, 0, 4, 2), 0.25 + 8) << "it receives more than it sends";
  EXPECT_EQ(keeps(pass::forward, 0, 0, 0), 0) << "nothing travels";
}

// Four tokens attend to 16 before the row: 64 pairs, 6.4 s, backward three times that. To 32: 12.8 s.
TEST(RowExchange, RunsBesideAttentionToWhatIsThere) {
  EXPECT_NEAR(keeps(pass::forward, 16, 4, 4), 0.25 + 8 - 6.4, 1e-12);
  EXPECT_EQ(keeps(pass::forward, 32, 4, 4), 0);
  EXPECT_EQ(keeps(pass::backward, 16, 4, 4), 0) << "19.2 s cover 16.25";
}

// What is kept is there when attention is computed again; of a backward that takes four times the forward's attention,
// three quarters can hide the gradients.
TEST(RowExchange, SendsNothingAgainThatIsKept) {
  EXPECT_DOUBLE_EQ(keeps(pass::backward, 0, 4, 4, recompute::full), keeps(pass::backward, 0, 4, 4));
  EXPECT_NEAR(keeps(pass::backward, 4, 4, 4, recompute::full), 0.25 + 16 - 3 * 1.6, 1e-12);
}

// Half of the keys and values of 8 tokens are a hop: 32 bytes, 8 s, of which attention covers half of 18 pairs, 0.9 s.
// Backward three times the attention; and gradients of 4 bytes an element, 16 s, hop twice, the last time home.
TEST(RowExchange, TimesAHopByHand) {
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::forward, exchange::ring), 0.25 + 8 - 0.9);
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::backward, exchange::ring),
                   0.25 + 8 - 2.7 + 2 * (0.25 + 16));
}

// Queries of 4 tokens are 32 bytes, their outputs in sums of 4 bytes an element 64, however long the prefix. Backward
// queries and gradients of outputs are 64, and gradients of queries 64.
TEST(RowExchange, SendsQueriesAndOutputs) {
  for (const std::int64_t end : {8, 1024}) {
    EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::forward, exchange::queries, end),
                     0.25 + 32 / 4.0 - 0.9 + 2 * (0.25 + 64 / 4.0));
    EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 2}, pass::backward, exchange::queries, end),
                     0.25 + 64 / 4.0 - 2.7 + 2 * (0.25 + 64 / 4.0));
  }
}

// Of three sharers each has two hops, of a third of the keys, and a third of the attention meanwhile.
TEST(RowExchange, HopsFromSharerToSharer) {
  EXPECT_DOUBLE_EQ(waits({.stages = 2, .replicas = 3}, pass::forward, exchange::ring, 12, 3), 2 * (0.25 + 8 - 0.6));
}

TEST(RowExchange, ExchangesAgainWhatIsComputedAgain) {
  const shape on{.stages = 2, .replicas = 2};
  for (const exchange how : {exchange::ring, exchange::queries})
    for (const recompute what : {recompute::attention, recompute::full})
      EXPECT_DOUBLE_EQ(waits(on, pass::backward, how, 8, 2, what),
                       waits(on, pass::backward, how) + waits(on, pass::forward, how));
}

// Both layers on one GPU, both replicas on one node: 2 x (0.125 + 32 / 16) s, less half of 18 pairs of both layers.
TEST(RowExchange, IsQuickerInsideANode) {
  EXPECT_DOUBLE_EQ(waits({.replicas = 2}, pass::forward, exchange::ring), 2 * (0.125 + 2) - 1.8);
}

// Two nodes of two GPUs, and four replicas of both layers: keys and values of 12 / 4 tokens are 24 bytes. In two
// strands 12 bytes are spread in 0.75 s, cross in 3 s, and are gathered in 0.75 s, after 2 x 0.125 + 0.25 s; over one
// adapter 0.25 + 6 s. Of 18 pairs of both layers, 3.6 s, a quarter covers a hop, but never the legs inside nodes: many
// more pairs leave these, 2 x (0.5 + 1.5) s a round.
TEST(RowExchange, CoversTheLegsOfARelayThatCross) {
  const shape on{.replicas = 4};
  const auto cost = costs::transformer::sheet(tests::tiny(), slow_gpu(), on).value();
  const std::vector<std::uint32_t> all{0, 1, 2, 3};
  const auto waits_with = [&](std::vector<relay> relays, std::int64_t end, std::vector<slice> mine) {
    shared_row row{{0}, pass::forward, {0}, {end}, all, {0}, exchange::ring};
    row.relays = relays;
    return cost.exchange(row, mine, pass::forward, 0).value;
  };
  const std::vector<relay> both{{{1, 0}, {2, 3}, 1}, {{3, 2}, {0, 1}, 1}};
  EXPECT_NEAR(waits_with({}, 12, head_and_tail), 3 * (2 * (0.25 + 6) - 1.8 / 2), 1e-12);
  EXPECT_NEAR(waits_with(both, 12, head_and_tail), 3 * (2 * (0.5 + 4.5) - 1.8 / 2), 1e-12);
  EXPECT_NEAR(waits_with({both[0]}, 12, head_and_tail), waits_with({}, 12, head_and_tail), 1e-12)
      << "one hop is not relayed";
  EXPECT_NEAR(waits_with(both, 12, {{{0}, {1000}, {4}}}), 3 * 2 * (0.5 + 1.5), 1e-12);
}

TEST(RowExchange, IsHiddenByEnoughAttention) {
  costs::gpu fast = slow_gpu();
  fast.between = {{0.25}, 1e6};
  const shape on{.stages = 2, .replicas = 2};
  const auto cost = costs::transformer::sheet(tests::tiny(), fast, on).value();
  const std::vector<std::uint32_t> both{0, 1};
  EXPECT_EQ(cost.exchange({{0}, pass::forward, {0}, {8}, both, {0}, exchange::ring}, head_and_tail, pass::forward, 0),
            seconds{0.25});
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
      const auto counted = costs::transformer::sheet(m, far, on, {.recompute = what}).value();
      for (const double exposed : {1.0, 1.3}) {
        const costs::kernel_times kernels{costs::wave_model(far)};
        const auto measured =
            costs::profiled_of(m, on, kernels, costs::network(far),
                               {.recompute = what, .slowdown = {.exposed = exposed}, .longest = {65536}})
                .value();
        for (const pass p : {pass::forward, pass::backward})
          for (int part = 0; part < 4; ++part)
            for (const exchange how : {exchange::keep, exchange::queries, exchange::ring}) {
              const shared_row row{{7}, p, {0}, {8192}, replicas, {4096}, how, {2560}, {1536}};
              EXPECT_NEAR(measured.exchange(row, mine, p, part) / counted.exchange(row, mine, p, part), exposed, 0.02)
                  << m.name << ", part " << part << ", " << name_of(how);
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
  EXPECT_EQ(cost.exchange({{0}, pass::forward, {0}, {8}, both, {0}, exchange::ring}, head_and_tail, pass::forward, 0),
            seconds{0});
}

}  // namespace
}  // namespace slimpack::row_exchange_test
