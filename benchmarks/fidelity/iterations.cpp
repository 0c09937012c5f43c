// F6: seconds of whole training iterations that papers measured; F7: of one layer in them. Both out of tables of single
// kernels and collectives (costs::profiled_of), F6 through the library's interleaved schedule and its simulator.

#include "baselines.hpp"
#include "data.hpp"
#include "layer_operations.hpp"
#include "machines.hpp"
#include "paper_runs.hpp"
#include "priced_trainings.hpp"
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

/// What the constant is on rows that it was not chosen on: leaves out each file in turn.
struct cross_validation {
  std::map<std::string, double> chosen{};  ///< without that file
  std::string text{};                      ///< and its mean error there
};

cross_validation cross_validated(const std::filesystem::path& data, const std::vector<paper_run>& runs,
                                 machines& cluster) {
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
  cross_validation made{.text = "file left out: constant chosen on the others, its mean error:"};
  for (const auto& left : errors.front()) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < errors.size(); ++i) {
      double sum = 0;
      for (const auto& [file, all] : errors[i]) sum += file == left.first ? 0 : mean(all);
      if (sum < least) least = sum, best = i;
    }
    made.chosen[left.first] = candidates[best];
    char one[80];
    std::snprintf(one, sizeof one, " %s %.4g, %.1f %%;", left.first.c_str(), candidates[best],
                  100 * mean(errors[best][left.first]));
    made.text += one;
  }
  made.text.back() = '.';
  return made;
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
  std::vector<std::string> notes;
  const std::vector<paper_run> runs = megatron_runs(data, cluster, notes);
  score whole = iteration_score(runs, cluster);
  whole.notes.insert(whole.notes.end(), notes.begin(), notes.end());
  cross_validation fit;
  if (!runs.empty()) fit = cross_validated(data, runs, cluster), whole.notes.push_back(fit.text);
  left_out other_layers;
  std::vector<score> all =
      layer_scores(layers_of(data, cluster, costs::stage_options{}.slowdown.compute, other_layers));
  other_layers.tell(all.front().notes);
  all.insert(all.begin(),
             {std::move(whole), other_trainings(data), torchtitan_trainings(data), expert_trainings(data)});
  for (score& s : layer_operations(data)) all.push_back(std::move(s));
  std::vector<paper_run> unfitted = runs;
  for (paper_run& r : unfitted) r.with.slowdown.compute = fit.chosen.at(r.file);
  for (score& s : priced_trainings(data, unfitted, cluster)) all.push_back(std::move(s));
  return all;
}

}  // namespace fidelity
