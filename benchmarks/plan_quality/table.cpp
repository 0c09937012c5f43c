// Useful work over rank-time of the uniform pipeline, at each effort: the laws, over several seeds.

#include "laws.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

struct row {
  law from;
  int stages;
  int replicas;
  double cap;  ///< times the longest sequence
  double goals[std::size(efforts)];
};

constexpr row rows[] = {{{"log-normal", log_normal, 512}, 8, 1, 1.25, {0.990, 0.9945, 0.9965}},
                        {{"bimodal", bimodal, 512}, 8, 1, 1.25, {0.990, 0.9945, 0.9965}},
                        {{"log-normal", log_normal, 512}, 8, 1, 1.05, {0.985, 0.991, 0.995}},
                        {{"bimodal", bimodal, 512}, 8, 1, 1.05, {0.985, 0.991, 0.995}},
                        {{"log-normal", log_normal, 512}, 16, 1, 1.25, {0.984, 0.989, 0.993}},
                        {{"bimodal", bimodal, 512}, 16, 1, 1.25, {0.984, 0.989, 0.993}},
                        {{"log-normal", log_normal, 4096}, 8, 8, 1.25, {0.988, 0.992, 0.995}},
                        {{"log-normal", log_normal, 512}, 8, 8, 1.25, {0.97, 0.98, 0.988}}};

void measure(const row& r, const effort& search, double limit, const options& o, scoreboard& board) {
  std::vector<double> useful;
  std::vector<double> times;
  std::string why;
  for (const std::uint64_t seed : o.seeds) {
    const std::vector<tokens> lengths = r.from.draw(r.from.sequences, seed);
    const shape on{.stages = r.stages, .replicas = r.replicas, .memory = times_longest(r.cap, lengths)};
    const result<plan> made = planned(on, uniform_cost, lengths, search.budget);
    useful.push_back(made ? useful_share(made.value(), uniform_cost) : 0);
    times.push_back(made ? made.value().planning_time.value : 0);
    if (!made) why = "  seed " + std::to_string(seed) + ": " + made.error().detail;
  }
  const double worst = *std::min_element(useful.begin(), useful.end());
  double mean = 0;
  for (const double u : useful) mean += u / static_cast<double>(useful.size());
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  char name[64];
  std::snprintf(name, sizeof name, "%s %zu, p %d, dp %d, cap %.2f", r.from.name, r.from.sequences, r.stages, r.replicas,
                r.cap);
  const char* verdict = board.judge({"table: " + std::string(name) + ", " + search.name, worst, limit, false});
  std::printf("  %-38s %-6s %9.5f %9.5f %8.4f %-6s %11.1f%s\n", name, search.name, worst, mean, limit, verdict,
              1e3 * times[times.size() / 2], why.c_str());
}

}  // namespace

void table(const options& o, scoreboard& board) {
  std::printf(
      "table: useful work over rank-time (stages x replicas x makespan, from a common start)\n"
      "  uniform pipeline: 1 us a token, 2/49152 us a pair, backward 2 and 2.5, 64 us a pack, 24 us a message;\n"
      "  cuts at multiples of 128 tokens; cap: live tokens of a stage over the longest sequence; laws with seeds");
  for (const std::uint64_t seed : o.seeds) std::printf(" %llu", static_cast<unsigned long long>(seed));
  std::printf("\n  %-38s %-6s %9s %9s %8s %-6s %11s\n", "batch", "effort", "worst", "mean", "goal", "worst",
              "planning ms");
  for (const row& r : rows)
    for (std::size_t e = 0; e < std::size(efforts); ++e)
      if (!o.quick || e < 2) measure(r, efforts[e], r.goals[e], o, board);
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
