#include <slimpack/core/forest/forest.hpp>
#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/naive/slices.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::sites_test {
namespace {

namespace improve = solvers::improve;

/// The sequences of each pack of a pass, in order.
std::vector<std::vector<std::uint32_t>> ids(const micropacks& packs) {
  std::vector<std::vector<std::uint32_t>> found;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    found.emplace_back();
    for (const slice& s : packs[i]) found.back().push_back(s.sequence.value);
  }
  return found;
}
using order = std::vector<std::vector<std::uint32_t>>;

/// Sequences of 10 tokens, in packs of a pass as they are given.
partition packs_of(const order& packs) {
  partition made;
  for (const pass p : both_passes)
    for (const std::vector<std::uint32_t>& pack : packs) {
      for (const std::uint32_t id : pack) made.of(p).push({{id}, {0}, {10}});
      made.of(p).close();
    }
  return made;
}

struct drawing {
  detail::splitmix random{};
  solvers::search_options options{};

  improve::sequence_site of(partition& packs, const std::vector<sequence>& own, tokens limit) {
    return {packs, own, limit, random, options};
  }
};

const std::vector<sequence> three{{{0}, {10}}, {{1}, {10}}, {{2}, {10}}};

TEST(SequenceSite, LetsASequenceRunBeforeAnother) {
  partition packs = packs_of({{0}, {1}, {2}});
  drawing numbers;
  improve::sequence_site at = numbers.of(packs, three, {100});
  at.run_before(pass::forward, {2}, {0});
  EXPECT_EQ(ids(packs.forward), (order{{2}, {0}, {1}}));
  EXPECT_EQ(ids(packs.backward), (order{{0}, {1}, {2}}));
  at.run_before(pass::forward, {2}, {2});  // last of all
  EXPECT_EQ(ids(packs.forward), (order{{0}, {1}, {2}}));
}

// Sequence 2 is the last of its pack, and stays one where it goes; sequence 1 is not, and joins the pack that it comes
// to.
TEST(SequenceSite, TakesTheBorderAfterASequenceAlong) {
  drawing numbers;
  partition packs = packs_of({{0}, {1, 2}});
  numbers.of(packs, three, {100}).run_before(pass::forward, {2}, {0});
  EXPECT_EQ(ids(packs.forward), (order{{2}, {0}, {1}}));
  packs = packs_of({{0}, {1, 2}});
  numbers.of(packs, three, {100}).run_before(pass::forward, {1}, {0});
  EXPECT_EQ(ids(packs.forward), (order{{1, 0}, {2}}));
}

// Sequence 0 is not the last of its pack, and joins 2 and 3: where two fill a pack, there is a border before the third.
TEST(SequenceSite, ClosesAPackBeforeWhatDoesNotFit) {
  const std::vector<sequence> four{{{0}, {10}}, {{1}, {10}}, {{2}, {10}}, {{3}, {10}}};
  drawing numbers;
  partition packs = packs_of({{0, 1}, {2, 3}});
  numbers.of(packs, four, {30}).run_before(pass::forward, {0}, {3});
  EXPECT_EQ(ids(packs.forward), (order{{1}, {2, 0, 3}}));
  packs = packs_of({{0, 1}, {2, 3}});
  numbers.of(packs, four, {29}).run_before(pass::forward, {0}, {3});
  EXPECT_EQ(ids(packs.forward), (order{{1}, {2, 0}, {3}}));
}

// Of random packs: each pass still has its tokens once, in order, no pack takes more than it may, and what was not
// moved keeps its order.
TEST(SequenceSite, KeepsTheTokensOfAPass) {
  for (int seed = 1; seed <= tests::cases(100); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    std::vector<tokens> lengths;
    for (std::int64_t n = random.between(2, 8); n > 0; --n) lengths.push_back(random.length({4000}));
    const std::vector<sequence> own = batch_view(lengths).sequences();
    partition packs = testing::random_partition(lengths, {64}, costs::quadratic{}, random);
    const pass p = random.once_in(2) ? pass::forward : pass::backward;
    tokens most{};
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) most = std::max(most, size_of(packs.of(p)[i]));
    const auto any = [&] {
      return own[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(own.size()) - 1))].id;
    };
    const sequence_id moved = any(), before = any();
    const auto others = [&] {  // without borders: neighbours that touch are one slice
      micropacks all;
      for (const slice& s : packs.of(p).slices())
        if (s.sequence != moved) all.push(s);
      all.close();
      return all;
    };
    const micropacks rest = others();
    drawing numbers;
    numbers.of(packs, own, most).run_before(p, moved, before);
    const auto slices = testing::naive::by_sequence(packs.of(p));
    for (const sequence& s : own)
      EXPECT_EQ(testing::naive::gap(slices.at(s.id), s.whole(), p), std::nullopt) << "seed " << seed;
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) EXPECT_LE(size_of(packs.of(p)[i]), most) << "seed " << seed;
    EXPECT_EQ(others(), rest) << "seed " << seed;
    const std::span<const slice> all = packs.of(p).slices();
    const auto of = [](sequence_id id) { return [id](const slice& s) { return s.sequence == id; }; };
    const auto first = std::find_if(all.begin(), all.end(), of(moved)),
               next = std::find_if(all.begin(), all.end(), of(before));
    EXPECT_TRUE(moved == before ? all.back().sequence == moved : first < next) << "seed " << seed;
  }
}

// A sequence takes all along that goes on behind it, and goes among those with its parent.
TEST(SequenceSite, MovesWhatGoesOnBehindASequenceAlong) {
  const std::vector<sequence> tree{{{0}, {10}}, {{1}, {10}, {10}, {0}}, {{2}, {10}, {20}, {1}}, {{3}, {10}, {10}, {0}}};
  const auto of = [&](const order& packs, pass p) {
    micropacks made;
    for (const std::vector<std::uint32_t>& pack : packs) {
      for (const std::uint32_t id : pack) made.push(tree[id].whole());
      made.close();
    }
    return p == pass::forward ? partition{made, {}} : partition{{}, made};
  };
  drawing numbers;
  partition packs = of({{0, 1}, {2}, {3}}, pass::forward);
  improve::sequence_site forward = numbers.of(packs, tree, {100});
  EXPECT_EQ(forward.siblings({0}), 1u);
  EXPECT_EQ(forward.siblings({3}), 2u);
  EXPECT_EQ(forward.sibling({3}, 0), sequence_id{1});
  EXPECT_EQ(forward.sibling({1}, 1), sequence_id{3});
  forward.run_before(pass::forward, {1}, {1});  // behind its siblings
  EXPECT_EQ(ids(packs.forward), (order{{0, 3}, {1}, {2}}));
  forward.run_before(pass::forward, {1}, {3});
  EXPECT_EQ(ids(packs.forward), (order{{0, 1}, {2}, {3}}));
  packs = of({{3}, {2, 1}, {0}}, pass::backward);
  improve::sequence_site backward = numbers.of(packs, tree, {100});
  backward.run_before(pass::backward, {3}, {3});  // behind its siblings, before its parent
  EXPECT_EQ(ids(packs.backward), (order{{2, 1}, {3}, {0}}));
  backward.run_before(pass::backward, {3}, {1});
  EXPECT_EQ(ids(packs.backward), (order{{3}, {2, 1}, {0}}));
}

TEST(SequenceSite, KeepsToPaths) {
  for (int seed = 1; seed <= tests::cases(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(static_cast<std::uint64_t>(seed));
    const forest batch = testing::trial_forest(random, random.between(2, 12), {4000});
    const std::vector<sequence> own = batch_view(batch).sequences();
    partition packs = testing::random_partition(batch, {64}, costs::quadratic{}, random);
    const pass p = random.once_in(2) ? pass::forward : pass::backward;
    ASSERT_EQ(testing::naive::broken_path(packs.of(p), own, p), std::nullopt);
    tokens most{};
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) most = std::max(most, size_of(packs.of(p)[i]));
    drawing numbers;
    improve::sequence_site at = numbers.of(packs, own, most);
    const sequence_id moved =
        own[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(own.size()) - 1))].id;
    const std::size_t siblings = at.siblings(moved);
    const sequence_id before =
        at.sibling(moved, static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(siblings) - 1)));
    ASSERT_EQ(own[before.value].parent, own[moved.value].parent);
    at.run_before(p, moved, before);
    EXPECT_EQ(testing::naive::broken_path(packs.of(p), own, p), std::nullopt);
    const auto slices = testing::naive::by_sequence(packs.of(p));
    for (const sequence& s : own) EXPECT_EQ(testing::naive::gap(slices.at(s.id), s.whole(), p), std::nullopt);
    for (std::size_t i = 0; i < packs.of(p).size(); ++i) EXPECT_LE(size_of(packs.of(p)[i]), most);
    const std::span<const slice> all = packs.of(p).slices();
    const auto first = [&](sequence_id id) {
      return std::find_if(all.begin(), all.end(), [&](const slice& s) { return s.sequence == id; });
    };
    for (std::size_t k = 0; k < siblings; ++k) {
      const sequence_id other = at.sibling(moved, k);
      if (other == moved || (moved != before && other != before)) continue;
      EXPECT_EQ(first(moved) < first(other), moved != before);
    }
  }
}

TEST(PackSite, KnowsTheLastPack) {
  drawing numbers;
  std::vector<double> times{1, 2, 3};
  EXPECT_FALSE((improve::pack_site{times, 1, 0, numbers.random, numbers.options}.is_last()));
  EXPECT_TRUE((improve::pack_site{times, 2, 0, numbers.random, numbers.options}.is_last()));
}

// The walk is asked for as many packs as the move wants, and the move changes what the walk then reads.
TEST(WindowSite, AsksTheWalkForTimes) {
  drawing numbers;
  std::size_t asked = 0;
  std::vector<double> scratch{9, 9};
  const auto look = [](void* walk, std::size_t packs, std::vector<double>& times) {
    *static_cast<std::size_t*>(walk) = packs;
    times.assign(packs, 2.0);
  };
  improve::window_site at(pass::backward, numbers.random, numbers.options, &asked, look, scratch);
  at.times(3)[1] = 5;
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(scratch, (std::vector<double>{2, 5, 2}));
  EXPECT_EQ(at.direction, pass::backward);
}

}  // namespace
}  // namespace slimpack::sites_test
