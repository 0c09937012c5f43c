#ifndef SLIMPACK_TESTING_SIMULATOR_LAWS_HPP
#define SLIMPACK_TESTING_SIMULATOR_LAWS_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/spread_vocabulary.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// The task graph of a random replica under 1F1B, of a third of those with several stages with its vocabulary spread
/// over them.
[[nodiscard]] inline simulators::task_graph random_alone(const options& o, generator& random) {
  random_replica made = any_replica(o, random);
  std::vector<std::vector<program>> programs{schedules::one_f_one_b{}.programs(made.work).value()};
  if (made.work.shape.stages > 1 && random.once_in(3)) {
    spread_vocabulary(made, random);
    const std::uint32_t only = 0;
    programs = schedules::spread_vocabulary(std::span(&only, 1), std::span(&made.work, 1), programs, {}).value();
  }
  simulators::task_graph graph;
  graph.assign(made.work, programs.front()).value();
  return graph;
}

/// That of several random replicas, with gates between tasks of the first two. Both run the gates in one order.
[[nodiscard]] inline simulators::task_graph random_together(const options& o, generator& random) {
  using node = simulators::task_graph::node;
  const std::vector<simulators::task_graph> alone{random_alone(o, random), random_alone(o, random),
                                                  random_alone(o, random)};
  std::vector<std::vector<node>> sets;
  const auto first = static_cast<node>(alone[0].size());
  for (node a = 0, b = 0; a < first && b < alone[1].size(); ++a, ++b) {
    a += static_cast<node>(random.between(0, first / 4));
    b += static_cast<node>(random.between(0, static_cast<std::int64_t>(alone[1].size()) / 4));
    if (a < first && b < alone[1].size()) sets.push_back({a, first + b});
  }
  simulators::task_graph graph;
  graph.join(alone, sets).value();
  return graph;
}

template <class Simulator>
void check_simulator(report& r, const Simulator& simulator, const simulators::task_graph& graph) {
  using node = simulators::task_graph::node;
  const result<std::vector<seconds>> start = simulator.starts(graph);
  const result<std::vector<seconds>> tail = simulator.tails(graph);
  const bool answered = start && tail;
  r.check(4, answered, "every graph is answered",
          answered ? std::string_view() : (start ? tail : start).error().detail);
  if (!answered) return;
  const bool one_each = start.value().size() == graph.size() && tail.value().size() == graph.size();
  r.check(1, one_each, "there is one start and one tail for each task", graph.size());
  if (!one_each) return;
  std::vector<seconds> ready(graph.size());
  std::vector<seconds> after(graph.size());
  seconds makespan{};
  for (node n = 0; n < graph.size(); ++n) {
    const seconds end = start.value()[n] + graph.tasks()[n].duration;
    makespan = std::max(makespan, end);
    for (const node m : graph.successors(n)) {
      ready[m] = std::max(ready[m], end);
      after[n] = std::max(after[n], tail.value()[m] + graph.tasks()[m].duration);
    }
  }
  seconds longest{};
  for (node n = 0; n < graph.size(); ++n) {
    r.check(1, start.value()[n] == ready[n], "a task starts when the last of its predecessors ends", "task", n,
            "starts at", start.value()[n].value, "ready at", ready[n].value);
    r.check(2, tail.value()[n] == after[n], "a tail is the longest chain that waits", "task", n, "has",
            tail.value()[n].value, "waits", after[n].value);
    longest = std::max(longest, start.value()[n] + graph.tasks()[n].duration + tail.value()[n]);
  }
  r.check(3, std::abs(longest.value - makespan.value) <= 1e-12 * makespan.value,
          "start, duration and tail add up to the makespan on the critical path", longest.value, "and", makespan.value);
  r.check(5, simulator.starts(graph).value() == start.value() && simulator.tails(graph).value() == tail.value(),
          "equal graphs get equal answers");
}

/// Asks for all graphs on several threads at once.
template <class Simulator>
void check_threads(report& r, const Simulator& simulator, std::span<const simulators::task_graph> graphs) {
  using answers = std::vector<result<std::vector<seconds>>>;
  const auto asked = [&] {
    answers all;
    for (const simulators::task_graph& graph : graphs)
      all.push_back(simulator.starts(graph)), all.push_back(simulator.tails(graph));
    return all;
  };
  const answers alone = asked();
  std::vector<std::future<answers>> beside;
  for (int i = 0; i < 3; ++i) beside.push_back(std::async(std::launch::async, asked));
  for (std::future<answers>& one : beside) {
    const answers found = one.get();
    std::size_t equal = 0;
    while (equal < found.size() && found[equal].has_value() == alone[equal].has_value() &&
           (!found[equal] || found[equal].value() == alone[equal].value()))
      ++equal;
    r.check(5, equal == found.size(), "equal graphs get equal answers on several threads at once", "graph", equal / 2);
  }
}

}  // namespace detail

/// Checks the laws of slimpack::simulator_for on the task graphs of random replicas, alone and with gates between
/// several, as replicas have that share sequences. Whoever obeys laws 1 and 2 agrees with every other simulator to the
/// last bit. `{.chunks = n}` tries up to n virtual stages.
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: what the simulator throws passes through            Complexity  O(cases) calls of the simulator
template <simulator_for Simulator>
[[nodiscard]] report simulator_laws(const Simulator& simulator, options o = {}) {
  report r("simulator laws", o.seed);
  generator random(o.seed);
  constexpr std::size_t on_threads = 16;
  std::vector<simulators::task_graph> graphs;
  const auto check = [&](simulators::task_graph graph) {
    detail::check_simulator(r, simulator, graph);
    if (graphs.size() < on_threads) graphs.push_back(std::move(graph));
  };
  for (int i = 0; i < o.cases; ++i) {
    check(detail::random_alone(o, random));
    check(detail::random_together(o, random));
  }
  detail::check_threads(r, simulator, graphs);
  return r;
}

}  // namespace slimpack::testing

#endif
