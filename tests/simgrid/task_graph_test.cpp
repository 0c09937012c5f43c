#include <slimpack/core/plan.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "agreement.hpp"
#include "experiment.hpp"
#include "random_programs.hpp"
#include "replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace slimpack {
namespace {

/// Seeds 1 to 1000 in blocks, each a test and so a process of its own: SimGrid keeps what it has run, and grows slow.
constexpr std::uint64_t block = 250;
class RandomGraphs : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  [[nodiscard]] static std::uint64_t first() { return GetParam(); }
  [[nodiscard]] static std::uint64_t last() { return GetParam() + block - 1; }
  static void print(const char* what, const tests::agreement& found) {
    std::cout << what << " of seeds " << first() << " to " << last() << ": " << found << '\n';
  }
};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range<std::uint64_t>(1, 1001, block));

/// A replica of up to 6 stages and 3 chunks, half of them with weight gradients apart, a third of those with several
/// stages with a spread vocabulary, its programs in a random order.
struct random_step {
  testing::random_replica replica;
  std::vector<program> programs;
  simulators::task_graph graph;

  explicit random_step(std::uint64_t seed) {
    testing::generator random(seed);
    replica = testing::any_replica({.longest = {8192}, .chunks = 3}, random);
    if (random.once_in(2)) testing::split_weights(replica, random);
    if (replica.work.shape.stages > 1 && random.once_in(3)) testing::spread_vocabulary(replica, random);
    programs = tests::random_programs(replica.work, random);
    graph.assign(replica.work, programs).value();
  }

  /// The simulator's nodes and edges, as they are.
  [[nodiscard]] tests::experiment as_graph() const {
    tests::experiment made(replica.work.shape.stages);
    for (const simulators::task& t : graph.tasks())
      t.is_message ? made.carry(t.duration) : made.compute(t.stage, t.duration);
    for (simulators::task_graph::node n = 0; n < graph.size(); ++n)
      for (const simulators::task_graph::node next : graph.successors(n)) made.order(n, next);
    return made;
  }

  /// What its programs say.
  [[nodiscard]] tests::replay as_programs() const {
    plan p;
    p.shape = replica.work.shape;
    replica_plan& one = p.replicas.emplace_back();
    one.partition = replica.packs;
    one.times = replica.work.times;
    one.programs = programs;
    return {p, {0}, tests::as_planned(p)};
  }
};

TEST_P(RandomGraphs, EndEachTaskWhenSimGridDoes) {
  tests::agreement found;
  for (std::uint64_t seed = first(); seed <= last(); ++seed) {
    const random_step step(seed);
    std::vector<seconds> start;
    const seconds makespan = step.graph.sweep(start);
    const std::vector<seconds> ends = step.as_graph().ends();
    for (std::size_t n = 0; n < ends.size(); ++n)
      found.compare(ends[n], start[n] + step.graph.tasks()[n].duration, makespan);
    found.count(ends.size());
    ASSERT_LE(found.largest(), found.close) << "seed " << seed;
  }
  print("graphs", found);
}

TEST_P(RandomGraphs, TakeAsLongAsTheirProgramsInSimGrid) {
  tests::agreement found;
  for (std::uint64_t seed = first(); seed <= last(); ++seed) {
    const random_step step(seed);
    std::vector<seconds> start;
    const seconds makespan = step.graph.sweep(start);
    const tests::replay steps = step.as_programs();
    EXPECT_EQ(steps.size(), step.graph.size());
    found.compare(steps.makespans()[0], makespan, makespan);
    found.count(steps.size());
    ASSERT_LE(found.largest(), found.close) << "seed " << seed;
  }
  print("programs", found);
}

/// When the last predecessor of a node other than `left_out` ends.
seconds ready_without(const simulators::task_graph& graph, const std::vector<seconds>& ends, std::uint32_t left_out,
                      std::uint32_t of) {
  seconds ready{};
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    for (const std::uint32_t next : graph.successors(n))
      if (next == of && n != left_out) ready = std::max(ready, ends[n]);
  return ready;
}

// An edge matters when nothing else holds its target as long. Without it the target starts early, and ends early or
// makes another task of its stage end late.
TEST(OneRandomGraph, DiffersFromSimGridWhenAnEdgeIsMissing) {
  std::size_t matter = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const random_step step(seed);
    const std::span<const simulators::task> tasks = step.graph.tasks();
    std::vector<seconds> ends;
    const seconds makespan = step.graph.sweep(ends);
    for (std::size_t n = 0; n < ends.size(); ++n) ends[n] += tasks[n].duration;
    testing::generator random(seed);
    for (int trial = 0; trial < 25; ++trial) {
      const auto n = static_cast<std::uint32_t>(random.between(0, static_cast<std::int64_t>(step.graph.size()) - 1));
      for (const std::uint32_t next : step.graph.successors(n)) {
        if (ends[n].value - ready_without(step.graph, ends, n, next).value <= 1e-6 * makespan.value) continue;
        tests::experiment wrong = step.as_graph();
        wrong.forget(n, next);
        tests::agreement found;
        const std::vector<seconds> wrong_ends = wrong.ends();
        for (std::size_t i = 0; i < ends.size(); ++i) found.compare(wrong_ends[i], ends[i], makespan);
        EXPECT_GT(found.largest(), 1e-7) << "seed " << seed << ", edge " << n << " to " << next;
        ++matter;
      }
    }
  }
  EXPECT_GE(matter, 100u);
}

}  // namespace
}  // namespace slimpack
