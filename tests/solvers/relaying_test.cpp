#include <slimpack/costs/model/gpu.hpp>
#include <slimpack/solvers/baselines/relaying.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace slimpack::relaying_test {
namespace {

/// Nodes of 8 GPUs and so many adapters.
costs::gpu node_of(int adapters) {
  return {.name = "any",
          .gpus_per_node = 8,
          .inside = {{5e-6}, 200e9},
          .between = {{1e-5}, 24e9},
          .adapters_per_node = adapters};
}

TEST(Relaying, TakesAnAdapterOfEachSharer) {
  costs::gpu device = node_of(4);
  const solvers::relaying pairs = solvers::relaying::of(device, {.replicas = 16}, 1).value();
  EXPECT_EQ(pairs, (solvers::relaying{1, 8, 2}));
  std::vector<std::uint32_t> all(16);
  for (std::uint32_t r = 0; r < 16; ++r) all[r] = r;
  const std::vector<relay> relays = pairs.between(all);
  ASSERT_EQ(relays.size(), 2u);
  EXPECT_EQ(relays[0], (relay{{7, 0, 2, 4}, {8, 10, 12, 14}, 1}));  // 6 has the adapter of 7, and 9 that of 8
  EXPECT_EQ(relays[1], (relay{{15, 8, 10, 12}, {0, 2, 4, 6}, 1}));
  EXPECT_EQ(solvers::relaying::of(device, {.replicas = 16, .tensor = 2}, 1).value(), (solvers::relaying{1, 4, 1}));
  EXPECT_TRUE(pairs.between(std::vector<std::uint32_t>{6, 7, 8}).empty());  // one adapter on either side
  EXPECT_TRUE(pairs.between(std::vector<std::uint32_t>{5, 7, 8}).empty());  // two of one node, one of the other
  EXPECT_EQ(pairs.between(std::vector<std::uint32_t>{5, 7, 8, 11}).size(), 2u);
}

TEST(Relaying, IsRefusedWhereNothingCanBeSpread) {
  const auto refused = [](const costs::gpu& device, const shape& on) {
    return solvers::relaying::of(device, on, 1).error().detail;
  };
  EXPECT_EQ(refused(node_of(8), {.replicas = 8}),
            "relays between nodes: 8 GPUs are on one node of 8, and nothing crosses: leave them out");
  EXPECT_EQ(refused(node_of(8), {.stages = 8, .replicas = 2}),
            "relays between nodes: a replica takes pp x tp x cp = 8 GPUs, and proxies are other replicas of a node of "
            "8: choose a divisor below that");
  EXPECT_EQ(refused(node_of(1), {.replicas = 16}),
            "relays between nodes: a node has one adapter, and nothing to spread over: leave them out");
  EXPECT_EQ(
      refused(node_of(8), {.replicas = 16, .expert = 2}),
      "relays between nodes: where ranks divide experts, replicas do not lie side by side: leave out one of them");
}

TEST(Relaying, OfNoSegmentsRelaysNothing) {
  EXPECT_EQ(solvers::relaying::of(node_of(1), {.replicas = 1}, 0).value(), solvers::relaying{});
  EXPECT_TRUE(solvers::relaying{}.between(std::vector<std::uint32_t>{0, 1, 2, 3}).empty());
}

/// Adapters of a replica's node that sharers have.
std::set<std::uint32_t> adapters_beside(std::uint32_t replica, const std::vector<std::uint32_t>& sharers,
                                        const solvers::relaying& how) {
  std::set<std::uint32_t> found;
  for (const std::uint32_t other : sharers)
    if (other / how.replicas_per_node == replica / how.replicas_per_node)
      found.insert(other / how.replicas_per_adapter);
  return found;
}

// A hop that leaves a node is relayed in as many strands as the node with fewer has sharers' adapters, where that is
// two or more.
TEST(Relaying, SpreadsEachCrossingOverTheAdaptersOfItsSharers) {
  std::size_t crossings = 0, relayed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    testing::generator random(seed);
    const auto per_adapter = static_cast<std::uint32_t>(random.between(1, 2));
    const auto adapters = static_cast<std::uint32_t>(random.between(1, 4)),
               segments = static_cast<std::uint32_t>(random.between(1, 4));
    const solvers::relaying how{segments, per_adapter * adapters, per_adapter};
    std::vector<std::uint32_t> sharers;
    for (std::uint32_t r = 0; r < 24; ++r)
      if (random.once_in(2)) sharers.push_back(r);
    if (sharers.size() < 2) continue;
    const std::vector<relay> relays = how.between(sharers);
    auto next = relays.begin();
    for (std::size_t k = 0; k < sharers.size(); ++k) {
      const std::uint32_t from = sharers[k], to = sharers[(k + 1) % sharers.size()];
      if (from / how.replicas_per_node == to / how.replicas_per_node) continue;
      ++crossings;
      const std::size_t strands =
          std::min(adapters_beside(from, sharers, how).size(), adapters_beside(to, sharers, how).size());
      if (strands < 2) continue;
      ++relayed;
      ASSERT_NE(next, relays.end()) << "seed " << seed;
      EXPECT_EQ(next->segments, how.segments);
      for (const auto& [end, side] : {std::pair{from, &next->out}, {to, &next->in}}) {
        EXPECT_EQ(side->size(), strands) << "seed " << seed;
        EXPECT_EQ(side->front(), end) << "seed " << seed;
        std::set<std::uint32_t> used;
        for (const std::uint32_t proxy : *side) {
          EXPECT_TRUE(std::binary_search(sharers.begin(), sharers.end(), proxy)) << "seed " << seed;
          EXPECT_EQ(proxy / how.replicas_per_node, end / how.replicas_per_node) << "seed " << seed;
          EXPECT_TRUE(used.insert(proxy / how.replicas_per_adapter).second)
              << "an adapter has two strands, seed " << seed;
        }
      }
      ++next;
    }
    EXPECT_EQ(next, relays.end()) << "seed " << seed;
  }
  EXPECT_GT(relayed, 100u);
  EXPECT_GT(crossings, relayed);
}

TEST(Relaying, PrintsAsItIsWritten) {
  std::ostringstream text;
  text << solvers::relaying{3, 4, 2};
  EXPECT_EQ(text.str(), "{.segments = 3, .replicas_per_node = 4, .replicas_per_adapter = 2}");
}

}  // namespace
}  // namespace slimpack::relaying_test
