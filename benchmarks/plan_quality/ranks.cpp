// What it costs to divide by estimates, and what it saves: useful work beside that of divisions which are searched, and
// time and memory of one rank that plans its own group of a batch for 1,024 replicas.

#include "laws.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace slimpack::plan_quality {
namespace {

constexpr double most_lost = 0.002;  // of useful work

/// Rows of the table that have 8 replicas.
void compare(std::size_t sequences, const effort& search, const options& o, scoreboard& board) {
  double searched = 1, estimated = 1, gain = 0, time[2]{};
  for (const std::uint64_t seed : o.seeds) {
    const std::vector<tokens> lengths = log_normal(sequences, seed);
    const shape on{.stages = 8, .replicas = 8, .memory = times_longest(1.25, lengths)};
    const plan by_plans = planned(on, uniform_cost, lengths, search.budget).value();
    const plan by_estimates = planned_by_estimates(on, uniform_cost, lengths, search.budget).value();
    const double found = useful_share(by_plans, uniform_cost), told = useful_share(by_estimates, uniform_cost);
    searched = std::min(searched, found);
    estimated = std::min(estimated, told);
    gain += (told - found) / static_cast<double>(o.seeds.size());
    time[0] += by_plans.planning_time.value, time[1] += by_estimates.planning_time.value;
  }
  const std::string name =
      "ranks: lost by estimates, log-normal " + std::to_string(sequences) + ", dp 8, " + search.name;
  std::printf("  log-normal %-6zu %-6s %9.5f %9.5f %9.5f %8.4f %-6s %+9.5f %11.1f %11.1f\n", sequences, search.name,
              searched, estimated, searched - estimated, most_lost,
              board.judge({name, searched - estimated, most_lost}), gain,
              1e3 * time[0] / static_cast<double>(o.seeds.size()), 1e3 * time[1] / static_cast<double>(o.seeds.size()));
}

/// From now on the most that this process holds is counted anew, where the system can do that.
void forget_peak() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// Megabytes that this process has held at most; 0 where the system does not tell.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) {
      double kilobytes = 0;
      std::istringstream(line.substr(6)) >> kilobytes;
      return kilobytes / 1024;
    }
  return 0;
}

void one_rank(const effort& search, double most_milliseconds, const options& o, scoreboard& board) {
  const std::size_t n = o.quick ? 8192 : 65536;
  const std::vector<tokens> lengths = log_normal(n, o.seeds.front());
  const shape on{.stages = 16, .replicas = static_cast<int>(n / 64), .memory = times_longest(1.25, lengths)};
  constexpr std::uint32_t asked = 16;  // replicas, of groups of several sizes
  double slowest = 0;
  std::size_t sharers = 0;
  forget_peak();
  for (std::uint32_t i = 0; i < asked; ++i) {
    const auto replica =
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(on.replicas) / asked);
    const rank_plan made = planned_for_rank(on, uniform_cost, lengths, search.budget, replica).value();
    slowest = std::max(slowest, 1e3 * made.part.planning_time.value);
    sharers = std::max(sharers, made.group.size());
  }
  const double held = peak_megabytes();
  const std::string name = std::string("ranks: one of 1,024 x 16, ") + search.name;
  std::printf(
      "  %zu sequences, %d replicas x %d stages, %-6s: a rank plans in %.0f ms at most, goal %.0f %s, groups of up to "
      "%zu; "
      "peak %.0f MB, goal 200 %s\n",
      n, on.replicas, on.stages, search.name, slowest, most_milliseconds,
      board.judge({name + ", ms", slowest, most_milliseconds}), sharers, held, board.judge({name + ", MB", held, 200}));
}

}  // namespace

void ranks(const options& o, scoreboard& board) {
  std::printf(
      "ranks: divisions that are searched and divisions by estimates, 8 stages, cap 1.25; useful work, worst seed\n"
      "  %-17s %-6s %9s %9s %9s %8s %-6s %9s %11s %11s\n",
      "batch", "effort", "searched", "estimated", "lost", "goal", "", "mean gain", "ms", "ms");
  for (const std::size_t sequences : {std::size_t{4096}, std::size_t{512}})
    for (std::size_t e = 0; e < std::size(efforts); ++e)
      if (!o.quick || e < 2) compare(sequences, efforts[e], o, board);
  std::printf(
      "one rank that plans its own group; processor time of the slowest of 16 ranks, and the most that the process "
      "held\n");
  one_rank(efforts[0], 300, o, board);
  one_rank(efforts[1], 1000, o, board);
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
