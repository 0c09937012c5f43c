// F6: seconds of whole training iterations that papers measured; F7: of one layer in them. Both out of tables of single
// kernels and collectives (costs::profiled_of), F6 through the library's interleaved schedule and its simulator.

#include "baselines.hpp"
#include "machines.hpp"
#include "data.hpp"
#include "layer_operations.hpp"
#include "scores.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/pricing/price.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

constexpr const char* fitted_text =
    "one constant, stage_options::slowdown.compute, on the rows of F6 and F7; kernels from profiles/, links from gpus/";

/// The values that it was chosen from, by the mean over files of their mean errors.
constexpr double candidates[] = {1, 1.25, 1.5, 1.75, 2, 2.5, 3};

/// How Megatron-LM ran in the papers: before flash attention, with dropout; kernels fused and written for its widths,
/// so that rows are read once; gradients in fp32, one optimizer on every copy.
costs::stage_options megatron(bool sequence_parallel, const std::string& recompute) {
  costs::stage_options with;
  with.attention = costs::attention_kind::unfused;
  with.dropout = true;
  with.messages = costs::messages::waited_for;
  with.row_share = with.memory_share;
  with.norm_reads = 1;
  with.distributed_optimizer = false;
  with.reduction = costs::reduction::exposed;
  with.sequence_parallel = sequence_parallel;
  with.recompute = recompute == "full"        ? costs::recompute::full
                   : recompute == "selective" ? costs::recompute::attention
                                              : costs::recompute::none;
  return with;
}

/// One run as a paper describes it; what it does not print is empty.
struct paper_run {
  std::string name;
  std::string file;
  std::string gpu;
  costs::model_shape model;
  shape on;
  int batch{};  ///< sequences
  tokens sequence;
  std::optional<int> micro_batch;
  bool chunks_printed{};
  costs::stage_options with;
  seconds measured;

  /// Of a GPU, for the dumb baselines.
  [[nodiscard]] double flops() const {
    const double all = 6 * costs::parameters(model) * batch * static_cast<double>(sequence.value);
    return all / (on.stages * on.replicas * on.tensor);
  }
};

struct prediction {
  seconds time{std::numeric_limits<double>::infinity()};
  int micro_batch{};
  int chunks{};
};

/// What was not printed is chosen as its authors would: the fastest of 1, 2, 4, 8 sequences a micro-batch, and of the
/// chunks that divide a stage's layers, in whole rounds of the pipeline and within memory.
prediction predicted(const paper_run& r, machines& cluster) {
  const machine& m = cluster.of(r.gpu);
  prediction best;
  const int of_stage = r.model.layers / r.on.stages;
  for (int chunks = 1; chunks <= (r.on.stages > 1 ? of_stage : 1); ++chunks) {
    if (r.chunks_printed ? chunks != r.on.chunks : of_stage % chunks != 0) continue;
    shape on = r.on;
    on.chunks = chunks;
    // What was printed ran, and so fitted.
    if (!r.chunks_printed) on.memory = memory_limit{memory_unit::byte, m.net.device().memory.value - 4 * gib};
    costs::stage_options with = r.with;
    with.longest = r.sequence * 8;
    const costs::profiled cost = costs::profiled_of(r.model, on, m.kernels, m.net, with, m.layers).value();
    for (const int micro_batch : {1, 2, 4, 8}) {
      if (r.micro_batch && *r.micro_batch != micro_batch) continue;
      if (r.batch % (on.replicas * micro_batch) != 0) continue;
      if (chunks > 1 && r.batch / on.replicas / micro_batch % on.stages != 0) continue;
      const std::optional<seconds> t = iteration(cost, on, r.batch / on.replicas, r.sequence, micro_batch);
      if (t && *t < best.time) best = {*t, micro_batch, chunks};
    }
  }
  return best;
}

costs::model_shape gpt_of(const cells& c, int layers, std::int64_t vocabulary) {
  return decoder("GPT", layers, c.count("hidden"), c.count("heads"), 4 * c.count("hidden"), vocabulary, false);
}

paper_run run_of(const cells& c, const std::string& file, const std::string& label) {
  paper_run r;
  r.name = c.text("row_id") + " " + label;
  r.file = file;
  r.gpu = c.text("gpu");
  r.model = gpt_of(c, c.count("layers"), c.count("vocab"));
  r.batch = c.count("global_batch");
  r.sequence = {c.count("seq")};
  return r;
}

/// Rows of Korthikanti et al.: all printed. Tensor-parallel traffic of backward runs under the weight gradients.
void add_recompute_rows(const std::filesystem::path& data, std::vector<paper_run>& to) {
  each_row(data / "published/recompute_iteration_time.csv", [&](const cells& c) {
    paper_run r = run_of(c, "recompute", c.text("model") + " " + c.text("recompute"));
    r.on = {.stages = c.count("pp"),
            .replicas = c.count("dp"),
            .tensor = c.count("tp"),
            .chunks = c.count("virtual_stages")};
    r.chunks_printed = true;
    r.micro_batch = c.count("micro_batch");
    r.with = megatron(c.count("sequence_parallel") == 1, c.text("recompute"));
    r.measured = {c.measured("iteration_s")};
    to.push_back(r);
  });
}

/// Rows of Narayanan et al., SC21: full recompute, by an earlier Megatron-LM, which waits for tensor-parallel traffic
/// and adds each pack's 16-bit gradients to fp32 ones in a kernel of its own (megatron/model/distributed.py): that
/// products do so themselves is a later option, gradient_accumulation_fusion.
void add_sc21_rows(const std::filesystem::path& data, std::vector<paper_run>& to, std::vector<std::string>& notes) {
  const auto add = [&](paper_run r, const cells& c) {
    r.with = megatron(false, "full");
    r.with.hides_tensor_traffic = false;
    r.with.accumulation_traffic = 10;
    r.measured = {c.measured("derived_iteration_s")};
    to.push_back(std::move(r));
  };
  each_row(data / "published/megatron_sc21_weak_scaling.csv", [&](const cells& c) {
    paper_run r = run_of(c, "weak scaling", c.text("params_b") + "B");
    r.on = {.stages = c.count("pp"), .replicas = c.count("dp"), .tensor = c.count("tp")};
    add(std::move(r), c);
  });
  int sharded = 0;
  each_row(data / "published/megatron_sc21_ptd_vs_zero3.csv", [&](const cells& c) {
    int tensor = 0, stages = 0;
    if (std::sscanf(c.text("scheme").c_str(), "PTD tp%d pp%d", &tensor, &stages) != 2) {
      ++sharded;
      return;
    }
    paper_run r = run_of(c, "PTD", c.text("params_b") + "B");
    r.on = {.stages = stages, .replicas = c.count("dp"), .tensor = tensor};
    r.micro_batch = c.count("micro_batch");
    add(std::move(r), c);
  });
  if (sharded > 0)
    notes.push_back(
        std::to_string(sharded) +
        " ZeRO-3 rows left out: their weights are gathered layer by layer, which no shape of the library does");
}

score iteration_score(const std::vector<paper_run>& runs, machines& cluster) {
  score s{.id = "F6", .claim = "seconds of a training iteration, GPT on A100, 8 to 3072 GPUs", .fitted = fitted_text};
  for (const paper_run& r : runs) {
    const prediction p = predicted(r, cluster);
    s.rows.push_back(
        {r.name + ", " + std::to_string(p.micro_batch) + " a pack, " + std::to_string(p.chunks) + " chunks",
         p.time.value, r.measured.value});
  }
  for (const char* file : {"recompute", "weak scaling", "PTD"}) {
    std::vector<row> own;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (runs[i].file == file) own.push_back(s.rows[i]);
    if (!own.empty()) s.notes.push_back(summary_of(std::string("rows of ") + file, own));
  }
  std::vector<measured_run> known;
  for (const paper_run& r : runs) known.push_back({r.name, r.file, r.flops(), r.measured.value});
  for (std::string& line : dumb_baselines(known)) s.notes.push_back(std::move(line));
  const summary all = summarise(s);
  s.goals = {{"mean error", all.mean, 0.08}, {"worst error", std::abs(all.worst), 0.20}};
  return s;
}

/// A measured layer and its prediction.
struct timed_layer {
  std::string name;
  std::string recompute;
  bool sequence_parallel{};
  int tensor{};
  seconds predicted[2]{};
  seconds measured[2]{};
};

timed_layer layer_of(const cells& c, machines& cluster, double slowdown) {
  timed_layer made;
  made.name = c.text("row_id");
  made.recompute = c.text("recompute");
  made.sequence_parallel = c.count("sequence_parallel") == 1;
  made.tensor = c.count("tp");
  const machine& m = cluster.of(c.text("gpu"));
  // The middle of three layers on three stages: no embedding, no logits.
  const shape on{.stages = 3, .tensor = made.tensor};
  costs::stage_options with = megatron(made.sequence_parallel, made.recompute);
  with.messages = costs::messages::overlapped;
  with.slowdown.compute = slowdown;
  with.longest = tokens{c.count("seq")} * c.count("micro_batch");
  const costs::profiled cost = costs::profiled_of(gpt_of(c, 3, 51200), on, m.kernels, m.net, with, m.layers).value();
  std::vector<slice> pack;
  for (int i = 0; i < c.count("micro_batch"); ++i)
    pack.push_back({{static_cast<std::uint32_t>(i)}, {0}, {c.count("seq")}});
  for (const pass p : {pass::forward, pass::backward}) {
    const int i = p == pass::forward ? 0 : 1;
    made.predicted[i] = pack_time(cost, std::span<const slice>(pack), p, 1);
    made.measured[i] = {c.measured(i == 0 ? "fwd_ms" : "bwd_ms") / 1e3};
  }
  return made;
}

std::vector<timed_layer> layers_of(const std::filesystem::path& data, machines& cluster, double slowdown,
                                   left_out& others) {
  std::vector<timed_layer> layers;
  each_row(data / "published/recompute_layer_time_22b.csv", [&](const cells& c) {
    if (!cluster.describes(c.text("gpu"))) return others.add(c.where(), cluster.lacks(c.text("gpu")));
    others.attempt(c.where(), [&] { layers.push_back(layer_of(c, cluster, slowdown)); });
  });
  return layers;
}

/// What the constant is worth on rows that it was not chosen on: leaves out each file in turn.
std::string cross_validated(const std::filesystem::path& data, const std::vector<paper_run>& runs, machines& cluster) {
  std::vector<std::map<std::string, std::vector<double>>> errors;  // of each candidate, by file
  for (const double slowdown : candidates) {
    std::map<std::string, std::vector<double>>& of = errors.emplace_back();
    for (paper_run r : runs) {
      r.with.slowdown.compute = slowdown;
      of[r.file].push_back(std::abs(predicted(r, cluster).time / r.measured - 1));
    }
    left_out told;  // by the scores
    for (const timed_layer& l : layers_of(data, cluster, slowdown, told))
      for (const int p : {0, 1}) of["layers"].push_back(std::abs(l.predicted[p] / l.measured[p] - 1));
  }
  const auto mean = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  std::string text = "file left out: constant chosen on the others, its mean error:";
  for (const auto& left : errors.front()) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < errors.size(); ++i) {
      double sum = 0;
      for (const auto& [file, all] : errors[i]) sum += file == left.first ? 0 : mean(all);
      if (sum < least) least = sum, best = i;
    }
    char one[80];
    std::snprintf(one, sizeof one, " %s %.4g, %.1f %%;", left.first.c_str(), candidates[best],
                  100 * mean(errors[best][left.first]));
    text += one;
  }
  text.back() = '.';
  return text;
}

std::vector<score> layer_scores(const std::vector<timed_layer>& layers) {
  score times{.id = "F7", .claim = "seconds of one layer of 22B, a pass", .fitted = fitted_text};
  score deltas{.id = "F7", .claim = "what recompute adds to its backward, seconds", .fitted = fitted_text};
  for (const timed_layer& l : layers)
    for (const int p : {0, 1})
      times.rows.push_back({l.name + " " + l.recompute + (p == 0 ? " forward" : " backward"), l.predicted[p].value,
                            l.measured[p].value});
  for (const timed_layer& a : layers)
    for (const timed_layer& b : layers)
      if (a.sequence_parallel == b.sequence_parallel && a.tensor == b.tensor && a.measured[1] > b.measured[1])
        deltas.rows.push_back({a.recompute + " over " + b.recompute, (a.predicted[1] - b.predicted[1]).value,
                               (a.measured[1] - b.measured[1]).value});
  times.goals = {{"worst error", std::abs(summarise(times).worst), 0.08}};
  deltas.goals = {{"worst error", std::abs(summarise(deltas).worst), 0.20}};
  return {times, deltas};
}

}  // namespace

std::vector<score> iterations(const std::filesystem::path& data) {
  machines cluster(data);
  std::vector<paper_run> runs;
  std::vector<std::string> notes;
  add_recompute_rows(data, runs);
  add_sc21_rows(data, runs, notes);
  left_out others;
  std::erase_if(runs, [&](const paper_run& r) {
    bool possible = false;
    if (!cluster.describes(r.gpu))
      others.add(r.name, cluster.lacks(r.gpu));
    else
      others.attempt(r.name, [&] { possible = std::isfinite(predicted(r, cluster).time.value); });
    if (!possible && cluster.describes(r.gpu)) others.add(r.name, "it fits no memory, or cannot be divided as printed");
    return !possible;
  });
  others.tell(notes);
  score whole = iteration_score(runs, cluster);
  whole.notes.insert(whole.notes.end(), notes.begin(), notes.end());
  if (!runs.empty()) whole.notes.push_back(cross_validated(data, runs, cluster));
  left_out other_layers;
  std::vector<score> all =
      layer_scores(layers_of(data, cluster, costs::stage_options{}.slowdown.compute, other_layers));
  other_layers.tell(all.front().notes);
  all.insert(all.begin(), {std::move(whole), other_trainings(data), torchtitan_trainings(data), expert_trainings(data)});
  for (score& s : layer_operations(data)) all.push_back(std::move(s));
  return all;
}

}  // namespace fidelity
