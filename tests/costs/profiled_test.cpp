#include <slimpack/costs/profiled.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/testing/cost_model_laws.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiled_test {
namespace {

using costs::profiled;
using samples = std::vector<profiled::sample>;

/// Samples of a closed form on each part, on a grid of factor 2; part r is r + 1 times as slow.
samples sampled(const costs::quadratic& cost, int parts, double noise) {
  testing::generator random(6);
  samples all;
  for (int part = 0; part < parts; ++part)
    for (const pass p : {pass::forward, pass::backward})
      for (std::int64_t q = 128; q <= 65536; q *= 2)
        for (std::int64_t k = q; k <= 65536; k *= 2)
          all.push_back(
              {p,
               part,
               {q},
               {k},
               cost.time({{}, {k - q}, {q}}, p, part) * ((part + 1) * (1 + noise * (2 * random.ratio() - 1)))});
  return all;
}

std::string refusal(const samples& all, profiled::extras beside = {}) {
  const result<profiled> made = profiled::make(all, std::move(beside));
  if (made) return "no error";
  EXPECT_EQ(made.error().code, errc::invalid_input);
  return made.error().detail;
}

TEST(Profiled, TellsPassesAndPartsApart) {
  const costs::quadratic truth;
  const profiled cost = profiled::make(sampled(truth, 3, 0)).value();
  const slice s{{4}, {1000}, {3000}};
  for (int part = 0; part < 3; ++part)
    for (const pass p : {pass::forward, pass::backward})
      EXPECT_NEAR(cost.time(s, p, part) / (truth.time(s, p, part) * (part + 1.0)), 1, 1e-6);
  EXPECT_EQ(cost.parts(), 3);
  EXPECT_LT(cost.largest_change(), 1e-12);
}

// Parts 0 and 2 have the same samples, as have 1 and 3, of which launches differ.
TEST(Profiled, SaysWhichPartsAreAlike) {
  samples all = sampled({}, 2, 0);
  for (std::size_t i = 0, given = all.size(); i < given; ++i) all.push_back(all[i]), all.back().part += 2;
  const profiled cost =
      profiled::make(all, {.forward_overhead = {{1}, {1}, {1}, {1}}, .backward_overhead = {{2}, {2}, {2}, {3}}})
          .value();
  std::vector<int> like;
  for (int part = 0; part < cost.parts(); ++part) like.push_back(cost.like(part));
  EXPECT_EQ(like, (std::vector<int>{0, 1, 0, 3}));
  const slice s{{4}, {1000}, {3000}};
  for (const pass p : {pass::forward, pass::backward})
    for (int part = 0; part < 2; ++part) EXPECT_EQ(cost.time(s, p, part), cost.time(s, p, part + 2));
}

TEST(Profiled, KnowsWhatAStepCostsBesideItsSlices) {
  const profiled cost = profiled::make(sampled({}, 2, 0), {.forward_overhead = {{1}, {2}},
                                                           .backward_overhead = {{3}, {4}},
                                                           .message = {5},
                                                           .message_token = {0.5},
                                                           .memory = {{.fixed = 6}, {.fixed = 7}},
                                                           .evaluation_memory = {{.fixed = 4}, {.fixed = 5}},
                                                           .evaluation_kept = {{}, {.near = {{4, 2.0}}, .states = 7}},
                                                           .pair_bytes = {2, 3},
                                                           .piece_bytes = {0, 7},
                                                           .reduce = {8},
                                                           .call = {9}})
                            .value();
  EXPECT_EQ(pack_overhead(cost, pass::forward, 1), seconds{2});
  EXPECT_EQ(pack_overhead(cost, pass::backward, 0), seconds{3});
  EXPECT_EQ(call_overhead_of(cost, pass::backward, 1), seconds{9});
  EXPECT_EQ(message_time(cost, {10}, pass::forward, 0), seconds{10});  // 5 + 10 x 0.5
  EXPECT_EQ(memory_of(cost, 1)->fixed, 7);
  EXPECT_EQ(evaluation_memory_of(cost, 1)->fixed, 5);
  EXPECT_EQ(kept_of(cost, {{0}, {5}, {10}}, 1), bytes{3 * 10 * 15 + 7});  // 10 queries, 15 keys, one piece
  EXPECT_EQ(kept_of(cost, {{0}, {5}, {10}}, 0), bytes{2 * 10 * 15});
  EXPECT_EQ(evaluation_kept_of(cost, {{0}, {5}, {10}}, 1, {5}), bytes{4 * 2 + 7});
  EXPECT_EQ(evaluation_kept_of(cost, {{0}, {5}, {10}}, 1, {2}), bytes{1 * 2});
  EXPECT_EQ(evaluation_kept_of(cost, {{0}, {5}, {10}}, 0, {5}), bytes{0});
  EXPECT_EQ(reduce_time_of(cost), seconds{8});
}

TEST(Profiled, CostsNothingBesideUnlessTold) {
  const profiled cost = profiled::make(sampled({}, 1, 0)).value();
  EXPECT_EQ(pack_overhead(cost, pass::backward, 0), seconds{});
  EXPECT_EQ(call_overhead_of(cost, pass::backward, 0), seconds{});
  EXPECT_EQ(message_time(cost, {10}, pass::forward, 0), seconds{});
  EXPECT_EQ(memory_of(cost, 0), std::nullopt);
  EXPECT_EQ(evaluation_memory_of(cost, 0), std::nullopt);
}

TEST(Profiled, RefusesWhatIsMissingOrNoTime) {
  const samples good{{pass::forward, 0, {128}, {128}, {1}}, {pass::backward, 0, {128}, {256}, {2}}};
  EXPECT_EQ(refusal(good), "no error");
  EXPECT_EQ(refusal({}), "no samples: a profile needs times of both passes on every part");
  EXPECT_EQ(refusal({good[0]}), "no backward times of part 0 of 1");
  samples wrong = good;
  wrong[1].part = 1;
  EXPECT_EQ(refusal(wrong), "no backward times of part 0 of 2");
  wrong = good, wrong[1].time = {-1};
  EXPECT_EQ(refusal(wrong),
            "sample 1 (backward, part 0, 128 queries, 256 keys): takes -1.000000 s, a time must be "
            "above 0 and at most 1e12 s");
  wrong = good, wrong[0].time = {0};
  EXPECT_EQ(refusal(wrong),
            "sample 0 (forward, part 0, 128 queries, 128 keys): takes 0.000000 s, a time must be "
            "above 0 and at most 1e12 s");
  wrong = good, wrong[0].keys = {127};
  EXPECT_EQ(refusal(wrong),
            "sample 0 (forward, part 0, 128 queries, 127 keys): keys are the prefix and the queries themselves, so no "
            "fewer than the queries");
  wrong = good, wrong[0].queries = {0};
  EXPECT_EQ(refusal(wrong), "sample 0 (forward, part 0, 0 queries, 128 keys): tokens are counted from 1 to 2147483647");
  wrong = good, wrong[0].part = -1;
  EXPECT_EQ(refusal(wrong), "sample 0 (forward, part -1, 128 queries, 128 keys): parts are counted from 0 to 65535");
  EXPECT_EQ(refusal(good, {.forward_overhead = {{0}, {0}}}), "2 forward overheads for 1 parts");
  EXPECT_EQ(refusal(good, {.backward_overhead = {{-1}}}), "the backward overhead of part 0 is -1.000000 s");
  EXPECT_EQ(refusal(good, {.call = {-1}}), "a call takes -1.000000 s");
  EXPECT_EQ(refusal(good, {.message = {-1}}), "a message takes -1.000000 s");
  EXPECT_EQ(refusal(good, {.pair_bytes = {-1}}), "a pair keeps -1.000000 bytes");
  EXPECT_EQ(refusal(good, {.piece_bytes = {-1}}), "a piece keeps -1.000000 bytes");
  EXPECT_EQ(refusal(good, {.memory = std::vector<memory_rates>(2)}), "2 memory rates for 1 parts: give one per stage");
  EXPECT_EQ(refusal(good, {.evaluation_memory = std::vector<memory_rates>(3)}),
            "3 memory rates for 1 parts: give one per stage");
  EXPECT_EQ(refusal(good, {.evaluation_kept = std::vector<costs::evaluation_keeps>(1)}),
            "1 stages keep bytes of sequences, of 0 with rates of evaluations");
  EXPECT_EQ(refusal(good, {.evaluation_memory = {{}}, .evaluation_kept = {{.states = -1}}}),
            "a sequence keeps -1.000000 bytes of states");
  EXPECT_EQ(refusal(good, {.evaluation_memory = {{}}, .evaluation_kept = {{.near = {{0, 2.0}}}}}),
            "a sequence keeps 2.000000 bytes of each of its last 0 tokens");
}

TEST(Profiled, PlansAsTheModelThatWasMeasured) {
  const costs::quadratic truth{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
  samples all = sampled(truth, 1, 0);
  const std::size_t one = all.size();
  for (int part = 1; part < 4; ++part)
    for (std::size_t i = 0; i < one; ++i) all.push_back(all[i]), all.back().part = part;
  const std::vector<seconds> overhead(4, truth.per_pack);
  const profiled cost =
      profiled::make(all, {.forward_overhead = overhead, .backward_overhead = overhead, .message = truth.hop}).value();
  const std::vector<tokens> lengths = tests::lengths_of({65536, 300, 9000, 2000, 128, 700, 40000, 1});
  const plan p = planner<slicers::equal_cost, profiled>{{.stages = 4}, {}, cost}(lengths).value();
  const plan q = planner{{.stages = 4}, {}, truth}(lengths).value();
  EXPECT_NEAR(p.step_time / q.step_time, 1, 0.01);
  EXPECT_NEAR(p.lower_bound / q.lower_bound, 1, 1e-6);
  const testing::report found = testing::plan_laws(p, cost);
  EXPECT_TRUE(found) << found;
}

TEST(Profiled, PlansAlikeWhateverTheOrderOfSamples) {
  samples all = sampled({}, 2, 0.02);
  const auto planned = [&] {
    const planner<slicers::equal_cost, profiled> plan_batch{{.stages = 2}, {}, profiled::make(all).value()};
    return plan_batch(tests::lengths_of({5000, 300, 9000})).value();
  };
  const plan p = planned();
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(planned().hash, p.hash);
}

TEST(Profiled, NoCutOfASequenceTakesLessThanItsLeast) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const profiled cost = profiled::make(sampled({}, 1, 0.2)).value();
    testing::generator random(seed);
    for (int trial = 0; trial < 200; ++trial) {
      const tokens length = random.length({100000});
      for (const pass p : {pass::forward, pass::backward}) {
        seconds cut{}, least{};
        for (tokens at{}; at < length;) {
          const slice piece{{0}, at, std::min(length - at, tokens{random.between(1, 20000)})};
          cut += cost.time(piece, p, 0), least += cost.least(piece, p, 0), at = piece.end();
        }
        const seconds whole = cost.least({{0}, {0}, length}, p, 0);
        EXPECT_GE(cut.value, whole.value * (1 - 1e-12)) << length.value << " tokens, seed " << seed;
        EXPECT_NEAR(least / whole, 1, 1e-9);
      }
    }
  }
}

TEST(Profiled, BoundsHoldUnderNoise) {
  for (std::uint64_t seed = 1; seed <= 20 / tests::one_in; ++seed) {
    testing::generator random(seed);
    const planner<slicers::equal_cost, profiled> plan_batch{
        {.stages = 1}, {}, profiled::make(sampled({}, 1, 0.3)).value()};
    std::vector<tokens> lengths;
    for (int i = 0; i < 8; ++i) lengths.push_back(random.length({60000}));
    const plan p = plan_batch(lengths).value();
    EXPECT_LE(p.efficiency, 1) << "seed " << seed;
    EXPECT_GE(p.bubble, 0) << "seed " << seed;
  }
}

using pack_samples = std::vector<profiled::pack_sample>;

/// Attention in slices, 1 us a token in packs of 8192 tokens and more, 4 us in thin ones; W is half of backward there.
profiled with_packs(int parts = 1) {
  samples attention;
  pack_samples packs;
  const costs::quadratic pairs{.linear = {}};
  for (int part = 0; part < parts; ++part)
    for (const pass p : {pass::forward, pass::backward}) {
      for (std::int64_t q = 128; q <= 65536; q *= 2)
        for (std::int64_t k = q; k <= 65536; k *= 4) {
          const seconds t = pairs.time({{}, {k - q}, {q}}, p, part);
          attention.push_back({p, part, {q}, {k}, t, std::max(t, seconds{1e-3})});
        }
      const double twice = p == pass::forward ? 1 : 2;
      for (const std::int64_t size : {128, 2048, 8192, 65536})
        packs.push_back({p, part, {size}, {twice * 1e-6 * static_cast<double>(size < 8192 ? size / 2 * 8 : size)}});
    }
  std::vector<seconds> weight(static_cast<std::size_t>(parts), seconds{1e-6});
  return profiled::make(attention, packs, {.weight_token = std::move(weight)}).value();
}

TEST(Profiled, RunsOnceOverThePackWhatIsNotAttention) {
  const profiled cost = with_packs();
  std::vector<slice> pack;
  seconds attention{};
  for (std::uint32_t i = 0; i < 64; ++i) {
    pack.push_back({{i}, {0}, {128}});
    attention += cost.time(pack.back(), pass::forward, 0) - seconds{128e-6};
  }
  const seconds longest{1e-3};  // one slice for itself
  EXPECT_NEAR(pack_time(cost, std::span<const slice>(pack), pass::forward, 0).value,
              std::max(attention, longest).value + 8192e-6, 1e-9);
}

TEST(Profiled, APackOfOneThinSlicePaysForTheIdleDevice) {
  const profiled cost = with_packs();
  const slice thin{{0}, {0}, {128}};
  // 1 ms of attention for itself, and 128 tokens at 4 us
  EXPECT_NEAR(pack_time(cost, std::span(&thin, 1), pass::forward, 0).value, 1e-3 + 128 * 4e-6, 1e-9);
}

TEST(Profiled, ObeysTheLawsWithPackTables) {
  const testing::report found = testing::cost_model_laws(with_packs(2), 2);
  EXPECT_TRUE(found) << found;
}

TEST(Profiled, WeightGradientsOfSlicesAreThoseOfTheirPack) {
  const profiled cost = with_packs();
  EXPECT_DOUBLE_EQ(weight_time(cost, {{0}, {0}, {128}}, 0).value, 128e-6);
  testing::generator random(3);
  std::vector<slice> pack;
  seconds before{};
  for (std::uint32_t i = 0; i < 200; ++i) {  // B, the rest of a backward, does not fall as the pack grows
    pack.push_back({{i}, {0}, random.length({3000})});
    seconds rest = pack_time(cost, std::span<const slice>(pack), pass::backward, 0);
    for (const slice& s : pack) rest = rest - weight_time(cost, s, 0);
    EXPECT_GE(rest.value, before.value * (1 - 1e-12)) << i << " slices, seed 3";
    before = rest;
  }
}

/// The quadratic model measured in whole slices, of whose backward a share is said to be weight gradients.
profiled with_weights_in_slices(int parts = 1) {
  samples all = sampled({}, parts, 0);
  double least = 1;  // backward time of a token
  for (const profiled::sample& s : all)
    if (s.pass == pass::backward) least = std::min(least, s.time / seconds{static_cast<double>(s.queries.value)});
  return profiled::make(all, {.weight_token = std::vector<seconds>(static_cast<std::size_t>(parts), {least * 0.4})})
      .value();
}

TEST(Profiled, WeightGradientsMayBeAShareOfSlices) {
  const profiled cost = with_weights_in_slices();
  const profiled plain = profiled::make(sampled({}, 1, 0)).value();
  const seconds one = weight_time(cost, {{0}, {0}, {1}}, 0);
  EXPECT_GT(one, seconds{});
  testing::generator random(8);
  for (int i = 0; i < 100; ++i) {
    const slice s{{0}, random.length({20000}), random.length({20000})};
    EXPECT_DOUBLE_EQ(weight_time(cost, s, 0).value, one.value * static_cast<double>(s.length.value));
    // Measured places are told as they were; between them, weight gradients are known exactly and the rest as before.
    EXPECT_NEAR(cost.time(s, pass::backward, 0) / plain.time(s, pass::backward, 0), 1, 0.05) << "seed 8";
    EXPECT_DOUBLE_EQ(pack_time(cost, std::span(&s, 1), pass::backward, 0).value, cost.time(s, pass::backward, 0).value);
    EXPECT_EQ(cost.time(s, pass::forward, 0), plain.time(s, pass::forward, 0));
    EXPECT_LE(weight_time(cost, s, 0), cost.least(s, pass::backward, 0));
  }
}

TEST(Profiled, ObeysTheLawsWithWeightGradientsInSlices) {
  const testing::report found = testing::cost_model_laws(with_weights_in_slices(2), 2);
  EXPECT_TRUE(found) << found;
}

TEST(Profiled, NoPacksOfASequenceTakeLessThanItsLeast) {
  const profiled cost = with_packs();
  testing::generator random(4);
  for (int trial = 0; trial < 500; ++trial) {
    const tokens length = random.length({100000});
    for (const pass p : {pass::forward, pass::backward}) {
      seconds cut{};
      for (tokens at{}; at < length;) {
        const slice piece{{0}, at, std::min(length - at, tokens{random.between(1, 20000)})};
        cut += pack_time(cost, std::span(&piece, 1), p, 0), at = piece.end();
      }
      EXPECT_GE(cut.value, cost.least({{0}, {0}, length}, p, 0).value * (1 - 1e-12)) << length.value << ", seed 4";
    }
  }
}

TEST(Profiled, RefusesPackTimesThatAreMissingOrNone) {
  const samples good{{pass::forward, 0, {128}, {128}, {1}}, {pass::backward, 0, {128}, {256}, {2}}};
  const pack_samples both{{pass::forward, 0, {128}, {1}}, {pass::backward, 0, {128}, {2}}};
  const auto says = [&](const pack_samples& packs, profiled::extras beside = {}) -> std::string {
    const result<profiled> made = profiled::make(good, packs, std::move(beside));
    return made ? "no error" : made.error().detail;
  };
  EXPECT_EQ(says(both), "no error");
  EXPECT_EQ(says({both[0]}), "no backward times of packs on part 0 of 1");
  EXPECT_EQ(says({both[0], {pass::backward, 1, {128}, {2}}}),
            "pack sample 1 (backward, part 1, 128 tokens): slices were measured on 1 parts");
  EXPECT_EQ(says({both[0], {pass::backward, 0, {0}, {2}}}),
            "pack sample 1 (backward, part 0, 0 tokens): tokens are counted from 1 to 2147483647");
  EXPECT_EQ(says({{pass::forward, 0, {128}, {0}}}),
            "pack sample 0 (forward, part 0, 128 tokens): takes 0.000000 s, a time must be more than 0");
  EXPECT_EQ(
      says(both, {.weight_token = {{0.5}}}),
      "pack sample 1 (backward, part 0, 128 tokens): takes 2.000000 s, a time must be more than the 64.000000 s of "
      "its weight gradients");
  EXPECT_EQ(says(both, {.weight_token = {{0}, {0}}}), "2 times of a token's weight gradients for 1 parts");
  EXPECT_EQ(says({}, {.weight_token = {{0.5}, {0}}}), "2 times of a token's weight gradients for 1 parts");
  EXPECT_EQ(
      says({}, {.weight_token = {{0.5}}}),
      "sample 1 (backward, part 0, 128 queries, 256 keys): takes 2.000000 s, a time must be more than the 64.000000 s "
      "of its weight gradients");
}

// A part without attention: its packs alone take time, and so do its bounds. 128 tokens 1 s, and 256 of a straight line
// 2 s.
TEST(Profiled, TakesAPartWhoseSlicesTakeNoTime) {
  samples slices;
  pack_samples packs;
  for (const int part : {0, 1})
    for (const pass p : {pass::forward, pass::backward})
      for (const std::int64_t n : {128, 256}) {
        slices.push_back({p, part, {n}, {n}, {part == 0 ? 0.25 : 0.0}});
        packs.push_back({p, part, {n}, {static_cast<double>(n) / 128}});
      }
  const profiled cost = profiled::make(slices, packs, {}).value();
  const slice whole{{0}, {0}, {256}}, front{{0}, {0}, {128}}, back{{0}, {128}, {128}};
  EXPECT_DOUBLE_EQ(cost.time(whole, pass::forward, 0).value, 0.25 + 2);
  EXPECT_DOUBLE_EQ(cost.time(whole, pass::forward, 1).value, 2);
  EXPECT_DOUBLE_EQ(cost.time(std::vector<slice>{front, back}, pass::backward, 1).value, 2);
  EXPECT_DOUBLE_EQ((cost.least(front, pass::forward, 1) + cost.least(back, pass::forward, 1)).value, 2);
  const testing::report found = testing::cost_model_laws(cost, 2, {.cases = tests::cases(30)});
  EXPECT_TRUE(found) << found;
  slices.back().time = {0.25};
  const auto refused = [&](const pack_samples& with) { return profiled::make(slices, with, {}).error().detail; };
  EXPECT_EQ(refused(packs),
            "1 of 2 backward slices on part 1 take 0 s, and others do not: all of them do, where a part has no "
            "attention, or none");
  EXPECT_EQ(
      refused({}),
      "sample 4 (forward, part 1, 128 queries, 128 keys): takes 0.000000 s, a time must be above 0 and at most 1e12 s");
}

TEST(Profiled, PrintsWhatItIs) {
  std::ostringstream out;
  out << profiled::make(sampled({}, 3, 0)).value();
  EXPECT_EQ(out.str(), "costs::profiled of 3 parts");
}

}  // namespace
}  // namespace slimpack::profiled_test
