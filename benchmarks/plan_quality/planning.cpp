// Planning time at each effort, with the simulator's speed on the same machine beside it.

#include "../median_time.hpp"
#include "batches.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/plan_graphs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace slimpack::plan_quality {
namespace {

struct timed_batch {
  std::size_t sequences;
  int replicas;
  double goals[std::size(efforts)];  ///< milliseconds
};

/// Million task-graph nodes a second, built and swept, of a replica's programs.
double million_nodes_a_second(const plan& p) {
  const workload work = simulators::workload_of(p, 0);
  simulators::task_graph graph;
  std::vector<seconds> start;
  const double time = median_time(21, [&] {
    graph.assign(work, p.replicas[0].programs).value();
    graph.sweep(start);
  });
  return 1e-6 * static_cast<double>(graph.size()) / time;
}

/// Where a process has freed a large buffer, as any trainer soon has, glibc keeps what is freed later. Before that it
/// gives free memory at the end of its heap back, and every plan waits for the same pages again.
void free_a_large_buffer(std::uint64_t seed) {
  std::vector<char> large(31u << 20);
  volatile char& used = large[seed % large.size()];
  used = 1;
}

/// So that the next plan finds no memory that others have used.
void return_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

template <class Before>
double median_milliseconds(const shape& on, const batch& b, const effort& search, std::size_t runs,
                           const Before& before) {
  std::vector<double> times;
  while (times.size() < runs) {
    before();
    times.push_back(1e3 * planned(on, uniform_cost, b.lengths, search.budget).value().planning_time.value);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

void planning(const options& o, scoreboard& board) {
  constexpr timed_batch timed[] = {{512, 1, {10, 100, 5000}}, {4096, 8, {60, 600, 30000}}};
  const std::uint64_t seed = o.seeds.front();
  free_a_large_buffer(seed);
  std::printf(
      "time: planning, lengths in memory to certified plan, p 8, uniform pipeline, batches as in bounds (processor "
      "time, median\n"
      "  of 5 fast, 3 normal, 1 high); `cold` is with all free memory given back to the system before, as for the "
      "first "
      "plan of\n"
      "  a process\n");
  std::printf("  %-34s %-6s %11s %10s %10s %-6s\n", "batch", "effort", "planning ms", "cold ms", "goal", "");
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
        const double time = median_milliseconds(on, b, efforts[e], runs[e], [] {});
        char cold[16] = "-";
        if (e < 2)
          std::snprintf(cold, sizeof cold, "%.2f", median_milliseconds(on, b, efforts[e], runs[e], return_free_memory));
        const std::string name =
            "time: " + b.name + ", dp " + std::to_string(at.replicas) + ", " + efforts[e].name + ", ms";
        std::printf("  %-34s %-6s %11.2f %10s %10.0f %-6s\n", b.name.c_str(), efforts[e].name, time, cold, at.goals[e],
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
