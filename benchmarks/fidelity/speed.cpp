// F13: how fast one core simulates and judges plans. 16 stages, 128 packs of one sequence of 4096 tokens, 1F1B, the
// costs below; no randomness. Beside it, not scored, the default planner on the same sequences, its search included.

#include "../median_time.hpp"
#include "scores.hpp"

#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/slicers/equal_cost.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace fidelity {
namespace {

using namespace slimpack;

constexpr int stages = 16;
constexpr std::uint32_t packs = 128;
constexpr int repeats = 101;
const costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
const schedules::one_f_one_b schedule{.lead = 1};

/// One sequence of 4096 tokens in each pack.
partition equal_packs() {
  partition made;
  for (std::uint32_t s = 0; s < packs; ++s)
    for (micropacks* each : {&made.forward, &made.backward}) {
      each->push({{s}, {0}, {4096}});
      each->close();
    }
  return made;
}

/// How long calls took, and what they found.
struct timed {
  double median{};
  seconds makespan{};
  double peak{};  ///< live tokens of the first stage
};

/// Building and sweeping the task graph of programs that are there.
timed simulate(const workload& work, const std::vector<program>& programs, simulators::task_graph& graph) {
  timed found;
  std::vector<seconds> start;
  found.median = median_time(repeats, [&] {
    graph.assign(work, programs).value();
    found.makespan = graph.sweep(start);
  });
  return found;
}

/// From packs to a judged plan: prices, programs, makespan, memory.
timed evaluate(const partition& made, const shape& on, const std::vector<memory_rates>& rates) {
  timed found;
  simulators::task_graph graph;
  std::vector<seconds> start;
  found.median = median_time(repeats, [&] {
    const workload work = price(made, cost, on, rates);
    const std::vector<program> programs = schedule.programs(work).value();
    graph.assign(work, programs).value();
    found.makespan = graph.sweep(start);
    found.peak = simulators::peak_memory(work, programs).front();
  });
  return found;
}

std::string note(const char* what, const timed& t) {
  char text[160];
  std::snprintf(text, sizeof text, "%s: %.3f ms (median), finds a makespan of %.4f s", what, 1e3 * t.median,
                t.makespan.value);
  return text;
}

}  // namespace

std::vector<score> speed(const std::filesystem::path&) {
  const shape on{.stages = stages};
  const partition made = equal_packs();
  const std::vector<memory_rates> rates = rates_of(cost, on).value();
  const workload work = price(made, cost, on, rates);
  simulators::task_graph graph;
  const timed simulated = simulate(work, schedule.programs(work).value(), graph);
  const timed evaluated = evaluate(made, on, rates);
  const std::vector<tokens> lengths(packs, {4096});
  const planner plan_batch(on, slicers::equal_cost{}, cost);
  timed planned;
  planned.median = median_time(5, [&] { planned.makespan = plan_batch(lengths).value().step_time; });

  score s;
  s.id = "F13";
  s.claim = "speed on one core: 1F1B of " + std::to_string(stages) + " stages and " + std::to_string(packs) +
            " packs, " + std::to_string(graph.size()) + " graph nodes, " + std::to_string(repeats) + " repeats";
  s.goals = {{"ms to build and sweep the task graph", 1e3 * simulated.median, 1},
             {"million task-graph nodes a second, built and swept",
              1e-6 * static_cast<double>(graph.size()) / simulated.median, 20, false},
             {"plans judged a minute and core: priced, ordered, simulated, memory followed", 60 / evaluated.median,
              10'000 / 8.0, false}};
  s.notes = {note("build and sweep", simulated),
             note("price, order, simulate, follow memory", evaluated) + ", " +
                 std::to_string(static_cast<long long>(evaluated.peak)) + " tokens on the first stage",
             note("the default planner, its search included", planned)};
  return {s};
}

}  // namespace fidelity
