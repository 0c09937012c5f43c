#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace slimpack::division_test {
namespace {

constexpr double never = 1e9;

detail::division divided(const std::vector<double>& work, std::vector<detail::sharers_range> sharers,
                         std::size_t replicas, double share) {
  const std::vector<tokens> lengths(work.size(), tokens{4096});
  if (sharers.empty()) sharers.assign(work.size(), {1, static_cast<std::uint32_t>(replicas)});
  const std::vector<sequence> batch = batch_view(lengths).sequences();
  detail::division units = detail::grouped(batch, work, sharers, replicas, share);
  detail::share_out(units, batch, work, std::vector<double>(replicas, 0.0));
  return units;
}

std::vector<std::uint32_t> ids(const std::vector<sequence>& sequences) {
  std::vector<std::uint32_t> found;
  for (const sequence& s : sequences) found.push_back(s.id.value);
  return found;
}

TEST(Division, HasEachReplicaInOneUnitAndEachSequenceOnceInBatchOrder) {
  testing::generator random(11);
  for (int round = 0; round < 200; ++round) {
    const auto replicas = static_cast<std::size_t>(random.between(1, 9));
    std::vector<double> work;
    std::vector<detail::sharers_range> sharers;
    for (std::int64_t n = random.between(1, 40); n > 0; --n) {
      work.push_back(static_cast<double>(random.between(1, 100) * random.between(1, 100)));
      const auto most = static_cast<std::uint32_t>(random.between(1, static_cast<std::int64_t>(replicas)));
      sharers.push_back({random.once_in(8) ? static_cast<std::uint32_t>(random.between(1, most)) : 1, most});
    }
    const double share = static_cast<double>(random.between(1, 12)) / 8;
    const detail::division units = divided(work, sharers, replicas, share);
    std::vector<std::uint32_t> seen;
    std::vector<int> times(work.size(), 0);
    for (const detail::planning_unit& u : units) {
      seen.insert(seen.end(), u.replicas.begin(), u.replicas.end());
      EXPECT_EQ(u.shared.empty(), u.replicas.size() == 1) << "seed 11, round " << round;
      EXPECT_TRUE(
          std::is_sorted(u.own.begin(), u.own.end(), [](const sequence& a, const sequence& b) { return a.id < b.id; }));
      for (const std::vector<sequence>* list : {&u.shared, &u.own})
        for (const std::uint32_t s : ids(*list)) ++times[s];
      for (const std::uint32_t s : ids(u.shared))
        EXPECT_LE(u.replicas.size(), sharers[s].most) << "seed 11, round " << round;
    }
    std::vector<std::uint32_t> all(replicas);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(seen, all) << "seed 11, round " << round;
    EXPECT_EQ(times, std::vector<int>(work.size(), 1)) << "seed 11, round " << round;
  }
}

// 10 + 9 + 1 = 20 of 2 replicas: 10 each.
TEST(Division, BalancesWork) {
  const detail::division units = divided({10, 9, 1}, {}, 2, never);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(std::max(ids(units[0].own).size(), ids(units[1].own).size()), 2u);
}

// Mean 30 of 4 replicas. Half of it each: 60 takes 4 replicas; all of it: 2, of 30 each, and 15 x 4 on the others.
TEST(Division, SharesWhatIsTooHeavyAmongAsManyAsItTakes) {
  const std::vector<double> work{60, 15, 15, 15, 15};
  const detail::division halves = divided(work, {}, 4, 0.5);
  ASSERT_EQ(halves.size(), 1u);
  EXPECT_EQ(halves[0].replicas, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(ids(halves[0].shared), (std::vector<std::uint32_t>{0}));
  const detail::division wholes = divided(work, {}, 4, 1);
  ASSERT_EQ(wholes.size(), 3u);
  EXPECT_EQ(wholes[0].replicas, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(wholes[0].own.empty());
  EXPECT_EQ(wholes[1].own.size(), 2u);
  EXPECT_EQ(wholes[2].own.size(), 2u);
}

TEST(Division, SharesWhatMemoryForcesHoweverLight) {
  const detail::division units = divided({1, 8, 8}, {{3, 4}, {1, 4}, {1, 4}}, 4, never);
  EXPECT_EQ(units[0].replicas.size(), 3u);
  EXPECT_EQ(ids(units[0].shared), (std::vector<std::uint32_t>{0}));
}

// Of 6 replicas two sequences need 3 or more, and one of 2 quanta needs 2: a group for both, and one for it.
TEST(Division, KeepsReplicasForWhatNoLargerGroupSuits) {
  const detail::division units = divided({9, 8, 4}, {{3, 5}, {3, 5}, {2, 2}}, 6, never);
  ASSERT_EQ(units.size(), 3u);
  EXPECT_EQ(units[0].replicas.size(), 3u);
  EXPECT_EQ(ids(units[0].shared), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(units[1].replicas.size(), 2u);
  EXPECT_EQ(ids(units[1].shared), (std::vector<std::uint32_t>{2}));
}

/// Whether groups of distinct sizes, at most `replicas` in all, suit all sequences, by trial of every set of sizes.
bool any_groups_suit(const std::vector<detail::sharers_range>& sharers, std::uint32_t replicas) {
  for (std::uint32_t sizes = 0; sizes < (1u << (replicas - 1)); ++sizes) {  // bit g: a group of g + 2
    std::uint32_t all = 0;
    for (std::uint32_t g = 0; g < replicas - 1; ++g) all += (sizes >> g & 1u) * (g + 2);
    const auto suits = [&](const detail::sharers_range& s) {
      for (std::uint32_t n = s.least; n <= s.most; ++n)
        if (n > 1 && (sizes >> (n - 2) & 1u) != 0) return true;
      return false;
    };
    if (all <= replicas && std::all_of(sharers.begin(), sharers.end(), suits)) return true;
  }
  return false;
}

TEST(Division, SharesAllThatMemoryForcesWhereAnyGroupsCan) {
  testing::generator random(12);
  int possible = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto replicas = static_cast<std::uint32_t>(random.between(2, 9));
    std::vector<double> work;
    std::vector<detail::sharers_range> sharers;
    for (std::int64_t n = random.between(1, 8); n > 0; --n) {
      work.push_back(static_cast<double>(random.between(1, 100)));
      const auto most = static_cast<std::uint32_t>(random.between(2, replicas));
      sharers.push_back({static_cast<std::uint32_t>(random.between(2, most)), most});
    }
    std::size_t shared = 0;
    for (const detail::planning_unit& u : divided(work, sharers, replicas, never)) shared += u.shared.size();
    EXPECT_EQ(shared == work.size(), any_groups_suit(sharers, replicas)) << "seed 12, round " << round;
    possible += shared == work.size();
  }
  EXPECT_GT(possible, 500);
}

// Mean 10 of 4: 14 takes two replicas, 7 each; none has room for 6, a pair of them has.
TEST(Division, SharesWhatNoReplicaHasRoomFor) {
  const detail::division units = divided({14, 14, 6, 6}, {}, 4, 1);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(ids(units[0].shared), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(ids(units[1].shared), (std::vector<std::uint32_t>{1, 3}));
}

// Mean 10 of 2; light is at most 0.2.
TEST(Division, LetsGroupsShareAllThatIsNotLight) {
  const std::vector<double> work{10, 9.9, 0.1};
  const std::vector<sequence> batch = batch_view(std::vector<tokens>(3, tokens{4096})).sequences();
  detail::division units{{{0, 1}, {batch[0]}, {batch[1], batch[2]}}};
  EXPECT_FALSE(detail::share_more(units, work, std::vector<detail::sharers_range>(3, {1, 1})));
  EXPECT_TRUE(detail::share_more(units, work, std::vector<detail::sharers_range>(3, {1, 2})));
  detail::share_out(units, batch, work, {0, 0});
  EXPECT_EQ(ids(units[0].shared), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(ids(units[0].own), (std::vector<std::uint32_t>{2}));
}

TEST(Division, GivesTheLightestGroupWhatComesWhenReplicasRunOut) {
  // Mean 10 of 4: each of 14, 12, 11 and 3 wants two.
  const detail::division units = divided({14, 12, 11, 3}, {}, 4, 1);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(ids(units[0].shared), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(ids(units[1].shared), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(ids(units[0].own), (std::vector<std::uint32_t>{3}));
}

/// Units of random sizes and own sequences, and when they end.
struct ended_units {
  detail::division units;
  std::vector<seconds> ends;
  std::vector<double> work;
};
ended_units any_ended_units(testing::generator& random) {
  ended_units made;
  std::uint32_t replica = 0;
  for (std::int64_t n = random.between(1, 6); n > 0; --n) {
    detail::planning_unit& u = made.units.emplace_back();
    for (std::int64_t m = random.between(1, 4); m > 0; --m) u.replicas.push_back(replica++);
    for (std::int64_t own = random.between(0, 12); own > 0; --own) {
      u.own.push_back({{static_cast<std::uint32_t>(made.work.size())}, {128}});
      made.work.push_back(static_cast<double>(random.between(1, 50)));
    }
    made.ends.push_back({static_cast<double>(random.between(500, 700))});
  }
  return made;
}

TEST(Level, LetsTheLastEndSoonerAndKeepsEachSequence) {
  testing::generator random(23);
  int sooner = 0;
  for (int round = 0; round < 200; ++round) {
    const ended_units before = any_ended_units(random);
    ended_units after = before;
    const std::vector<tokens> lengths(before.work.size(), tokens{128});
    detail::level(after.units, batch_view(lengths).sequences(), before.work, before.ends);
    std::vector<std::uint32_t> seen;
    for (std::size_t u = 0; u < after.units.size(); ++u) {
      const std::vector<sequence>& own = after.units[u].own;
      for (const std::uint32_t s : ids(own)) seen.push_back(s);
      EXPECT_TRUE(
          std::is_sorted(own.begin(), own.end(), [](const sequence& a, const sequence& b) { return a.id < b.id; }));
      double more = 0;
      for (const sequence& s : own) more += before.work[s.id.value];
      for (const sequence& s : before.units[u].own) more -= before.work[s.id.value];
      after.ends[u] += seconds{more / static_cast<double>(after.units[u].replicas.size())};
    }
    std::sort(seen.begin(), seen.end());
    std::vector<std::uint32_t> all(before.work.size());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(seen, all) << "seed 23, round " << round;
    const seconds last = *std::max_element(before.ends.begin(), before.ends.end());
    const seconds now = *std::max_element(after.ends.begin(), after.ends.end());
    EXPECT_LE(now, last * (1 + 1e-12)) << "seed 23, round " << round;
    sooner += now < last * (1 - 1e-6);
  }
  EXPECT_GT(sooner, 100);
}

// To hand over 30 would leave them at 90 and 130; against 20 both end at 110.
TEST(Level, SwapsWhereAMoveIsTooMuch) {
  detail::division units{{{0}, {}, {{{0}, {128}}}}, {{1}, {}, {{{1}, {128}}}}};
  const std::vector<sequence> batch = batch_view(std::vector<tokens>(2, tokens{128})).sequences();
  detail::level(units, batch, std::vector<double>{30, 20}, std::vector<seconds>{{120}, {100}});
  EXPECT_EQ(ids(units[0].own), std::vector<std::uint32_t>{1});
  EXPECT_EQ(ids(units[1].own), std::vector<std::uint32_t>{0});
}

}  // namespace
}  // namespace slimpack::division_test
