// What virtual stages and weight gradients apart bring a short batch on a deep pipeline.

#include "parts.hpp"
#include "uniform.hpp"

#include <slimpack/io/lengths.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

constexpr int all_chunks[] = {1, 2, 4, 8};

/// The uniform pipeline of so many chunks: each has its part of a pack's times and overhead, and a message takes as
/// long.
costs::quadratic cost_of(int chunks) {
  costs::quadratic cost = uniform_cost;
  cost.linear /= chunks, cost.attention /= chunks, cost.per_pack = cost.per_pack * (1.0 / chunks);
  return cost;
}

}  // namespace

void chunks(const options& o, scoreboard& board) {
  const result<std::vector<tokens>> read = io::read_lengths(o.data / "lengths" / "gsm8k_sft.txt");
  std::printf(
      "chunks: useful work over rank-time of the first 512 of gsm8k_sft on 8 stages of the uniform pipeline, no "
      "limit;\n"
      "  a chunk has its part of a pack's times and overhead, a message takes 24 us whatever it carries\n"
      "  %-8s %6s %9s %11s %9s %11s\n",
      "effort", "chunks", "list", "planning ms", "W apart", "planning ms");
  if (!read) {
    std::printf("  gsm8k_sft: %s\n", read.error().detail.c_str());
    return;
  }
  const std::vector<tokens> lengths(read.value().begin(), read.value().begin() + 512);
  for (const effort& search : efforts) {
    if (o.quick && &search != efforts) continue;
    double best = 0;
    for (const int v : all_chunks) {
      const shape on{.stages = 8, .chunks = v};
      const result<plan> listed = planned(on, cost_of(v), lengths, search.budget);
      const result<plan> apart = planned(on, cost_of(v), lengths, search.budget, weight_gradients::apart);
      const auto useful = [](const result<plan>& made) { return made ? useful_share(made.value(), uniform_cost) : 0; };
      const auto time = [](const result<plan>& made) { return made ? 1e3 * made.value().planning_time.value : 0; };
      best = std::max(best, useful(apart));
      std::printf("  %-8s %6d %9.4f %11.1f %9.4f %11.1f\n", search.name, v, useful(listed), time(listed), useful(apart),
                  time(apart));
      std::fflush(stdout);
    }
    if (std::string(search.name) == "high")
      std::printf("  best of W apart %.4f, goal 0.965 %s\n", best,
                  board.judge({"chunks: gsm8k_sft 512, p 8, W apart", best, 0.965, false}));
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
