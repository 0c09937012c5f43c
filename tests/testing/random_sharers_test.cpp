#include <slimpack/testing/detail/random_sharers.hpp>

#include "../executors/everywhere.hpp"
#include "../executors/shared_prefix_model.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace slimpack::random_sharers_test {
namespace {

struct as_given {
  solution given;
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const {
    return given;
  }
};

struct asked {
  shape on;
  std::vector<tokens> lengths;
  solution found;
};

/// Quadratic times, and whole numbers of everything that a stage can hold.
struct holding : costs::quadratic {
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    memory_rates rates;
    rates.fixed = 1000 + stage;
    rates.live_token = 40, rates.gradient_token = 12, rates.other_token = 9, rates.forward_token = 3,
    rates.backward_token = 7;
    return rates;
  }
};

asked any(std::uint64_t seed) {
  testing::generator random(seed);
  asked a{{.stages = static_cast<int>(random.between(1, 3)),
           .replicas = static_cast<int>(random.between(2, 4)),
           .quantum = {random.between(1, 4)}},
          {},
          {}};
  for (std::int64_t n = random.between(1, 6); n > 0; --n) a.lengths.push_back(random.length({60}));
  a.lengths.push_back({random.between(20, 60)});
  a.found = testing::random_sharers(a.lengths, a.on, random, seed % 4 == 0 ? exchange::queries : exchange::keep);
  return a;
}

result<plan> planned(const asked& a) {
  return basic_planner{
      a.on, slicers::equal_cost{}, holding{}, as_given{a.found}, schedules::list{}, simulators::sweep{}}(a.lengths);
}

TEST(RandomSharers, AreRightAnswersAndRunExactly) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const asked a = any(seed);
    const result<plan> p = planned(a);
    ASSERT_TRUE(p) << p.error().detail << ", seed " << seed;
    const testing::report laws = testing::plan_laws(p.value(), holding{});
    ASSERT_TRUE(laws) << laws << ", seed " << seed;
    std::vector<shared_prefix_stage<backward_cuts::any>> stages;
    for (int rank = 0; rank < tests::ranks_of(p.value()); ++rank)
      stages.emplace_back(rank % a.on.stages, a.on.stages, 1);
    const prefix_model::gradients expected = prefix_model::whole(a.lengths, a.on.stages * 2);
    const auto reports = tests::run_everywhere(p.value(), stages);
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", seed " << seed;
      EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << "seed " << seed;
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_EQ(stages[rank].gradient()[k], expected.weight[rank % static_cast<std::size_t>(a.on.stages) * 2 + k])
            << "seed " << seed;
    }
  }
}

TEST(RandomSharers, ShareInEveryWay) {
  int uneven = 0, beside = 0, several = 0, among_some = 0, absent = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const asked a = any(seed);
    std::set<std::vector<std::uint32_t>> groups;
    for (const merge& m : a.found.merges) groups.insert(m.replicas);
    among_some += groups.size() > 1;
    for (const replica_solution& r : a.found.replicas) {
      beside += r.sequences.size() > a.found.merges.size();
      for (std::size_t i = 0; i < r.partition.forward.size(); ++i) {
        std::set<sequence_id> shared;
        for (const slice& s : r.partition.forward[i])
          for (const merge& m : a.found.merges)
            if (m.sequence == s.sequence) shared.insert(s.sequence);
        several += shared.size() > 1;
      }
    }
    for (const merge& m : a.found.merges)
      for (const std::vector<pack_id>& row : m.forward) {
        std::vector<tokens> own;
        absent += std::find(row.begin(), row.end(), merge::none) != row.end();
        for (std::size_t k = 0; k < row.size(); ++k) {
          if (row[k] == merge::none) continue;
          tokens sum{};
          for (const slice& s : a.found.replicas[m.replicas[k]].partition.forward[row[k].value])
            if (s.sequence == m.sequence) sum += s.length;
          own.push_back(sum);
        }
        uneven += own.front() != own.back();
      }
  }
  for (const int seen : {uneven, beside, several, among_some, absent}) EXPECT_GT(seen, 5);
}

TEST(RandomSharers, AreTheSameForTheSameSeed) {
  const asked a = any(7), b = any(7);
  EXPECT_EQ(a.found.merges, b.found.merges);
  for (std::size_t r = 0; r < a.found.replicas.size(); ++r)
    EXPECT_EQ(a.found.replicas[r].partition, b.found.replicas[r].partition);
}

}  // namespace
}  // namespace slimpack::random_sharers_test
