// What does it take to train on samples that share beginnings, each token of theirs computed once?
//
// Cost of uniform_pipeline.hpp, 8 stages, one replica and four. Memory limit: the larger of 65536 tokens and 1.25 x the
// longest path; in a second table 1.25 x the longest path, however short. Beside it, on the same limit: the same
// planner with each sample alone (flat), and trees that share inside a micro-batch alone under 1F1B
// (tree_micro_batches), with the micro-batch and the parts that are fastest for it; where it fits at none, without the
// limit, marked by *.
//
// efficiency: a proven least step time of any plan over the step; useful: work of the batch, each token once, over the
// time of all stages; copied: tokens that are computed again over those of the batch.
//
//   slimpack-bench-forests [TREE.tsv ...]     default: the lists of examples/data/trees, from the project's root
#include "uniform_pipeline.hpp"

#include <slimpack/io/forests/tree_lines.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/baselines/tree_micro_batches.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace slimpack;
using benchmarks::uniform_cost;

std::vector<tokens> samples_of(const forest& f) {
  std::vector<tokens> lengths;
  for (const sample_end& s : f.samples) lengths.insert(lengths.end(), s.count, s.at);
  return lengths;
}

std::optional<seconds> fastest_micro_batches(const shape& on, const forest& f) {
  std::optional<seconds> best;
  for (const tokens size : baselines::micro_batch_lengths(f, on.replicas))
    for (const bool at_forks : {false, true}) {
      const auto usual = baselines::tree_micro_batches(on, size, at_forks);
      const result<plan> made = planner{on, usual.slicer, uniform_cost, usual.solver, usual.schedule}(f);
      if (made && (!best || made.value().step_time < *best)) best = made.value().step_time;
    }
  return best;
}

bool print(const std::string& name, const forest& f, bool strict) {
  const auto path = static_cast<double>(batch_view(f).longest().value);
  for (const int replicas : {1, 4}) {
    shape on{.stages = 8, .replicas = replicas};
    on.memory = memory_limit{memory_unit::token, std::floor(strict ? 1.25 * path : std::max(65536.0, 1.25 * path))};
    const planner plan_batch{on, slicers::equal_cost{}, uniform_cost, solvers::two_phase{}};
    const result<plan> made = plan_batch(f);
    if (!made) {
      std::printf("%-24s %8d   %s\n", name.c_str(), replicas, made.error().detail.c_str());
      continue;
    }
    const plan& p = made.value();
    std::int64_t all = 0, copied = 0;
    for (const slice& s : tokens_at_home(p)) all += s.length.value;
    const std::vector<sequence> sequences = batch_of(p).sequences();
    for (const path_copy& c : p.copies) copied += (c.until - sequences[c.sequence.value].begin).value;
    const result<plan> flat = plan_batch(samples_of(f));
    std::optional<seconds> rival = fastest_micro_batches(on, f);
    const bool over = !rival;
    if (over) {
      shape unlimited = on;
      unlimited.memory.reset();
      rival = fastest_micro_batches(unlimited, f);
    }
    std::printf("%-24s %8d %8.2f s %10.4f %7.4f %7.2f %% %8.2f s %9s %10s%s %9.2f s\n", name.c_str(), replicas,
                p.step_time.value, p.efficiency, p.rank_time->useful / p.rank_time->total(),
                100 * static_cast<double>(copied) / static_cast<double>(all), p.planning_time.value,
                flat ? std::to_string(flat.value().step_time / p.step_time).substr(0, 6).c_str() : "-",
                rival ? std::to_string(*rival / p.step_time).substr(0, 6).c_str() : "-", over ? "*" : " ",
                flat ? flat.value().planning_time.value : 0.0);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files(argv + 1, argv + argc);
  if (files.empty())
    for (const auto& entry : std::filesystem::directory_iterator("examples/data/trees"))
      if (entry.path().extension() == ".tsv") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const bool strict : {false, true}) {
    std::printf(
        "%s\n%-24s %8s %10s %10s %7s %9s %10s %9s %11s %11s\n",
        strict ? "\nmemory: 1.25 x the longest path" : "memory: the larger of 65536 tokens and 1.25 x the longest path",
        "list", "replicas", "step", "efficiency", "useful", "copied", "planning", "flat over", "micro over",
        "flat plans");
    for (const std::filesystem::path& file : files) {
      const result<io::forest_list> read = io::read_tree_lines(file);
      if (!read) {
        std::fprintf(stderr, "%s\n", read.error().detail.c_str());
        return 1;
      }
      print(file.stem().string(), read.value().all, strict);
    }
  }
  return 0;
}
