// What the frame of a step costs: the vocabulary on the last stage, or spread over all of them, with and without
// recomputation.

#include "parts.hpp"

#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/io/lengths.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/planner.hpp>

#include "../../examples/planners/models.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace slimpack::plan_quality {
namespace {

struct frame {
  const char* list;
  const char* model;
  int replicas;
  int stages;
  int tensor;
  int chunks;
  double goal;  // seconds a step
};

constexpr frame all_frames[] = {{"mooncake_conversation", "llama-3.1-8b", 2, 4, 2, 1, 64.0},
                                {"arxiv_summarization", "llama-3.1-8b", 2, 4, 2, 1, 6.75},
                                {"gsm8k_sft", "llama-3.1-8b", 2, 4, 2, 1, 0.37},
                                {"gsm8k_sft", "llama-3.1-8b", 2, 4, 2, 4, 0.345},
                                {"linux_source", "llama-3.1-8b", 4, 8, 2, 1, 0.84},
                                {"mooncake_conversation", "llama-3.1-70b", 1, 8, 8, 1, 135.5}};

constexpr double longest_context = 131072;

result<plan> plan_in(const frame& r, const std::vector<tokens>& lengths, const costs::model_shape& model,
                     vocabulary where, costs::recompute again) {
  const shape on{.stages = r.stages,
                 .replicas = r.replicas,
                 .tensor = r.tensor,
                 .chunks = r.chunks,
                 .memory = memory_limit{memory_unit::byte, 70.51 * (std::int64_t{1} << 30)},
                 .vocabulary = where};
  result<costs::transformer> cost = costs::transformer::sheet(model, costs::gpus::h100(), on, {.recompute = again});
  if (!cost) return std::move(cost).error();
  return planner{on, slicers::equal_cost{}, std::move(cost).value(), solvers::two_phase{}}(lengths);
}

}  // namespace

void frames(const options& o, scoreboard& board) {
  std::printf(
      "frames: seconds a step on H100s, transformer cost, at most 70.51 GiB, 512 sequences in file order, context "
      "%.0f, normal\n"
      "  effort. last, spread: where the vocabulary is; recomputation selective or none; even layers\n"
      "  %-22s %-14s %-10s %9s %9s %9s %9s %-6s %8s %8s\n",
      longest_context, "list", "model", "dp pp tp v", "last, sel", "last", "spread", "goal", "", "waits", "plan ms");
  for (const frame& r : all_frames) {
    result<std::vector<tokens>> read = io::read_lengths(o.data / "lengths" / (std::string(r.list) + ".txt"));
    const result<costs::model_shape> model = io::read_model(o.data / "models" / (std::string(r.model) + ".json"));
    if (!read || !model) {
      std::printf("  %s, %s: not found\n", r.list, r.model);
      continue;
    }
    std::vector<tokens>& lengths = read.value();
    lengths.resize(std::min<std::size_t>(lengths.size(), 512));
    for (tokens& length : lengths) length = std::min(length, tokens{static_cast<std::int64_t>(longest_context)});
    const auto step = [](const result<plan>& made) {
      return made ? made.value().step_time.value : std::numeric_limits<double>::quiet_NaN();
    };
    const result<plan> spread = plan_in(r, lengths, model.value(), vocabulary::spread, costs::recompute::none);
    char where[32];
    std::snprintf(where, sizeof where, "%d %d %d %d", r.replicas, r.stages, r.tensor, r.chunks);
    const char* verdict =
        board.judge({"frames: " + std::string(r.list) + ", " + r.model + ", " + where, step(spread), r.goal});
    std::printf("  %-22s %-14s %-10s %9.4f %9.4f %9.4f %9.4f %-6s %6.2f %% %8.0f\n", r.list, r.model, where,
                step(plan_in(r, lengths, model.value(), vocabulary::last, costs::recompute::selective)),
                step(plan_in(r, lengths, model.value(), vocabulary::last, costs::recompute::none)), step(spread),
                r.goal, verdict,
                spread ? 100 * spread.value().rank_time->waiting / spread.value().rank_time->total() : 0,
                spread ? 1e3 * spread.value().planning_time.value : 0);
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace slimpack::plan_quality
