// F14: from which sequence length on does context parallelism pay, and how much? NeMo's measurements of Llama 2 7B in
// FP8, with context parallelism as it was run, against the best shape without.

#include "baselines.hpp"
#include "data.hpp"
#include "machines.hpp"
#include "scores.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/profiled_of.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

/// Not printed: Llama 2's own batch of 4 Mi tokens. It fits all rows: the longest has as many sequences as replicas.
constexpr std::int64_t batch_tokens = std::int64_t{4} << 20;

struct choice {
  seconds time{std::numeric_limits<double>::infinity()};
  shape on{};
  costs::recompute recompute{};
};

/// A shape with the faster of no recomputation and a full one; one sequence a pack, 1F1B, as NeMo's recipes of 7B.
void try_shape(const costs::model_shape& model, shape on, tokens sequence, const machine& m, choice& best) {
  const auto sequences = static_cast<int>(batch_tokens / sequence.value);
  if (sequences % on.replicas != 0) return;
  on.memory = memory_limit{memory_unit::byte, m.net.device().memory.value - 4 * gib};
  for (const costs::recompute again : {costs::recompute::none, costs::recompute::full}) {
    costs::stage_options with;
    with.recompute = again;
    with.cuts = false;
    with.reduction = costs::reduction::exposed;
    with.linear_speed = 2;  // FP8
    with.longest = sequence;
    const costs::profiled cost = costs::profiled_of(model, on, m.kernels, m.net, with, m.layers).value();
    const std::optional<seconds> t = iteration(cost, on, sequences / on.replicas, sequence, 1);
    if (t && *t < best.time) best = {*t, on, again};
  }
}

/// The fastest shape without context parallelism that fits into memory: tensor-parallel ranks on up to two nodes, any
/// pipeline of a power of two.
choice without_context(const costs::model_shape& model, int gpus, tokens sequence, const machine& m) {
  choice best;
  for (int tensor = 1; tensor <= std::min(gpus, 2 * m.net.device().gpus_per_node); tensor *= 2)
    for (int stages = 1; tensor * stages <= gpus && stages <= model.layers; stages *= 2)
      try_shape(model, {.stages = stages, .replicas = gpus / tensor / stages, .tensor = tensor}, sequence, m, best);
  return best;
}

/// TFLOP of an iteration as NeMo counts: all of attention's square.
double tflop_of(const costs::model_shape& model, tokens sequence) {
  const double square = 12.0 * model.layers * static_cast<double>(model.hidden) * static_cast<double>(sequence.value);
  const double token = 6 * (costs::parameters(model) - static_cast<double>(model.vocabulary * model.hidden)) + square;
  return token * static_cast<double>(batch_tokens) / 1e12;
}

std::string text_of(const choice& c) {
  return "tp " + std::to_string(c.on.tensor) + " cp " + std::to_string(c.on.context) + " pp " +
         std::to_string(c.on.stages) + " dp " + std::to_string(c.on.replicas) + ", recompute " + name_of(c.recompute);
}

}  // namespace

std::vector<score> long_context(const std::filesystem::path& data) {
  score gain{.id = "F14", .claim = "speed-up by context parallelism, Llama 2 7B in FP8 on H100"};
  score rates{.id = "F14", .claim = "TFLOP/s of a GPU in the same runs"};
  machines cluster(data, "fa2");  // NeMo's container of March 2024 is older than FlashAttention-3
  const costs::model_shape model = decoder("Llama 2 7B", 32, 4096, 32, 11008, 32000, true);
  std::vector<measured_run> known;
  int wrong = 0;
  double worst = 0;
  left_out others;
  each_row(data / "published/nemo_long_sequence_cp.csv", [&](const cells& c) {
    if (!cluster.describes(c.text("gpu"))) return others.add(c.where(), cluster.lacks(c.text("gpu")));
    const machine& m = cluster.of(c.text("gpu"));
    const tokens sequence{c.count("seq")};
    const int gpus = c.count("gpus");
    const shape printed{
        .stages = c.count("pp"), .replicas = c.count("dp"), .tensor = c.count("tp"), .context = c.count("cp")};
    choice with;
    try_shape(model, printed, sequence, m, with);
    const choice without = without_context(model, gpus, sequence, m);
    const double rate_with = c.measured("tflops_per_gpu_with_cp");
    const double rate_without = c.measured("tflops_per_gpu_best_without_cp");
    const row r{c.text("seq") + " tokens: " + text_of(with) + " over " + text_of(without), without.time / with.time,
                rate_with / rate_without, printed.context > 1};
    gain.rows.push_back(r);
    const double share = tflop_of(model, sequence) / gpus;
    const auto add = [&](const char* how, seconds predicted, double rate) {
      rates.rows.push_back({c.text("seq") + " tokens " + how, share / predicted.value, rate});
      known.push_back({rates.rows.back().name, how,
                       6 * costs::parameters(model) * static_cast<double>(batch_tokens) / gpus, share / rate});
    };
    add("with", with.time, rate_with);
    add("without", without.time, rate_without);
    if (!r.scored) return;
    wrong += (r.predicted > 1) != (r.measured > 1) ? 1 : 0;
    if (sequence <= tokens{131072}) worst = std::max(worst, std::abs(r.predicted / r.measured - 1));
  });
  gain.goals = {{"lengths on the wrong side of the crossing", static_cast<double>(wrong), 0},
                {"worst error up to 131072 tokens", worst, 0.15}};
  gain.notes = {"rows without context parallelism in either column have nothing to gain: not scored",
                "from 262144 tokens on a replica without it spans nodes, in a shape that is not printed"};
  others.tell(gain.notes);
  std::stable_sort(known.begin(), known.end(),
                   [](const measured_run& a, const measured_run& b) { return a.file < b.file; });
  rates.notes = dumb_baselines(known);
  return {gain, rates};
}

}  // namespace fidelity
