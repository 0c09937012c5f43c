#include <slimpack/costs/network.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace slimpack {
namespace {

const costs::network on_nodes_of_8{.inside = {{1}, 100}, .between = {{3}, 10}, .gpus_per_node = 8};

/// Node of the GPU that runs one rank: tensor first, then context, stages, replicas.
int node(const shape& on, int tensor, int context, int stage, int replica) {
  return (((replica * on.stages + stage) * on.context + context) * on.tensor + tensor) / 8;
}

/// Visits the (tensor, context, replica) ranks of a stage.
template <class Visit>
void each_rank(const shape& on, const Visit& visit) {
  for (int replica = 0; replica < on.replicas; ++replica)
    for (int context = 0; context < on.context; ++context)
      for (int tensor = 0; tensor < on.tensor; ++tensor) visit(tensor, context, replica);
}

bool leaves(const shape& on, int from, int to) {
  bool any = false;
  each_rank(on, [&](int t, int c, int d) { any = any || node(on, t, c, from, d) != node(on, t, c, to, d); });
  return any;
}

std::vector<shape> shapes() {
  std::vector<shape> all;
  for (const int t : {1, 2, 3, 8, 16})
    for (const int c : {1, 2, 4})
      for (const int p : {1, 2, 3, 4, 8, 16})
        for (const int d : {1, 2, 3})
          for (const int v : {1, 2})
            all.push_back({.stages = p, .replicas = d, .tensor = t, .context = c, .chunks = v});
  return all;
}

TEST(Network, LeavesANodeWhereSomeMessageDoes) {
  for (const shape& on : shapes()) {
    bool some = false;
    for (int r = 0; r < on.stages; ++r) some = some || leaves(on, r, (r + 1) % on.stages);
    for (int r = 0; r < (on.chunks > 1 ? on.stages : on.stages - 1); ++r)
      EXPECT_EQ(on_nodes_of_8.boundary(on, r) == on_nodes_of_8.between, on.chunks > 1 ? some : leaves(on, r, r + 1))
          << on.tensor << on.context << on.stages << on.replicas << on.chunks << " stage " << r;
  }
}

// Four pipelines of 2 stages of 4 ranks, one on each node: neither their messages nor those from chunk to chunk leave.
TEST(Network, KeepsAPipelineThatFillsANodeInside) {
  const shape on{.stages = 2, .replicas = 4, .tensor = 4, .chunks = 2};
  EXPECT_EQ(on_nodes_of_8.boundary(on, 0), on_nodes_of_8.inside);
  EXPECT_EQ(on_nodes_of_8.boundary(on, 1), on_nodes_of_8.inside);
}

TEST(Network, LeavesANodeWhereSomeTensorRanksAreApart) {
  for (const shape& on : shapes()) {
    bool some = false;
    for (int r = 0; r < on.stages; ++r)
      each_rank(on, [&](int t, int c, int d) { some = some || node(on, t, c, r, d) != node(on, 0, c, r, d); });
    EXPECT_EQ(on_nodes_of_8.of_tensor(on) == on_nodes_of_8.between, some)
        << on.tensor << on.context << on.stages << on.replicas;
  }
}

TEST(Network, LeavesANodeWhereSomeCopiesOfWeightsAreApart) {
  for (const shape& on : shapes()) {
    bool some = false;
    for (int r = 0; r < on.stages; ++r)
      each_rank(on, [&](int t, int c, int d) { some = some || node(on, t, c, r, d) != node(on, t, 0, r, 0); });
    EXPECT_EQ(on_nodes_of_8.of_replicas(on) == on_nodes_of_8.between, some)
        << on.tensor << on.context << on.stages << on.replicas;
  }
}

// 3 s + 100 B / 10 B/s = 13 s. A gather over 4 ranks moves 3/4 of the buffer: 3 + 75 / 10 = 10.5 s.
TEST(Network, PricesLatencyAndBytes) {
  EXPECT_EQ(costs::network::over(on_nodes_of_8.between, {100}), seconds{13});
  EXPECT_EQ(costs::network::gather(on_nodes_of_8.between, {100}, 4), seconds{10.5});
  EXPECT_EQ(costs::network::gather(on_nodes_of_8.between, {100}, 1), seconds{0});
}

TEST(Network, TakesItsLinksFromTheGpu) {
  const costs::gpu device{.gpus_per_node = 4, .inside = {{1}, 2}, .between = {{3}, 4}};
  const costs::network net = costs::network::of(device);
  EXPECT_EQ(net.inside, device.inside);
  EXPECT_EQ(net.between, device.between);
  EXPECT_EQ(net.boundary({.stages = 8}, 2), device.inside);
  EXPECT_EQ(net.boundary({.stages = 8}, 3), device.between);
}

}  // namespace
}  // namespace slimpack
