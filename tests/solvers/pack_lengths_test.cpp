#include <slimpack/solvers/baselines/pack_lengths.hpp>

#include "batches.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/detail/least_of_packs.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace slimpack {
namespace {

using baselines::pack_lengths;

// The longest has 100 tokens, and one replica has 400 in all: 11 ratios of 4^(1/11) = 1.134.
TEST(PackLengths, GoInEqualRatiosFromTheLongestSequenceToAllThatAReplicaHas) {
  const std::vector<tokens> found = pack_lengths(tests::lengths_of({100, 100, 60, 100, 40}), {}, {});
  ASSERT_EQ(found.size(), 12u);
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].value, std::llround(100 * std::pow(4, static_cast<double>(i) / 11))) << i;
}

// 200 sequences of 10 tokens: a ratio of 2000 / 10 = 200 in all, 2 log2(200) = 15.3, so 16 ratios of 1.39.
TEST(PackLengths, HaveNoRatioAboveTheRootOfTwo) {
  const std::vector<tokens> lengths(200, tokens{1000});
  const std::vector<tokens> found = pack_lengths(lengths, {}, {});
  EXPECT_EQ(found.size(), 17u);
  for (std::size_t i = 1; i < found.size(); ++i)
    EXPECT_LT(static_cast<double>(found[i].value) / static_cast<double>(found[i - 1].value), 1.415);
}

TEST(PackLengths, EndAtWhatTheBatchHasOrAStageHasRoomFor) {
  const std::vector<tokens> lengths(8, tokens{100});
  const std::vector<tokens> three = pack_lengths(lengths, {.replicas = 3}, {});
  EXPECT_EQ(three[three.size() - 2], tokens{267});  // 800 / 3, rounded up
  EXPECT_EQ(three.back(), tokens{800});
  // (1000 - 400) / 2 = 300 tokens on the first stage; the other one has more room
  const std::vector<memory_rates> rates{{.fixed = 400, .live_token = 2}, {.fixed = 100, .live_token = 2}};
  const shape limited{.stages = 2, .memory = memory_limit{memory_unit::byte, 1000}};
  EXPECT_EQ(pack_lengths(lengths, limited, rates).back(), tokens{300});
  const shape short_of{.stages = 2, .memory = memory_limit{memory_unit::byte, 500}};
  EXPECT_EQ(pack_lengths(lengths, short_of, rates), std::vector<tokens>{tokens{100}});
}

TEST(LeastOfPacks, IsNoMoreThanAnyStepOfTheBaseline) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto drawn = [&](std::uint64_t least, std::uint64_t most) { return least + random() % (most - least + 1); };
  const costs::quadratic cost{.linear = 1, .attention = 1e-3, .per_pack = {20}, .hop = {3}};
  std::size_t planned = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<tokens> lengths(drawn(1, 24));
    for (tokens& length : lengths) length = {static_cast<std::int64_t>(drawn(1, 2000))};
    const shape on{.stages = static_cast<int>(drawn(1, 4)), .replicas = static_cast<int>(drawn(1, 3)), .quantum = {16}};
    const std::vector<memory_rates> rates(static_cast<std::size_t>(on.stages));
    for (const std::string_view name : baselines::sharing_none)
      for (const tokens pack : pack_lengths(lengths, on, rates))
        for (const attention_lending lending : all_attention_lending) {
          const auto compared = [&](auto recipe) {
            if constexpr (requires { recipe.solver.lending; })
              recipe.solver.lending = lending;
            else if (lending != attention_lending::none)
              return true;
            const result<seconds> least = detail::least_of_packs(recipe, lengths, on, cost, rates);
            const result<plan> made =
                basic_planner{on, recipe.slicer, cost, recipe.solver, recipe.schedule, simulators::sweep{}}(lengths);
            if (!made) return true;  // a row too short for its slices, say
            ++planned;
            EXPECT_TRUE(least) << least.error().detail;
            EXPECT_LE(least.value().value, made.value().step_time.value * (1 + 1e-9))
                << name << ", packs of " << pack.value;
            return true;
          };
          EXPECT_TRUE(baselines::with_named(name, on, pack, compared).has_value());
        }
  }
  EXPECT_GT(planned, 500u);
}

}  // namespace
}  // namespace slimpack
