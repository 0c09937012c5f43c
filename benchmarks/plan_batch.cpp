// How close to the best possible are plans of real batches, and how long does planning take?
//
// Cost of uniform_pipeline.hpp, 8 stages, one replica, the first 512 lengths of each list in file order, cut at 262144
// tokens, memory limit 1.25 x the longest, at least 65536 tokens. Beside it, on the same batch and limit: whole
// sequences packed first-fit decreasing under 1F1B (megatron), equal token chunks with a lead of 2 (chunked), and rows
// in uniform slices (slimpipe), each at the setting that is fastest for it.
//
//   slimpack-bench-plan_batch [LIST.txt ...]     default: every list in examples/data/lengths, from the project's root
#include "median_time.hpp"
#include "uniform_pipeline.hpp"

#include <slimpack/io/lengths.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/pack_lengths.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace slimpack;

/// Step time of a baseline at the setting that is fastest, without the limit where none fits; marked then.
template <class Recipe>
std::string baseline(const shape& on, const std::vector<Recipe>& settings, const costs::quadratic& cost,
                     const std::vector<tokens>& lengths, seconds best) {
  const auto fastest = [&](const shape& where) {
    std::optional<seconds> least;
    for (const Recipe& recipe : settings)
      if (const result<plan> made = planner{where, recipe.slicer, cost, recipe.solver, recipe.schedule}(lengths); made)
        least = std::min(least.value_or(made.value().step_time), made.value().step_time);
    return least;
  };
  std::optional<seconds> step = fastest(on);
  const bool over = !step;
  if (over) {
    shape unlimited = on;
    unlimited.memory.reset();
    step = fastest(unlimited);
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.2f x%s", step.value() / best, over ? " *" : "");
  return text;
}

void measure(const std::filesystem::path& list) {
  std::vector<tokens> lengths = io::read_lengths(list).value();
  lengths.resize(std::min<std::size_t>(lengths.size(), 512));
  for (tokens& length : lengths) length = std::min(length, tokens{262144});
  constexpr const costs::quadratic& cost = benchmarks::uniform_cost;
  shape on{.stages = 8, .memory = benchmarks::times_longest(1.25, lengths)};
  on.memory->amount = std::max(on.memory->amount, 65536.0);
  const planner plan_batch{on, slicers::equal_cost{}, cost};

  const plan p = plan_batch(lengths).value();
  const replica_plan& r = p.replicas[0];
  const double planning = median_time(5, [&] { static_cast<void>(plan_batch(lengths).value()); });
  const workload work = simulators::workload_of(p, 0);
  simulators::task_graph graph;
  std::vector<seconds> start;
  const double simulation = median_time(21, [&] {
    graph.assign(work, r.programs).value();
    graph.sweep(start);
  });
  const std::vector<tokens> packs = baselines::pack_lengths(lengths, on, rates_of(cost, on).value());
  std::vector<decltype(baselines::megatron(on))> megatron;
  for (const tokens pack : packs) megatron.push_back(baselines::megatron(on, pack));
  std::vector<decltype(baselines::slimpipe(on))> slimpipe;
  for (const tokens row : packs)
    for (const int slices : baselines::slice_counts(on.stages))
      for (const attention_lending lending : all_attention_lending)
        slimpipe.push_back(baselines::slimpipe(on, row, slices, lending));
  const double peak = *std::max_element(r.peak_memory.begin(), r.peak_memory.end());
  std::printf("%-22s %8.4f %10.4f %8.0f /%8.0f %6zu +%6zu %9.2f ms %8.0f %9.1f M %10s %10s %10s\n", list.stem().c_str(),
              1 - p.bubble, p.efficiency, peak, on.memory->amount, r.partition.forward.size(),
              r.partition.backward.size(), 1e3 * planning, planning / simulation,
              static_cast<double>(graph.size()) / simulation / 1e6,
              baseline(on, megatron, cost, lengths, p.step_time).c_str(),
              baseline(on, std::vector{baselines::chunked(on)}, cost, lengths, p.step_time).c_str(),
              baseline(on, slimpipe, cost, lengths, p.step_time).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> lists(argv + 1, argv + argc);
  if (lists.empty())
    for (const auto& file : std::filesystem::directory_iterator("examples/data/lengths")) lists.push_back(file.path());
  std::sort(lists.begin(), lists.end());
  std::printf(
      "8 stages, first 512 lengths in file order; useful: work over stages x makespan; sims: planning over one "
      "simulation of the plan\n");
  std::printf("%-22s %8s %10s %8s /%8s %6s +%6s %12s %8s %11s %10s %10s %10s\n", "list", "useful", "efficiency", "peak",
              "limit", "F", "B", "planning", "sims", "nodes/s", "megatron", "chunked", "slimpipe");
  for (const std::filesystem::path& list : lists) measure(list);
  std::printf("* over memory: without the limit\n");
}
