// Data and context parallelism alone: one stage, sequences shared where they must be.

#include "laws.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

constexpr law laws[] = {{"log-normal", log_normal, 512}, {"bimodal", bimodal, 512}, {"log-normal", log_normal, 4096}};

void measure(const law& l, int ranks, std::uint64_t seed, const solvers::search_budget& effort, scoreboard& board) {
  const std::vector<tokens> lengths = l.draw(l.sequences, seed);
  std::int64_t total = 0;
  for (const tokens length : lengths) total += length.value;
  const double mean = static_cast<double>(total) / ranks;
  const shape on{.replicas = ranks, .memory = memory_limit{memory_unit::token, std::floor(1.25 * mean)}};
  costs::quadratic free = uniform_cost;
  free.per_pack = free.hop = {};
  char name[64];
  std::snprintf(name, sizeof name, "%s %zu, %d ranks, seed %llu", l.name, l.sequences, ranks,
                static_cast<unsigned long long>(seed));
  const result<plan> made = planned(on, free, lengths, effort);
  const double slowest = made ? 1 / useful_share(made.value(), free) : std::numeric_limits<double>::quiet_NaN();
  const char* verdict = board.judge({"balance: " + std::string(name), slowest, 1.002});
  if (!made) {
    std::printf("  %-36s no plan: %s\n", name, made.error().detail.c_str());
    return;
  }
  double peak = 0, most = 0;
  for (const replica_plan& r : made.value().replicas) {
    peak = std::max(peak, r.peak_memory.front());
    most = std::max(most, static_cast<double>(r.times.before.forward.back()));
  }
  std::printf("  %-36s %9.5f %-6s %9.3f %9.3f %11.1f\n", name, slowest, verdict, peak / mean, most / mean,
              1e3 * made.value().planning_time.value);
}

}  // namespace

void balance(const options& o, scoreboard& board) {
  std::printf(
      "balance: one stage, slowest rank over the average; goal at most 1.002\n"
      "  cost as in table, but packs and messages are free; cap: live tokens of a rank, 1.25 x the mean tokens a\n"
      "  rank; normal effort. Others, on lists of these laws: 1.001 to 1.007 (equal chunks, or attention moved\n"
      "  apart), 1.003 to 1.145 (context-parallel groups of powers of two)\n");
  std::printf("  %-36s %9s %-6s %9s %9s %11s\n", "batch", "slowest", "goal", "peak/mean", "own/mean", "planning ms");
  for (const law& l : laws)
    for (const int ranks : {8, 32, 64})
      for (const std::uint64_t seed : o.seeds) measure(l, ranks, seed, solvers::search_budget::normal(), board);
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
