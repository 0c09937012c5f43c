// Efficiency against the lower bound: every list and law.

#include "batches.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

namespace slimpack::plan_quality {
namespace {

/// Geometric mean and least of efficiencies.
struct spread {
  double logarithms{};
  double least{std::numeric_limits<double>::infinity()};
  std::size_t count{};

  void add(double efficiency) {
    logarithms += std::log(efficiency);
    least = std::min(least, efficiency);
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(logarithms / static_cast<double>(count)); }
};

struct setting {
  std::size_t sequences;
  int stages;
  int replicas;
  double least_long_tailed;
};

void measure(const batch& b, const setting& at, double floor_tokens, const effort& search, spread& long_tailed,
             scoreboard& board) {
  shape on{.stages = at.stages, .replicas = at.replicas, .memory = times_longest(1.25, b.lengths)};
  on.memory->amount = std::max(on.memory->amount, floor_tokens);
  result<plan> made = planned(on, uniform_cost, b.lengths, search.budget);
  bool apart = false;
  if (made && !b.long_tailed && at.replicas == 1) {
    result<plan> split = planned(on, uniform_cost, b.lengths, search.budget, weight_gradients::apart);
    apart = split && split.value().step_time < made.value().step_time;
    if (apart) made = std::move(split);
  }
  char name[96];
  std::snprintf(name, sizeof name, "%s, p %d, dp %d, cap %.0f", b.name.c_str(), at.stages, at.replicas,
                on.memory->amount);
  if (!made) {
    std::printf("  %-52s no plan: %s\n", name, made.error().detail.c_str());
    board.judge({"bounds: " + std::string(name), 0, 1, false});
    return;
  }
  const plan& p = made.value();
  if (b.long_tailed) long_tailed.add(p.efficiency);
  const char* verdict = "no goal";
  if (b.long_tailed)
    verdict = board.judge({"bounds: " + std::string(name), p.efficiency, at.least_long_tailed, false});
  else if (at.stages == 8 && floor_tokens > 0)
    verdict = board.judge({"bounds: " + std::string(name), p.efficiency, 0.96, false});
  const auto binding = std::max_element(p.bounds.begin(), p.bounds.end(),
                                        [](const bound& x, const bound& y) { return x.time < y.time; });
  std::printf("  %-52s %8.5f %8.5f %10.3f %10.3f %8.3f  %-7s %s%s\n", name, useful_share(p, uniform_cost), p.efficiency,
              1e3 * p.step_time.value, 1e3 * p.lower_bound.value, 1e3 * (p.step_time - p.lower_bound).value, verdict,
              binding->name.c_str(), apart ? "; W apart" : "");
}

}  // namespace

void bounds(const options& o, scoreboard& board) {
  constexpr setting settings[] = {{512, 8, 1, 0.99}, {512, 16, 1, 0.985}, {4096, 8, 8, 0.99}, {4096, 16, 8, 0.985}};
  const std::uint64_t seed = o.seeds.front();
  const effort& search = efforts[o.quick ? 1 : 2];
  std::printf(
      "bounds: efficiency, the proven least step time over the plan's; %s effort, uniform pipeline as in table\n"
      "  lists in file order, linux_source shuffled and laws drawn with seed %llu, lengths cut to 262,144 tokens;\n"
      "  cap 1.25 x the longest sequence, and at least 65,536 tokens unless `strict`; times in ms; short lists on one\n"
      "  replica also with weight gradients apart (W), where that is faster\n",
      search.name, static_cast<unsigned long long>(seed));
  std::printf("  %-52s %8s %8s %10s %10s %8s  %-7s %s\n", "batch", "useful", "effic.", "step", "bound", "gap", "goal",
              "binding bound");
  for (const setting& at : settings) {
    if (o.quick && (at.sequences > 512 || at.stages > 8)) continue;
    spread long_tailed;
    for (const batch& b : batches(o.data, at.sequences, seed)) measure(b, at, 65536, search, long_tailed, board);
    const double mean = long_tailed.mean();
    const std::string name = "bounds: geometric mean of long-tailed, " + std::to_string(at.sequences) + ", p " +
                             std::to_string(at.stages) + ", dp " + std::to_string(at.replicas);
    std::printf("  long-tailed: geometric mean %.5f (goal 0.997 %s), least %.5f\n", mean,
                board.judge({name, mean, 0.997, false}), long_tailed.least);
  }
  if (!o.quick) {
    std::printf("  strict: short lists under 1.25 x their longest, no floor\n");
    spread none;
    for (const batch& b : batches(o.data, 512, seed))
      if (!b.long_tailed) measure(b, settings[0], 0, search, none, board);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
