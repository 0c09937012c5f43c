// Planning time over the number of sequences, at fast effort: how it grows, and the largest batch meant to be planned.

#include "laws.hpp"
#include "parts.hpp"
#include "uniform.hpp"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace slimpack::plan_quality {

void growth(const options& o, scoreboard& board) {
  const std::uint64_t seed = o.seeds.front();
  std::printf("growth: planning time over sequences, log-normal with seed %llu, fast effort, p 8, dp 8, cap 1.25\n",
              static_cast<unsigned long long>(seed));
  std::printf("  %9s %11s %14s\n", "sequences", "planning ms", "ms a sequence");
  double first = 0;
  std::size_t least = 512, most = o.quick ? 4096 : 65536;
  for (std::size_t sequences = least; sequences <= most; sequences *= 2) {
    const std::vector<tokens> lengths = log_normal(sequences, seed);
    const shape on{.stages = 8, .replicas = 8, .memory = times_longest(1.25, lengths)};
    const double time = planned(on, uniform_cost, lengths, solvers::search_budget::fast()).value().planning_time.value;
    if (sequences == least) first = time;
    std::printf("  %9zu %11.2f %14.5f\n", sequences, 1e3 * time, 1e3 * time / static_cast<double>(sequences));
    if (sequences == most) {
      const double exponent = std::log(time / first) / std::log(static_cast<double>(most) / static_cast<double>(least));
      std::printf("  exponent %.3f, goal at most 1.1 %s\n\n", exponent,
                  board.judge({"growth: exponent of planning time in sequences", exponent, 1.1}));
    }
  }
}

}  // namespace slimpack::plan_quality
