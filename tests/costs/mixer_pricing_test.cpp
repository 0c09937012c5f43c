#include <slimpack/costs/detail/layers_on_parts.hpp>
#include <slimpack/costs/detail/model_parts.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/testing/cost_model_laws.hpp>
#include <slimpack/testing/generator.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::mixer_pricing_test {
namespace {

using costs::mixer;
using costs::mixing;

const costs::gpu device = costs::gpus::h100();

/// Llama-3.1-8B of six layers, with these mixers in turn.
costs::model_shape with(std::vector<mixer> mixers) {
  costs::model_shape m = tests::llama_3_1_8b();
  m.layers = 6;
  for (int i = 0; i < m.layers; ++i) m.mixer_of.push_back(i % static_cast<int>(mixers.size()));
  m.mixers = std::move(mixers);
  return m;
}
mixer full() { return costs::model_shape::full_attention(tests::llama_3_1_8b()); }
mixer near(mixing how, std::int64_t reach) {
  mixer one = full();
  one.span = {how, reach};
  if (how == mixing::top_k) one.index_heads = 32, one.index_width = 64;
  return one;
}
mixer state() {
  return {.span = {mixing::dual},
          .heads = 128,
          .kv_heads = 8,
          .head_dim = 128,
          .value_dim = 64,
          .in = 2 * 8192 + 2 * 8 * 128 + 128,
          .out = 8192,
          .scan = 128,
          .taps = 4,
          .convolved = 8192 + 2 * 8 * 128};
}
costs::transformer analytic(const costs::model_shape& m, const shape& on = {}) {
  return costs::transformer::make(m, device, on).value();
}
costs::profiled tabulated(const costs::model_shape& m, const shape& on = {}) {
  costs::stage_options how;
  how.joins_rows = true;  // then covers() tells attention by itself
  return costs::profiled_of(m, on, costs::kernel_times{costs::wave_model(device)}, costs::network(device), how).value();
}
const slice late{{0}, {60000}, {4096}};

TEST(MixerPricing, KeepsTheLawsOfCostModels) {
  const mixer none{.span = {mixing::none}};
  for (const std::vector<mixer>& mixers : {std::vector{full(), near(mixing::window, 512)},
                                           {near(mixing::window, 100)},
                                           {near(mixing::top_k, 2048)},
                                           {full(), state()},
                                           {state()},
                                           {full(), none, state()}}) {
    const costs::model_shape m = with(mixers);
    const testing::report lines = testing::cost_model_laws(analytic(m, {.stages = 2}), 2);
    EXPECT_TRUE(lines) << lines;
    const testing::report tables = testing::cost_model_laws(tabulated(m, {.stages = 2}), 2, {.analytic = false});
    EXPECT_TRUE(tables) << tables;
  }
}

TEST(MixerPricing, OfAWindowThatNoSequenceFillsIsThatOfFullAttention) {
  const costs::transformer all = analytic(with({full()})), wide = analytic(with({near(mixing::window, 65536)}));
  for (const pass p : both_passes) EXPECT_NEAR(wide.time(late, p, 0) / all.time(late, p, 0), 1, 1e-12);
}

// In the limit a slice's attention takes as much less as it has fewer pairs.
TEST(MixerPricing, FollowsThePairsOfEachSpan) {
  const costs::transformer all = analytic(with({full()}));
  const costs::transformer mlp = analytic(with({near(mixing::window, 1)}));  // a token attends to itself
  for (const mixer& one : {near(mixing::window, 1024), near(mixing::chunks, 8192), near(mixing::top_k, 2048)}) {
    costs::model_shape m = with({one});
    for (mixer& each : m.mixers) each.index_heads = 0;
    const costs::transformer cost = analytic(m);
    for (const pass p : both_passes)
      EXPECT_NEAR((cost.time(late, p, 0) - mlp.time(late, p, 0)) / (all.time(late, p, 0) - mlp.time(late, p, 0)),
                  (one.span.pairs(late) - 4096) / (late.pairs() - 4096), 1e-9);
  }
}

// Tables of windows are as near to kernels as those of full attention, between their points.
TEST(MixerPricing, TablesFollowTheKernelsThatTheyAreOf) {
  testing::generator random(7);
  for (const mixer& one : {full(), near(mixing::window, 128), near(mixing::window, 4096), near(mixing::top_k, 2048)}) {
    costs::model_shape m = with({one});
    for (mixer& each : m.mixers) each.index_heads = 0;
    const shape on{};
    const costs::kernel_times kernels{costs::wave_model(device)};
    const costs::network net(device);
    const costs::stage_options how{};
    const std::vector<int> layers{m.layers};
    const detail::model_parts parts(m, on, layers, kernels, net, how);
    const detail::part_times times = parts.times(parts.parts()[0]);
    const costs::profiled tables = tabulated(m);
    for (const pass p : both_passes) {
      double off = 0;
      constexpr int cases = 400;
      for (int i = 0; i < cases; ++i) {
        const slice s{{},
                      {random.between(0, std::int64_t{1} << random.between(0, 16))},
                      {random.between(64, std::int64_t{1} << random.between(7, 15))}};
        const std::int64_t tiles = (s.length.value + 127) / 128 * m.heads;
        const auto copies = static_cast<int>((4 * device.multiprocessors + tiles - 1) / tiles);
        costs::provenance unused;
        const seconds kernel = times.attention(s.length, s.begin, p, copies, unused);
        off += std::abs(tables.covers(s, p, 0) / kernel - 1) / cases;
      }
      EXPECT_LT(off, 0.06) << "seed 7, reach " << one.span.reach << " " << name_of(p);
    }
  }
}

TEST(MixerPricing, TakesChunksAsSequencesOfTheirOwn) {
  const costs::profiled cost = tabulated(with({near(mixing::chunks, 1000)}));
  const auto attention = [&](std::int64_t begin, std::int64_t n) {
    return cost.covers({{}, {begin}, {n}}, pass::forward, 0).value;
  };
  EXPECT_NEAR(attention(700, 2800), attention(700, 300) + 2 * attention(0, 1000) + attention(0, 500), 1e-12);
  EXPECT_EQ(attention(5700, 300), attention(700, 300));
  const mixer chunks = near(mixing::chunks, 1000);
  EXPECT_TRUE(chunks.span.has_borders());
}

TEST(MixerPricing, CountsStatesOfEachPieceAndItsOpenChunk) {
  const shape on{.stages = 2};
  const costs::model_shape m = with({full(), state()});
  const costs::transformer lines = analytic(m, on);
  const costs::profiled tables = tabulated(m, on);
  for (int stage = 0; stage < 2; ++stage) {
    const double states = stage == 0 ? 1 : 2;  // of layers 0 to 2, and 3 to 5
    EXPECT_EQ(lines.kept(late, stage).value, states * state().state_bytes());
    EXPECT_EQ(tables.kept(late, stage).value, states * state().state_bytes());
    for (const pass p : both_passes) {
      EXPECT_GT(lines.call_overhead(p, stage), seconds{});
      EXPECT_NEAR(lines.call_overhead(p, stage) / lines.call_overhead(p, 0), states, 1e-9);
      EXPECT_NEAR(tables.call_overhead(p, stage) / lines.call_overhead(p, stage), 1, 1e-9);
    }
  }
  EXPECT_EQ(analytic(with({full()}), on).kept(late, 0).value, 0);
  EXPECT_EQ(analytic(with({full()}), on).call_overhead(pass::forward, 0), seconds{});
}

// As a config of Mamba-2 says it: there is no attention, and no heads of it.
TEST(MixerPricing, TakesModelsOfStatesAlone) {
  costs::model_shape m = with({state()});
  m.heads = m.kv_heads = 0, m.head_dim = m.value_dim = 0;
  m.mlp_widths.assign(static_cast<std::size_t>(m.layers), 0);
  const testing::report found = testing::cost_model_laws(tabulated(m, {.stages = 2}), 2, {.analytic = false});
  EXPECT_TRUE(found) << found;
  EXPECT_TRUE(testing::cost_model_laws(analytic(m, {.stages = 2}), 2));
  EXPECT_EQ(tabulated(m).covers(late, pass::forward, 0), seconds{});
}

TEST(MixerPricing, HasNoKeysOfStatesInMemory) {
  const costs::transformer attention = analytic(with({full()})), mixed = analytic(with({full(), state()}));
  EXPECT_NEAR(mixed.memory(0)->gradient_token / attention.memory(0)->gradient_token, 0.5, 1e-12);
  EXPECT_NEAR(mixed.memory(0)->other_token / attention.memory(0)->other_token, 0.5, 1e-12);
  EXPECT_EQ(mixed.evaluation_memory(0)->live_token * 2, attention.evaluation_memory(0)->live_token);
}

// Keys and values of windows and chunks stop growing, and a state does not begin to. Tokens are taken one by one.
TEST(MixerPricing, KeepsWhatIsSeenWhileItEvaluates) {
  const std::vector<mixer> kinds{full(), near(mixing::window, 100), near(mixing::chunks, 300), state(),
                                 near(mixing::top_k, 50)};
  const costs::transformer of_all = analytic(with(kinds), {.stages = 2});
  const costs::profiled tables = tabulated(with(kinds), {.stages = 2});
  const costs::model_shape m = with(kinds);
  testing::generator random(911);
  for (int i = 0; i < 200; ++i) {
    const int stage = static_cast<int>(random.between(0, 1));
    const tokens first{random.between(0, 1) * random.between(0, 500)};
    const slice piece{{}, first + tokens{random.between(0, 1) * random.between(1, 400)}, {random.between(1, 400)}};
    double wanted = 0, grows = 0;
    for (int l = stage * m.layers / 2; l < (stage + 1) * m.layers / 2; ++l) {
      const mixer by = m.mixer(m.kind(l));
      const double token = 2.0 * by.kv_heads * static_cast<double>(by.head_dim + by.value_dim);
      const bool ends = by.span.how == mixing::window || by.span.how == mixing::chunks;
      if (by.has_state() && piece.begin == first) wanted += by.state_bytes();
      if (by.attends() && !ends) grows += token;
      for (tokens t = piece.begin; ends && t < piece.end(); t += tokens{1})
        if ((t - first).value < by.span.reach) wanted += token;
    }
    for (const bytes kept : {of_all.evaluation_kept(piece, stage, first), tables.evaluation_kept(piece, stage, first)})
      EXPECT_NEAR(kept.value, wanted, 1e-9 * wanted) << "seed 911, case " << i;
    EXPECT_NEAR(of_all.evaluation_memory(stage)->live_token, grows, 1e-9 * grows);
  }
}

TEST(MixerPricing, SendsWhatIsSeenOfARow) {
  const shape on{.replicas = 2};
  const std::vector<std::uint32_t> sharers{0, 1};
  const auto exchange_of = [&](const mixer& one) {
    const costs::row_exchange price(with({one}), on, std::vector<int>{6}, costs::recompute::none,
                                    costs::network(device));
    shared_row row{};
    row.sharers = sharers, row.end = {65536}, row.others = row.sent = {32768};
    return price(row, std::vector<slice>{{{0}, {0}, {32768}}}, {}, pass::forward, 0);
  };
  const seconds all = exchange_of(full()), window = exchange_of(near(mixing::window, 129)),
                wide = exchange_of(near(mixing::window, 65536)), chosen = exchange_of(near(mixing::top_k, 129));
  EXPECT_EQ(wide, all);
  EXPECT_EQ(chosen, all) << "which keys it chooses is not known before";
  EXPECT_LT(window, all * 0.1);
  // A state goes through the four runs of the row, whatever its tokens.
  const seconds state_only = exchange_of(state());
  const costs::network net(device);
  const seconds hop = net.send_receive({2, 1, 1}, bytes{state().state_bytes()}, 1);
  EXPECT_NEAR(state_only / (hop * (3.0 * 6)), 1, 1e-9);
}

TEST(MixerPricing, RefusesRanksThatCannotDivideAMixer) {
  const auto refusal = [](const costs::model_shape& m, const shape& on) {
    const result<costs::transformer> made = costs::transformer::make(m, device, on);
    return made ? std::string() : made.error().detail;
  };
  EXPECT_EQ(refusal(with({full(), state()}), {.context = 2}).substr(0, 33), "context parallelism of 2: layer 1");
  mixer few = full();
  few.heads = few.kv_heads = 6;
  EXPECT_EQ(refusal(with({full(), few}), {.tensor = 4}),
            "tensor parallelism of 4 does not divide the 6 query heads of " + tests::llama_3_1_8b().name);
  EXPECT_EQ(refusal(with({full(), {.span = {mixing::none}}}), {.tensor = 4, .context = 2}), "");
}

}  // namespace
}  // namespace slimpack::mixer_pricing_test
