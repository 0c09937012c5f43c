// Planning time at each effort, with the simulator's speed on the same machine beside it.

#include "../median_time.hpp"
#include "batches.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/simulator/graph.hpp>
#include <slimpack/simulator/workload_of.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

struct timed_batch {
  std::size_t sequences;
  int replicas;
  double goals[std::size(efforts)];  ///< milliseconds
};

/// Million task-graph nodes a second, built and swept, of a replica's programs.
double million_nodes_a_second(const plan& p) {
  const workload work = simulator::workload_of(p, 0);
  simulator::task_graph graph;
  std::vector<seconds> start;
  const double time = median_time(21, [&] {
    graph.assign(work, p.replicas[0].programs).value();
    graph.sweep(start);
  });
  return 1e-6 * static_cast<double>(graph.size()) / time;
}

}  // namespace

void planning(const options& o, scoreboard& board) {
  constexpr timed_batch timed[] = {{512, 1, {10, 100, 5000}}, {4096, 8, {60, 600, 30000}}};
  const std::uint64_t seed = o.seeds.front();
  std::printf(
      "time: planning, lengths in memory to certified plan, p 8, uniform pipeline, batches as in bounds (processor "
      "time, median\n"
      "  of 5 fast, 3 normal, 1 high)\n");
  std::printf("  %-34s %-6s %11s %10s %-6s\n", "batch", "effort", "planning ms", "goal", "");
  for (const timed_batch& at : timed) {
    if (o.quick && at.sequences > 512) continue;
    for (const batch& b : batches(o.data, at.sequences, seed)) {
      shape on{.stages = 8, .replicas = at.replicas, .memory = times_longest(1.25, b.lengths)};
      on.memory->amount = std::max(on.memory->amount, 65536.0);
      for (std::size_t e = 0; e < std::size(efforts); ++e) {
        if (o.quick && e == 2) continue;
        const result<plan> made = planned(on, uniform_cost, b.lengths, efforts[e].budget);
        if (!made) {
          std::printf("  %-34s %-6s no plan: %s\n", b.name.c_str(), efforts[e].name, made.error().detail.c_str());
          continue;
        }
        constexpr std::size_t runs[] = {5, 3, 1};
        std::vector<double> times;
        while (times.size() < runs[e])
          times.push_back(1e3 * planned(on, uniform_cost, b.lengths, efforts[e].budget).value().planning_time.value);
        std::sort(times.begin(), times.end());
        const double time = times[times.size() / 2];
        const std::string name =
            "time: " + b.name + ", dp " + std::to_string(at.replicas) + ", " + efforts[e].name + ", ms";
        std::printf("  %-34s %-6s %11.2f %10.0f %-6s\n", b.name.c_str(), efforts[e].name, time, at.goals[e],
                    board.judge({name, time, at.goals[e]}));
        if (at.replicas == 1 && e == 0 && b.name == "log-normal 512") {
          const double nodes = million_nodes_a_second(made.value());
          std::printf("  simulator on this machine: %.1f million nodes a second, goal 20 %s\n", nodes,
                      board.judge({"time: million task-graph nodes a second", nodes, 20, false}));
        }
      }
    }
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
