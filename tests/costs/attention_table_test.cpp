#include <slimpack/costs/kernels/attention_table.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace slimpack::attention_table_test {
namespace {

using costs::attention_sample;
using costs::attention_table;
using costs::origin;
using samples = std::vector<attention_sample>;

const costs::wave_model model{costs::gpus::h100()};

seconds modelled(pass p, const attention_sample& s) {
  return model.attention(p, s.queries, s.keys, s.batch * s.heads, s.batch * s.kv_heads, s.head_dim);
}
/// Takes `slower` times what the model says.
attention_sample sample(std::int64_t q, std::int64_t k, int heads, double slower, const std::string& kernel = "flash") {
  attention_sample s{.gpu = "H100-SXM5-80GB",
                     .kernel = kernel,
                     .queries = {q},
                     .keys = {k},
                     .heads = heads,
                     .kv_heads = heads,
                     .head_dim = 128};
  s.forward = modelled(pass::forward, s) * slower;
  return s;
}
/// Slices of sequences of up to 32 Ki tokens.
samples grid(double slower, const std::string& kernel = "flash") {
  samples all;
  for (const int heads : {8, 32})
    for (std::int64_t q = 512; q <= 8192; q *= 2)
      for (std::int64_t k = q; k <= 32768; k *= 2) all.push_back(sample(q, k, heads, slower, kernel));
  return all;
}
attention_table::answer ask(const attention_table& table, pass p, std::int64_t q, std::int64_t k, int heads) {
  return table(p, {q}, {k}, heads, heads, 128);
}
double over_model(const attention_table& table, pass p, std::int64_t q, std::int64_t k, int heads) {
  return ask(table, p, q, k, heads).time / modelled(p, sample(q, k, heads, 1));
}

TEST(AttentionTable, GivesWhatWasMeasured) {
  samples all = grid(1);
  testing::generator random(3);
  for (attention_sample& s : all) s.forward = s.forward * (1 + 0.02 * random.ratio());
  const attention_table table = attention_table::make(model, all).value();
  ASSERT_EQ(table.largest_change(), 0);
  for (const attention_sample& s : all) {
    const attention_table::answer found = ask(table, pass::forward, s.queries.value, s.keys.value, s.heads);
    EXPECT_NEAR(found.time / s.forward, 1, 1e-13);
    EXPECT_EQ(found.source, origin::measured);
  }
}

TEST(AttentionTable, FollowsTheModelsShapeAtTheMeasuredLevel) {
  const attention_table table = attention_table::make(model, grid(1.25)).value();
  constexpr std::uint64_t seed = 5;
  std::cout << "seed " << seed << '\n';
  testing::generator random(seed);
  for (int i = 0; i < 500; ++i) {
    const tokens q = random.length({131072});
    const std::int64_t k = q.value + random.between(0, 131072);
    EXPECT_NEAR(over_model(table, pass::forward, q.value, k, static_cast<int>(random.between(1, 64))), 1.25, 1e-9);
  }
}

// Level 1 at short keys, 2 at long ones: in between, in between.
TEST(AttentionTable, InterpolatesTheLevel) {
  samples all = grid(1);
  for (attention_sample& s : all)
    if (s.keys > tokens{8192}) s.forward = s.forward * 2;
  const attention_table table = attention_table::make(model, all).value();
  EXPECT_GT(over_model(table, pass::forward, 1024, 11585, 16), 1.1);
  EXPECT_LT(over_model(table, pass::forward, 1024, 11585, 16), 1.9);
}

TEST(AttentionTable, TellsWhatLiesBetweenPointsAndWhatOutside) {
  const attention_table table = attention_table::make(model, grid(1)).value();
  EXPECT_EQ(ask(table, pass::forward, 1024, 3000, 8).source, origin::interpolated);
  EXPECT_EQ(ask(table, pass::forward, 1024, 3000, 16).source, origin::interpolated);
  EXPECT_EQ(ask(table, pass::forward, 1024, 40000, 8).source, origin::extrapolated);  // more keys than any
  EXPECT_EQ(ask(table, pass::forward, 1024, 3000, 4).source, origin::extrapolated);   // fewer heads than any
  EXPECT_EQ(ask(table, pass::backward, 1024, 3000, 8).source, origin::derived);
}

TEST(AttentionTable, ExtrapolatesWherePointsAreFarApart) {
  // 16 x 16 and 16384 x 16384 span the ranges, and 512 x 512 is 5 doublings of both from either.
  const attention_table table =
      attention_table::make(model, samples{sample(16, 16, 8, 1), sample(16384, 16384, 8, 1)}).value();
  EXPECT_EQ(ask(table, pass::forward, 512, 512, 8).source, origin::extrapolated);
}

// The one with a backward trains; another that is three times as slow everywhere does not change a time.
TEST(AttentionTable, OtherKernelsGiveShapeNotLevel) {
  samples all = grid(3, "served");
  for (const std::int64_t q : {1024, 4096}) {
    all.push_back(sample(q, q, 32, 1, "trained"));
    all.back().backward = modelled(pass::backward, all.back());
  }
  const attention_table table = attention_table::make(model, all).value();
  EXPECT_EQ(table.reference(), "trained on H100-SXM5-80GB");
  EXPECT_NEAR(over_model(table, pass::forward, 512, 16384, 8), 1, 1e-9);
  EXPECT_NEAR(over_model(table, pass::forward, 2048, 2048, 32), 1, 1e-9);
  // Their shape: twice as slow from 16384 keys on is so for the reference too.
  for (attention_sample& s : all)
    if (s.kernel == "served" && s.keys >= tokens{16384}) s.forward = s.forward * 2;
  const attention_table bent = attention_table::make(model, all).value();
  EXPECT_NEAR(over_model(bent, pass::forward, 1024, 32768, 8), 2, 0.3);
}

TEST(AttentionTable, TheKernelOfTheGpuOfThatNameIsTheReference) {
  samples all = grid(1);
  for (attention_sample& s : all) s.gpu = "H100-PCIe";
  all.push_back(sample(4096, 4096, 8, 2));
  EXPECT_EQ(attention_table::make(model, all).value().reference(), "flash on H100-SXM5-80GB");
}

TEST(AttentionTable, DeterministicTimesAreAnotherKernel) {
  samples all = grid(1);
  for (attention_sample& s : all) s.backward = modelled(pass::backward, s);
  samples slow = all;
  for (attention_sample& s : slow) s.deterministic = true, s.backward = *s.backward * 2;
  all.insert(all.end(), slow.begin(), slow.end());
  const attention_table table = attention_table::make(model, all).value();
  for (const std::int64_t q : {512, 4096, 700}) EXPECT_NEAR(over_model(table, pass::backward, q, 2 * q, 8), 1, 1e-9);
}

TEST(AttentionTable, GivesTheBackwardThatWasMeasured) {
  samples all = grid(1);
  for (attention_sample& s : all) s.backward = s.forward * 3.5;
  const attention_table table = attention_table::make(model, all).value();
  EXPECT_TRUE(table.has_backward());
  for (const attention_sample& s : all) {
    const attention_table::answer found = ask(table, pass::backward, s.queries.value, s.keys.value, s.heads);
    EXPECT_NEAR(found.time / s.forward, 3.5, 1e-9);
    EXPECT_EQ(found.source, origin::measured);
  }
}

// Whole sequences take 1.2 times the model's backward, so slices of them do, from their own forward; far away too.
TEST(AttentionTable, SlicesGetTheirBackwardFromWholeSequences) {
  samples all = grid(1.1);
  for (attention_sample& s : all)
    if (s.queries == s.keys) s.backward = modelled(pass::backward, s) * (1.1 * 1.2);
  const attention_table table = attention_table::make(model, all).value();
  EXPECT_NEAR(over_model(table, pass::backward, 512, 32768, 8), 1.1 * 1.2, 1e-9);
  EXPECT_EQ(ask(table, pass::backward, 512, 32768, 8).source, origin::derived);
}

TEST(AttentionTable, ABatchCountsAsMoreHeads) {
  attention_sample s = sample(1024, 1024, 4, 1);
  s.batch = 8;
  s.forward = modelled(pass::forward, s) * 1.5;
  const attention_table table = attention_table::make(model, samples{s}).value();
  EXPECT_NEAR(over_model(table, pass::forward, 1024, 1024, 32), 1.5, 1e-9);
}

// 6 s, 4 s, 8 s in order of keys: the first two become (6 + 4) / 2, by a quarter of the second at most.
TEST(AttentionTable, TimesThatFallAreMadeEqual) {
  samples all{sample(512, 512, 8, 1), sample(512, 1024, 8, 1), sample(512, 2048, 8, 1)};
  all[0].forward = {6}, all[1].forward = {4}, all[2].forward = {8};
  const attention_table table = attention_table::make(model, all).value();
  EXPECT_NEAR(ask(table, pass::forward, 512, 512, 8).time.value, 5, 1e-12);
  EXPECT_NEAR(ask(table, pass::forward, 512, 1024, 8).time.value, 5, 1e-12);
  EXPECT_NEAR(ask(table, pass::forward, 512, 2048, 8).time.value, 8, 1e-12);
  EXPECT_DOUBLE_EQ(table.largest_change(), 0.25);
}

TEST(AttentionTable, TheMedianOfSeveralTimesCounts) {
  samples all(3, sample(512, 512, 8, 1));
  all[0].forward = {9}, all[1].forward = {1}, all[2].forward = {2};
  EXPECT_NEAR(ask(attention_table::make(model, all).value(), pass::forward, 512, 512, 8).time.value, 2, 1e-12);
}

TEST(AttentionTable, AttentionWithoutAMaskIsLeftOut) {
  samples all = grid(1);
  attention_sample full = sample(1024, 1024, 8, 2);
  full.causal = false;
  all.push_back(full);
  EXPECT_NEAR(over_model(attention_table::make(model, all).value(), pass::forward, 1024, 1024, 8), 1, 1e-12);
  EXPECT_EQ(attention_table::make(model, samples{full}).error().detail, "no times of causal attention");
}

TEST(AttentionTable, NamesASampleThatIsNone) {
  const auto fault = [](auto&& spoil) {
    attention_sample s = sample(512, 1024, 8, 1);
    spoil(s);
    const result<attention_table> made = attention_table::make(model, samples{s});
    return made ? "" : made.error().detail;
  };
  const std::string named = "attention flash on H100-SXM5-80GB, 512 queries, 1024 keys, 8 heads: ";
  EXPECT_EQ(fault([](auto& s) { s.forward = {-1}; }), named + "a time must be more than 0 and finite");
  EXPECT_EQ(fault([](auto& s) { s.forward = {0}; }), named + "a time must be more than 0 and finite");
  EXPECT_EQ(fault([](auto& s) { s.backward = seconds{std::numeric_limits<double>::infinity()}; }),
            named + "a time must be more than 0 and finite");
  EXPECT_EQ(fault([](auto& s) { s.kv_heads = 0; }), named + "batch, tokens, heads and head size are counted from 1");
  EXPECT_NE(fault([](auto& s) { s.keys = {511}; }).find("511 keys, 8 heads: keys are the prefix"), std::string::npos);
}

}  // namespace
}  // namespace slimpack::attention_table_test
