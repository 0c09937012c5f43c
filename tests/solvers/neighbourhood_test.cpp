#include <slimpack/planner.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/improve/detail/neighbourhood.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include "../laws/cases.hpp"
#include "../support/every_plan.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::neighbourhood_test {
namespace {

const costs::quadratic cost{.per_pack = {6e-5}, .hop = {2e-5}};

/// Each sequence whole in a pack of its own.
partition apart(const std::vector<sequence>& own) {
  partition packs;
  for (micropacks* p : {&packs.forward, &packs.backward}) {
    for (const sequence& s : own) {
      p->push({s.id, {0}, s.length});
      p->close();
    }
  }
  return packs;
}

/// Whether packs run each token once, from the fronts of sequences forward and from their ends backward, cut at quanta.
bool in_order(const micropacks& packs, pass p, const std::vector<sequence>& own, tokens quantum) {
  std::vector<tokens> done(own.size());
  for (const slice& s : packs.slices()) {
    const tokens length = own[s.sequence.value].length;
    tokens& ran = done[s.sequence.value];
    if (ran != (p == pass::forward ? s.begin : length - s.end()) || s.begin.value % quantum.value != 0) return false;
    ran += s.length;
  }
  for (const sequence& s : own)
    if (done[s.id.value] != s.length) return false;
  return true;
}

/// Walks over random neighbours and gives each to `check`.
template <class Slicer, class Check>
void walk(const Slicer& slicer, std::uint64_t seed, tokens cap, const Check& check) {
  testing::generator random(seed);
  const std::vector<tokens> lengths = tests::random_lengths(random, 6, {3000});
  const std::vector<sequence> own = batch_view(lengths).sequences();
  detail::neighbourhood moves(std::span<const sequence>(own), slicer, cost, {{}, cap, {128}, 0, true});
  partition at = apart(own);
  detail::splitmix moved;
  for (int step = 0; step < 200; ++step)
    if (std::optional<partition> next = moves.neighbour(at, moved)) check(at = *std::move(next), own);
}

TEST(Neighbourhood, RunEachTokenOnceInLegalOrder) {
  const auto legal = [](const partition& packs, const std::vector<sequence>& own) {
    EXPECT_TRUE(in_order(packs.forward, pass::forward, own, {128}));
    EXPECT_TRUE(in_order(packs.backward, pass::backward, own, {128}));
  };
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    walk(slicers::equal_cost{}, seed, longest_supported, legal);
    walk(slicers::uniform{{256}}, seed, longest_supported, legal);
    walk(slicers::whole{}, seed, longest_supported, legal);
  }
}

TEST(Neighbourhood, ExceedNoPackLimit) {
  for (const std::int64_t cap : {3000, 4000}) {  // the longest sequence has 3000 tokens
    const auto fits = [&](const partition& packs, const std::vector<sequence>&) {
      for (const micropacks* of : {&packs.forward, &packs.backward})
        for (std::size_t i = 0; i < of->size(); ++i) EXPECT_LE(size_of((*of)[i]).value, cap);
    };
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << cap << " tokens");
      walk(slicers::equal_cost{}, seed, {cap}, fits);
      walk(slicers::uniform{{256}}, seed, {cap}, fits);
      walk(slicers::whole{}, seed, {cap}, fits);
    }
  }
}

TEST(Neighbourhood, CutOnlyWhereTheSlicerDoes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed)
    walk(slicers::whole{}, seed, longest_supported, [&](const partition& packs, const std::vector<sequence>& own) {
      EXPECT_EQ(packs.forward.slices().size(), own.size()) << "seed " << seed;
      EXPECT_EQ(packs.backward.slices().size(), own.size()) << "seed " << seed;
    });
}

TEST(Neighbourhood, AreTheSameForTheSameNumbers) {
  std::vector<partition> first;
  std::vector<partition> second;
  walk(slicers::equal_cost{}, 7, longest_supported, [&](const partition& p, const auto&) { first.push_back(p); });
  walk(slicers::equal_cost{}, 7, longest_supported, [&](const partition& p, const auto&) { second.push_back(p); });
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, second);
}

/// Nothing waits on one stage, so the fewest packs are the fastest: 3 seconds for each of 1964 tokens, and the overhead
/// of one pack in each pass, however long the sequences are.
TEST(Neighbourhood, LeaveOnePackOnOneStage) {
  const costs::quadratic linear{.linear = 1, .attention = 0, .per_pack = {64}};
  const planner plans{shape{.stages = 1}, slicers::equal_cost{}, linear};
  const plan made = plans(tests::lengths_of({418, 505, 934, 107})).value();
  EXPECT_EQ(made.step_time, seconds{3 * 1964 + 2 * 64});
}

TEST(Neighbourhood, ReachTheBestPlanOfTinyBatches) {
  int best = 0;
  int all = 0;
  for (int seed = 1; seed <= tests::cases(100); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    std::vector<tokens> lengths;
    for (std::int64_t slices = 3; slices > 0;) {
      const std::int64_t own = random.between(1, slices);
      lengths.push_back({(own - 1) * 128 + random.between(1, 128)});
      slices -= own;
    }
    shape on{.stages = static_cast<int>(random.between(1, 3)), .quantum = {128}};
    const double ratio = planner{on, slicers::equal_cost{}, cost}(lengths).value().step_time /
                         tests::shortest_replica(cost, on, batch_view(lengths).sequences(), false);
    EXPECT_LE(ratio, 1.10) << "seed " << seed;
    best += ratio < 1 + 1e-9;
    ++all;
  }
  std::cout << best << " of " << all << " as fast as the best plan\n";
  EXPECT_GE(best, all * 9 / 10);
}

}  // namespace
}  // namespace slimpack::neighbourhood_test
