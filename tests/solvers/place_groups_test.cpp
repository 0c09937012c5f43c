#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/divide/place_groups.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace slimpack::place_groups_test {
namespace {

/// Nodes of so many replicas; an exchange across them takes ten times as long.
struct nodes_of : costs::quadratic {
  std::uint32_t replicas;
  [[nodiscard]] bool within(std::span<const std::uint32_t> sharers) const {
    return sharers.front() / replicas == sharers.back() / replicas;
  }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice>, pass, int) const {
    return {within(row.sharers) ? 1e-5 : 1e-4};
  }
};

using numbers = std::vector<std::uint32_t>;

/// Units of these sizes, numbered one after the other; those of several share a sequence.
detail::division units_of(const std::vector<std::size_t>& sizes) {
  detail::division units;
  std::uint32_t next = 0;
  for (const std::size_t size : sizes) {
    detail::planning_unit& u = units.emplace_back();
    for (std::size_t i = 0; i < size; ++i) u.replicas.push_back(next++);
    if (size > 1) u.shared.push_back({{0}, {4096}});
  }
  return units;
}

TEST(PlaceGroups, KeepThemInsideNodesWhereThereIsRoom) {
  detail::division units = units_of({3, 3, 2, 1, 1, 1, 1});
  detail::place_groups(units, nodes_of{{}, 4}, {128}, 0);
  EXPECT_EQ(units[0].replicas, (numbers{0, 1, 2}));
  EXPECT_EQ(units[1].replicas, (numbers{4, 5, 6}));
  EXPECT_EQ(units[2].replicas, (numbers{8, 9}));
  EXPECT_EQ(units[3].replicas, numbers{3});
  EXPECT_EQ(units[6].replicas, numbers{11});
}

TEST(PlaceGroups, LeaveThemWhereAllLinksAreAlike) {
  detail::division units = units_of({3, 3, 2, 1, 1});
  const detail::division before = units;
  detail::place_groups(units, costs::quadratic{}, {128}, 0);
  EXPECT_EQ(units, before);
  detail::place_groups(units, nodes_of{{}, 100}, {128}, 0);
  EXPECT_EQ(units, before);
}

TEST(PlaceGroups, GiveEachReplicaToOneUnit) {
  testing::generator random(5);
  for (int i = 0; i < 100; ++i) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(random.between(1, 9)));
    for (std::size_t& size : sizes) size = static_cast<std::size_t>(random.between(1, 6));
    std::sort(sizes.rbegin(), sizes.rend());
    detail::division units = units_of(sizes);
    detail::place_groups(units, nodes_of{{}, static_cast<std::uint32_t>(random.between(1, 8))}, {128}, 0);
    numbers seen;
    for (std::size_t u = 0; u < units.size(); ++u) {
      EXPECT_EQ(units[u].replicas.size(), sizes[u]) << "seed 5, division " << i;
      EXPECT_TRUE(std::is_sorted(units[u].replicas.begin(), units[u].replicas.end())) << "seed 5, division " << i;
      seen.insert(seen.end(), units[u].replicas.begin(), units[u].replicas.end());
    }
    std::sort(seen.begin(), seen.end());
    numbers all(seen.size());
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(seen, all) << "seed 5, division " << i;
  }
}

// Three replicas hold each of the two long sequences. Side by side, ranks 3 to 5 would lie across nodes of four.
TEST(PlaceGroups, KeepAPlansMergesInsideNodes) {
  shape on{.replicas = 8};
  on.memory = memory_limit{memory_unit::token, 4096};
  const nodes_of cost{{}, 4};
  const std::vector<tokens> lengths = tests::lengths_of({10000, 10000, 3000, 3000, 3000, 3000, 2500, 100});
  const plan made =
      planner{on, slicers::equal_cost{}, cost, solvers::two_phase{.effort = tests::effort}}(lengths).value();
  int of_long = 0;
  for (const merge& m : made.merges) {
    if (lengths[m.sequence.value] < tokens{10000}) continue;
    ++of_long;
    EXPECT_EQ(m.replicas.size(), 3u);
    EXPECT_TRUE(cost.within(m.replicas)) << m.replicas.front() << " to " << m.replicas.back();
  }
  EXPECT_EQ(of_long, 2);
}

}  // namespace
}  // namespace slimpack::place_groups_test
