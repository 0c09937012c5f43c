#include <slimpack/costs/network/row_exchange.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/transfer_order.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace slimpack::relays_test {
namespace {

/// Nodes of 8 GPUs and adapters of 200 Gb/s each, of which a transfer alone gets 96 %: Zeppelin's cluster A has four of
/// them, B eight.
costs::gpu node_of(int adapters) {
  return {.name = "any",
          .gpus_per_node = 8,
          .backward_attention_ratio = 2.5,
          .inside = {{5e-6}, 200e9},
          .between = {{1e-5}, 24e9},
          .adapters_per_node = adapters};
}

/// A transfer whose three legs are the stages of a pipeline: each segment is a pack, whose messages have the legs'
/// latencies.
seconds simulated(const costs::gpu& device, double size, int strands, int segments) {
  const auto n = static_cast<std::size_t>(segments);
  const double a = size * (strands - 1) / strands / segments / device.inside.bandwidth,
               b = size / strands / segments / device.between.bandwidth;
  workload work = tests::uniform_work(3, static_cast<std::uint32_t>(segments), {{0}, {0}, {0}});
  std::vector<program> programs(3);
  for (std::uint32_t pack = 0; pack < n; ++pack)
    for (std::size_t stage = 0; stage < 3; ++stage) {
      work.times.calls[pass::forward][pack * 3 + stage] = {stage == 1 ? b : a};
      work.times.messages[pass::forward][pack * 3 + stage] =
          stage == 0 ? device.inside.latency : device.between.latency;
    }
  for (program& code : programs) {
    for (std::uint32_t pack = 0; pack < n; ++pack) code.push_back({instruction_kind::forward, {pack}, 0});
    for (std::uint32_t pack = 0; pack < n; ++pack)
      code.push_back({instruction_kind::backward, {pack}, 0});  // which take no time
  }
  simulators::task_graph graph;
  graph.assign(work, programs).value();
  std::vector<seconds> start;
  graph.sweep(start);
  EXPECT_EQ(simulators::boost_graph{}.starts(graph).value(), start);
  seconds last{};
  for (std::size_t node = 0; node < graph.size(); ++node)
    if (const simulators::task& t = graph.tasks()[node];
        t.is_instruction() && t.stage == 2 && t.what.pass() == pass::forward)
      last = std::max(last, start[node] + t.duration);
  return last + device.inside.latency;
}

// A 64K sequence of a 3B model, 32 heads of 100, over 16 GPUs: keys and values of 4,096 tokens, 2 x 3,200 elements of 2
// bytes each. These conditions are a guess: over one adapter they take the 2.18 ms that Zeppelin reports, which routing
// brings to 0.411 ms.
TEST(RelayedTransfer, TakesInTheSimulatorWhatItsClosedFormSays) {
  constexpr double size = 4096.0 * 2 * 3200 * 2;
  const costs::network net(node_of(8));
  std::printf("one adapter: %.3f ms (reported: 2.18 ms, routed 0.411 ms)\n",
              1e3 * net.send_receive({2, 2, 2}, {size}).value);
  for (const int strands : {2, 4, 8})
    for (const int segments : {1, 2, 4, 8, 16}) {
      const costs::gpu device = node_of(strands);
      const seconds priced = costs::relayed_transfer::of(costs::network(device), {size}, strands, segments).time();
      const double a = size * (strands - 1) / (200e9 * strands * segments), b = size / (24e9 * strands * segments);
      const double closed = 2 * 5e-6 + 1e-5 + 2 * a + b + (segments - 1) * std::max(a, b);
      EXPECT_NEAR(priced.value, closed, 1e-12 * closed) << strands << " x " << segments;
      EXPECT_NEAR(simulated(device, size, strands, segments).value, closed, 1e-12 * closed)
          << strands << " x " << segments;
      std::printf("%d adapters, %2d segments: %.3f ms\n", strands, segments, 1e3 * closed);
    }
}

/// Compute takes no time, so that a step is its exchanges.
struct only_exchanges : costs::quadratic {
  static constexpr std::int64_t width = 2048;  // of keys, and of values
  explicit only_exchanges(const shape& on, const costs::gpu& device)
      : quadratic{.linear = 0, .attention = 0, .per_pack = {0}, .hop = {0}},
        rows({.name = "one layer",
              .layers = 1,
              .hidden = 8192,
              .heads = 4,
              .kv_heads = 1,
              .head_dim = width,
              .value_dim = width,
              .intermediate = 512,
              .vocabulary = 1000},
             on, std::vector<int>{1}, costs::recompute::none, costs::network(device)) {}
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice> mine, pass p, int part) const {
    return rows(row, mine, {0}, p, part);
  }
  costs::row_exchange rows;
};

// One sequence on two nodes of x replicas each, in a ring of 2 x: forward 2 x - 1 rounds of 2 x 2,048 elements of 2
// bytes for a 2 x-th of the tokens, backward as many and 2 x rounds of their gradients in fp32. With all adapters a
// round is a relayed transfer; all of it is spread before any of it is gathered.
TEST(RelayedTransfer, MakesTheStepOfARing) {
  for (const int strands : {2, 4, 8})
    for (const int segments : {0, 1, 8}) {
      const int replicas = 2 * strands;
      costs::gpu device = node_of(strands);
      device.gpus_per_node = strands;
      const shape on{.replicas = replicas, .quantum = {512}};
      const only_exchanges cost(on, device);
      const solvers::relaying relays = solvers::relaying::of(device, on, static_cast<std::uint32_t>(segments)).value();
      const std::int64_t length = 1024LL * replicas;
      const planner ring{on, slicers::equal_cost{}, cost, solvers::context_parallel{.relays = relays},
                         schedules::one_f_one_b{.lead = 1}};
      const plan p = ring(std::vector<tokens>{{length}}).value();
      ASSERT_EQ(p.merges.size(), 1u);
      EXPECT_EQ(p.merges[0].relays.size(), segments == 0 ? 0u : 2u);
      const testing::report laws = testing::plan_laws(p, cost);
      EXPECT_TRUE(laws) << laws;
      const auto round = [&](double size) {
        if (segments == 0) return 1e-5 + size / 24e9;
        const double a = size * (strands - 1) / (200e9 * strands * segments), b = size / (24e9 * strands * segments);
        return 2 * 5e-6 + 1e-5 + std::max(2 * segments * a, 2 * a + b + (segments - 1) * std::max(a, b));
      };
      const double rows = 1024.0 * 2 * 2048 * 2;
      const double closed = 2 * (replicas - 1) * round(rows) + replicas * round(2 * rows);
      EXPECT_NEAR(p.step_time.value, closed, 1e-12 * closed) << strands << " x " << segments;
    }
}

// 4 tokens on each of four replicas are 32 KiB a hop, 1.4 us, less than what proxies add: two latencies inside, 10 us.
TEST(RelayedTransfer, IsNotForShortSequences) {
  costs::gpu device = node_of(2);
  device.gpus_per_node = 2;
  const shape on{.replicas = 4, .quantum = {4}};
  const planner ring{on, slicers::equal_cost{}, only_exchanges(on, device),
                     solvers::context_parallel{.relays = solvers::relaying::of(device, on, 1).value()},
                     schedules::one_f_one_b{.lead = 1}};
  const plan p = ring(std::vector<tokens>{{16}, {4096}}).value();
  for (const merge& m : p.merges) EXPECT_EQ(m.relays.empty(), m.sequence.value == 0) << m.sequence.value;
  EXPECT_EQ(p.merges.size(), 2u);
}

TEST(RelayedTransfer, LegsStandInTheOrderOfTransfers) {
  const costs::gpu device = node_of(2);
  costs::gpu small = device;
  small.gpus_per_node = 2;
  const shape on{.replicas = 4, .quantum = {128}};
  const only_exchanges cost(on, small);
  const planner ring{on, slicers::equal_cost{}, cost,
                     solvers::context_parallel{.relays = solvers::relaying::of(small, on, 2).value()},
                     schedules::one_f_one_b{.lead = 1}};
  const plan p = ring(std::vector<tokens>{{4096}}).value();
  std::string forward;
  const auto order = simulators::transfer_order(p, 0);
  for (const simulators::transfer& t : order.value()) {
    if (const auto* const rows = std::get_if<simulators::transfers::rows>(&t);
        rows != nullptr && rows->what.pass() == pass::forward)
      forward += " rows" + std::to_string(rows->replica);
    if (const auto* const leg = std::get_if<simulators::transfers::leg>(&t);
        leg != nullptr && leg->pass == pass::forward)
      forward += ' ' + std::to_string(leg->replica) + '>' + std::to_string(leg->receiver);
  }
  // 1 > 2 over 1 and 0, 3 > 0 over 3 and 2: spread, spread and cross, cross, gather twice.
  EXPECT_EQ(forward, " rows0 rows1 rows2 rows3 1>0 3>2 1>0 3>2 1>2 0>3 3>0 2>1 1>2 0>3 3>0 2>1 3>2 1>0 3>2 1>0");
}

}  // namespace
}  // namespace slimpack::relays_test
