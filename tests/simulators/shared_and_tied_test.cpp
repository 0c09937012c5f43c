#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/transfer_order.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/testing/detail/transfers_in_order.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/naive/joint_run.hpp>

#include "../laws/cases.hpp"
#include "../support/shared_and_tied.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace slimpack::shared_and_tied_test {
namespace {

/// Stages lend, and the two replicas share one or two sequences. All rows have one length, and those of a shared
/// sequence lie anywhere in its replicas' programs, so that replicas may wait for each other.
plan any(std::uint64_t seed) {
  testing::generator random(seed);
  const int stages = static_cast<int>(random.between(2, 4)), chunks = static_cast<int>(random.between(1, 2));
  const int slices = stages * static_cast<int>(random.between(1, 2));
  const shape on{.stages = stages, .replicas = 2, .chunks = chunks, .quantum = {4}};
  const std::int64_t rows = random.between(3, 5);
  const std::vector<tokens> lengths(static_cast<std::size_t>(2 * rows), tokens{4 * slices * random.between(1, 5)});
  const solvers::slimpipe solver{
      .slices = slices,
      .lending = random.between(0, 1) == 0 ? attention_lending::pairs : attention_lending::level,
      .stages = stages};
  solution solved = solver
                        .solve(problem{lengths, on}, slicers::uniform{}, costs::quadratic{.attention = 1e-6},
                               schedules::one_f_one_b{.lead = 2})
                        .value();
  plan p;
  p.lengths = lengths, p.shape = on;
  for (replica_solution& r : solved.replicas) {
    replica_plan& own = p.replicas.emplace_back();
    own.sequences = std::move(r.sequences), own.partition = std::move(r.partition);
    own.loans = std::move(r.loans), own.programs = std::move(r.programs);
    for (const pass way : both_passes) {
      const std::size_t packs = own.partition.forward.size();
      own.times.before[way].resize(packs + 1);
      for (std::vector<seconds>* const column : {&own.times.calls[way], &own.times.messages[way]})
        for (std::size_t cell = packs * static_cast<std::size_t>(on.parts()); cell > 0; --cell)
          column->push_back({random.ratio() * 1e-3});
    }
  }
  for (std::int64_t n = random.between(1, 2); n > 0; --n) {
    const auto is_shared = [&](sequence_id s) {
      return std::any_of(p.merges.begin(), p.merges.end(), [&](const merge& m) { return m.sequence == s; });
    };
    const sequence_id last{static_cast<std::uint32_t>(p.lengths.size() - 1)};
    std::vector<sequence_id> others;
    for (const sequence_id s : p.replicas[1 - tests::owner_of(p, last)].sequences)
      if (!is_shared(s)) others.push_back(s);
    if (is_shared(last) || others.empty()) break;
    tests::share(p, others[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(others.size()) - 1))]);
  }
  return p;
}

/// Sequences may be too short to lend of.
bool is_tied(const plan& p) {
  return std::any_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return ties_stages(r); });
}

result<simulators::task_graph> graph_of(const plan& p) {
  const std::vector<std::uint32_t> group{0, 1};
  std::vector<workload> works;
  for (const std::uint32_t r : group) works.push_back(simulators::workload_of(p, r));
  return simulators::joint_graph(
      group, [&](std::uint32_t r) -> const workload& { return works[r]; },
      [&](std::uint32_t r) -> std::span<const program> { return p.replicas[r].programs; }, p.merges);
}

std::vector<testing::naive::outcome> replayed(const plan& p) {
  std::vector<testing::naive::running> running;
  for (const replica_plan& r : p.replicas) running.push_back({&r.partition, r.programs, r.loans});
  const auto parts = static_cast<std::size_t>(p.shape.parts());
  return testing::naive::joint_run(
      std::span<const testing::naive::running>(running), p.merges, p.shape,
      [&](std::size_t r, const instruction& i, std::size_t part) {
        return p.replicas[r].times.calls[i.pass()][i.pack.value * parts + part];
      },
      [&](std::size_t r, testing::naive::spot from, testing::naive::spot, std::uint32_t pack) {
        return p.replicas[r]
            .times.messages[from.kind == 'F' ? pass::forward : pass::backward][pack * parts + from.place];
      })();
}

// Naive code runs replicas instruction by instruction, with no graph: it ends where the graph has no cycle, at the same
// times.
TEST(SharedAndTied, SimulateAsNaiveCodeRunsThemOrWaitForEver) {
  std::size_t ran = 0, waits = 0, mixed = 0;
  const int cases = tests::cases(60);
  for (int k = 0; k < cases; ++k) {
    const std::uint64_t seed = 46100 + static_cast<std::uint64_t>(k);
    const plan p = any(seed);
    ASSERT_FALSE(p.merges.empty()) << "seed " << seed;
    if (!is_tied(p)) continue;
    const std::vector<testing::naive::outcome> naive = replayed(p);
    const bool stuck = std::any_of(naive.begin(), naive.end(), [](const auto& one) { return one.stuck.has_value(); });
    const result<simulators::task_graph> graph = graph_of(p);
    const result<void> runs = is_sound(p);
    ASSERT_EQ(graph.has_value(), !stuck) << "seed " << seed;
    ASSERT_EQ(runs.has_value(), !stuck) << "seed " << seed;
    if (stuck) {
      EXPECT_EQ(graph.error().code, errc::cyclic_schedule) << "seed " << seed;
      EXPECT_EQ(runs.error().code, errc::cyclic_schedule) << "seed " << seed;
      ++waits;
      continue;
    }
    std::vector<seconds> start;
    graph.value().sweep(start);
    const std::vector<seconds> ends = simulators::ends_of(graph.value(), start, 2);
    for (const std::size_t r : {0u, 1u}) EXPECT_EQ(ends[r], naive[r].makespan) << "seed " << seed << ", replica " << r;
    // A gate with the instructions of several stages, and of both replicas.
    for (simulators::task_graph::node n = 0; n < graph.value().size(); ++n) {
      if (!graph.value().tasks()[n].is_gate) continue;
      bool stages = false, replicas = false;
      for (const simulators::task_graph::node to : graph.value().successors(n)) {
        stages = stages || graph.value().tasks()[to].stage != graph.value().tasks()[n].stage;
        replicas = replicas || graph.value().tasks()[to].replica != graph.value().tasks()[n].replica;
      }
      mixed += stages && replicas;
    }
    ++ran;
  }
  std::cout << cases << " plans from seed 46100 on: " << ran << " run, " << waits << " wait, " << mixed
            << " ensembles over stages and replicas\n";
  EXPECT_GT(2 * ran, static_cast<std::size_t>(cases) / 2);
  EXPECT_GT(waits, 0u);
  EXPECT_GT(mixed, 0u);
}

TEST(SharedAndTied, HaveAnOrderOfTransfers) {
  std::size_t orders = 0;
  const int cases = tests::cases(30);
  for (int k = 0; k < cases; ++k) {
    const std::uint64_t seed = 46100 + static_cast<std::uint64_t>(k);
    const plan p = any(seed);
    if (!is_tied(p)) continue;
    const std::vector<std::uint32_t> group{0, 1};
    result<std::vector<simulators::transfer>> order = simulators::transfer_order(p, 1);
    ASSERT_EQ(order.has_value(), is_sound(p).has_value()) << "seed " << seed;
    if (!order) continue;
    std::vector<simulators::transfer>& all = order.value();
    EXPECT_EQ(testing::detail::out_of_order(p, group, all), std::nullopt) << "seed " << seed;
    const auto is_ties = [](const auto& t) { return std::holds_alternative<simulators::transfers::ties>(t); };
    const auto ties = std::find_if(all.begin(), all.end(), is_ties);
    ASSERT_NE(ties, all.end()) << "seed " << seed;
    // Apart from those that run together with it, or left out.
    std::rotate(ties, ties + 1, all.end());
    EXPECT_NE(testing::detail::out_of_order(p, group, all), std::nullopt) << "seed " << seed;
    all.pop_back();
    EXPECT_NE(testing::detail::out_of_order(p, group, all), std::nullopt) << "seed " << seed;
    ++orders;
  }
  std::cout << orders << " orders of " << cases << " plans from seed 46100 on\n";
  EXPECT_GT(2 * orders, static_cast<std::size_t>(cases) / 2);
}

TEST(SharedAndTied, SayWhatWaits) {
  std::optional<std::string> graph;
  for (std::uint64_t seed = 46100; !graph; ++seed)
    if (const auto made = graph_of(any(seed)); !made) graph = made.error().detail;
  EXPECT_EQ(
      *graph,
      "stages that lend, and replicas that share rows, wait for each other: order packs by one_f_one_b with a lead "
      "of 2, or choose lending none");
}

TEST(SharedAndTied, NameATieOfWhatIsNotThere) {
  plan p = any(46100);
  p.replicas[0].loans.front().helper.what.pack = {77};
  const std::string expected = "of stage " + std::to_string(p.replicas[0].loans.front().helper.stage) +
                               " together with another instruction, and there is no such F or B";
  for (const error& why : {graph_of(p).error(), simulators::transfer_order(p, 0).error()})
    EXPECT_NE(why.detail.find(expected), std::string::npos) << why.detail;
}

}  // namespace
}  // namespace slimpack::shared_and_tied_test
