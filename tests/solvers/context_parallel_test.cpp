#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::context_parallel_test {
namespace {

constexpr costs::quadratic cost{.linear = 1e-6, .attention = 4e-11, .per_pack = {6e-5}, .hop = {2e-5}};

result<plan> planned(const shape& on, const auto& how, const std::vector<tokens>& lengths) {
  return planner{on, how.slicer, cost, how.solver, how.schedule}(lengths);
}

/// Tokens of each forward pack of a replica.
std::vector<std::int64_t> sizes(const plan& p, std::size_t replica) {
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < p.replicas[replica].partition.forward.size(); ++i)
    found.push_back(size_of(p.replicas[replica].partition.forward[i]).value);
  return found;
}

/// On nodes of two replicas.
template <class Recipe>
Recipe relayed(Recipe how) {
  how.solver.relays = {.segments = 2, .replicas_per_node = 2};
  return how;
}

TEST(ContextParallel, PlansKeepTheLawsAndTheCap) {
  std::size_t relays = 0;
  const auto seeds = static_cast<std::uint64_t>(tests::cases(60));
  for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(1, 6)),
                   .chunks = static_cast<int>(random.between(1, 2)),
                   .quantum = {64}};
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(1, 20); n > 0; --n) lengths.push_back(random.length({8192}));
    const tokens longest = *std::max_element(lengths.begin(), lengths.end());
    const tokens cap{random.once_in(2) ? 0 : longest.value + 64 * random.between(0, 40)};
    for (const auto& how : {baselines::te_cp(on, cap), baselines::llama_cp(on, cap), baselines::hybrid_dp(on, cap),
                            baselines::zeppelin(on, cap), baselines::zeppelin(on, cap, {500, 2000, 2}),
                            relayed(baselines::te_cp(on, cap)), relayed(baselines::zeppelin(on, cap))}) {
      const result<plan> made = planned(on, how, lengths);
      ASSERT_TRUE(made) << made.error().detail;
      const testing::report laws = testing::plan_laws(made.value(), cost);
      EXPECT_TRUE(laws) << laws;
      for (std::size_t r = 0; r < made.value().replicas.size(); ++r)
        for (const std::int64_t size : sizes(made.value(), r))
          EXPECT_TRUE(cap == tokens{0} || size <= cap.value) << size;
      for (const merge& m : made.value().merges) {
        EXPECT_EQ(m.exchange, how.solver.exchange);
        EXPECT_EQ(m.forward.size(), 1u);
        EXPECT_TRUE(how.solver.relays.segments > 0 || m.relays.empty());
        relays += m.relays.size();
        const auto sharers = static_cast<std::int64_t>(m.replicas.size());
        EXPECT_TRUE(how.solver.groups != solvers::sharing_groups::power_of_two || (sharers & (sharers - 1)) == 0 ||
                    lengths[m.sequence.value] <= on.quantum * sharers)
            << sharers;
      }
    }
  }
  EXPECT_GT(60 * relays, 100 * seeds);
}

TEST(ContextParallel, RelaysNothingThatIsKept) {
  const shape on{.stages = 1, .replicas = 4, .quantum = {64}};
  const result<plan> made = planned(on, relayed(baselines::llama_cp(on)), {{1024}});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().detail.find("relays spread nothing: leave them out, or choose exchange::ring"),
            std::string::npos)
      << made.error().detail;
}

/// Two replicas of two stages: the long sequence in halves, each a piece of its front and one of its back.
TEST(ContextParallel, SharersHaveAPieceOfEachEnd) {
  const shape on{.stages = 2, .replicas = 2, .quantum = {64}};
  const plan p = planned(on, baselines::te_cp(on, {512}), {{1024}, {256}}).value();
  ASSERT_EQ(p.merges.size(), 2u);
  EXPECT_EQ(sizes(p, 0), (std::vector<std::int64_t>{512, 128}));  // the cap is what the longest takes: two micro-steps
  const std::span<const slice> first = p.replicas[0].partition.forward[0];
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0], (slice{{0}, {0}, {256}}));
  EXPECT_EQ(first[1], (slice{{0}, {768}, {256}}));
  EXPECT_EQ(p.replicas[1].partition.forward[0].size(), 1u);  // both of its pieces touch
}

TEST(ContextParallel, HybridSharesNoMoreThanTheCapAsks) {
  const shape on{.stages = 1, .replicas = 4, .quantum = {64}};
  const plan p =
      planned(on, baselines::hybrid_dp(on, {1024}), {{4096}, {2048}, {1024}, {512}, {512}, {512}, {512}}).value();
  ASSERT_EQ(p.merges.size(), 2u);
  EXPECT_EQ(p.merges[0].replicas, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(p.merges[1].replicas.size(), 2u);
  for (std::size_t r = 0; r < 4; ++r)  // 9,216 tokens, a share of 2,304 each; micro-steps of at most 1,024
    for (const std::int64_t size : sizes(p, r)) EXPECT_LE(size, 1024);
}

/// A cap that is not given is never worse than one that is, of those that are tried, with memory for few tokens and for
/// all.
TEST(ContextParallel, ChoosesTheCap) {
  std::size_t above_least = 0;
  for (std::uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    shape on{.stages = 2, .replicas = 4, .quantum = {64}};
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(4, 20); n > 0; --n) lengths.push_back({random.between(64, 4096)});
    if (random.once_in(2)) on.memory = {memory_unit::token, static_cast<double>(4096 * random.between(1, 4))};
    const tokens longest = *std::max_element(lengths.begin(), lengths.end());
    const tokens least{64 * ((longest.value + 4 * 64 - 1) / (4 * 64))};
    const result<plan> chosen = planned(on, baselines::te_cp(on), lengths);
    ASSERT_TRUE(chosen) << chosen.error().detail;
    for (tokens cap = least; cap.value < 100000; cap = 2 * cap) {
      const result<plan> given = planned(on, baselines::te_cp(on, cap), lengths);
      if (given) {
        EXPECT_LE(chosen.value().step_time, given.value().step_time * (1 + 1e-12)) << cap.value;
      }
    }
    for (const std::int64_t size : sizes(chosen.value(), 0))
      if (size > least.value) ++above_least;
  }
  EXPECT_GT(above_least, 0u);
}

/// Zones of 100 and of 1,000 tokens for each further sharer, nodes of two replicas.
TEST(ContextParallel, ZonesShareWhatAttentionCovers) {
  constexpr solvers::sharing_zones zone{.inside = 100, .between = 1000, .replicas_per_node = 2};
  EXPECT_TRUE(zone.allow({100}, 2));
  EXPECT_FALSE(zone.allow({99}, 2));
  EXPECT_TRUE(zone.allow({3000}, 4));
  EXPECT_FALSE(zone.allow({2999}, 4));
  EXPECT_EQ(zone.larger(1, 8), 2u);
  EXPECT_EQ(zone.larger(2, 8), 4u);  // nodes at a time
  EXPECT_EQ(zone.larger(4, 8), 6u);
  EXPECT_EQ(zone.larger(6, 7), 7u);
  constexpr solvers::sharing_zones threes{.replicas_per_node = 3};
  std::string begins;
  for (std::uint32_t first = 0; first < 6; ++first)
    for (const std::uint32_t group : {1u, 2u, 3u, 6u}) begins += threes.may_begin(first, group, 6) ? '1' : '0';
  EXPECT_EQ(begins, "111110001000111110001000");  // of two, none lies on two nodes
  const shape on{.stages = 1, .replicas = 4, .quantum = {4}};
  const auto sharers = [&](std::int64_t length) {
    const plan p = planned(on, baselines::zeppelin(on, {8192}, zone), {{length}}).value();
    return p.merges.empty() ? std::size_t{1} : p.merges[0].replicas.size();
  };
  EXPECT_EQ(sharers(96), 1u);  // it has all the work, and may not be shared
  EXPECT_EQ(sharers(100), 2u);
  EXPECT_EQ(sharers(2996), 2u);  // not across nodes
  EXPECT_EQ(sharers(3000), 4u);
  const plan forced = planned(on, baselines::zeppelin(on, {32}, zone), {{96}}).value();
  EXPECT_EQ(forced.merges.at(0).replicas.size(), 4u);  // a cap asks for more than the zone would let
}

/// 2 (k / h) F / W for eight key heads of 32: 2 / 4 x 400e12 / 200e9 = 1,000 tokens inside, 8,000 between.
TEST(ContextParallel, ZonesAreWhereAttentionCoversARing) {
  costs::model_shape model;
  model.heads = 32, model.kv_heads = 8, model.head_dim = 128;
  costs::gpu device;
  device.peak_bf16_flops = 800e12, device.attention_efficiency = 0.5, device.gpus_per_node = 8;
  device.inside.bandwidth = 200e9, device.between.bandwidth = 25e9;
  const solvers::sharing_zones zone =
      solvers::sharing_zones::of(model, device, {.stages = 2, .replicas = 8, .tensor = 2});
  EXPECT_DOUBLE_EQ(zone.inside, 1000);
  EXPECT_DOUBLE_EQ(zone.between, 8000);
  EXPECT_EQ(zone.replicas_per_node, 2u);
  EXPECT_EQ(solvers::sharing_zones::of(model, device, {.stages = 8, .replicas = 8, .tensor = 2}).replicas_per_node, 1u);
}

TEST(ContextParallel, RefusesWhatCannotBe) {
  const shape on{.stages = 1, .replicas = 2, .quantum = {64}};
  const result<plan> capped = planned(on, baselines::te_cp(on, {256}), {{1024}});
  ASSERT_FALSE(capped);
  EXPECT_EQ(capped.error().code, errc::out_of_memory);
  EXPECT_NE(capped.error().detail.find("1024 tokens takes 512 on each of 2 replicas, the cap is 256"),
            std::string::npos)
      << capped.error().detail;
  auto ring = baselines::te_cp(on);
  ring.solver.share_by(exchange_set::only(exchange::keep));
  const result<plan> unable = planned(on, ring, {{1024}});
  ASSERT_FALSE(unable);
  EXPECT_NE(unable.error().detail.find("exchange::ring"), std::string::npos) << unable.error().detail;
}

}  // namespace
}  // namespace slimpack::context_parallel_test
