// Trainings that were published of mixtures of experts whose experts ranks divide: do they fit where they were trained,
// and how fast would they be?

#include "data.hpp"
#include "machines.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/model_config.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace fidelity {
namespace {

/// The GPU of a row. An H800, of which there are no tables, has the kernels of the H100: the same chip, slower links.
machine expert_machine(const std::filesystem::path& data, const std::string& family, const machine& chip) {
  if (family != "h800") return chip;
  return {chip.kernels, costs::network(io::read_gpu(found(data, "gpus/h800.json")).value()), chip.layers};
}

/// One published training of a model whose experts ranks divide.
struct expert_run {
  std::string name{};
  std::string what{};    ///< "DeepSeek-V3 in FP8"
  std::string family{};  ///< of its GPU
  costs::model_shape model{};
  shape on{};
  machine gpu;
  costs::stage_options with{};
  int gpus{};
  int batch{};  ///< sequences
  int micro_batch{};
  tokens length{};
  double measured{};  ///< tokens a second and GPU

  [[nodiscard]] iterated predicted(price_kind by) const {
    return with_price(by, gpu, model, on, with, [&](const auto& cost) {
      return iterate(cost, on, batch / on.replicas, length, micro_batch).value();
    });
  }
  /// Tokens of a GPU in an iteration.
  [[nodiscard]] double share() const { return batch * static_cast<double>(length.value) / gpus; }
};

/// Calls with each row that the data can describe; the others are told by their reasons.
template <class Visit>
void each_expert_run(const std::filesystem::path& data, machines& cluster, left_out& others, const Visit& visit) {
  each_row(data / "published/moe_training.csv", [&](const cells& c) {
    const double measured = c.measured("tokens_per_gpu_s");
    std::string file = "models/" + c.text("model") + ".json";
    std::transform(file.begin(), file.end(), file.begin(),
                   [](char l) { return l >= 'A' && l <= 'Z' ? static_cast<char>(l - 'A' + 'a') : l; });
    const result<costs::model_shape> model = io::read_model(found(data, file));
    if (!model) return others.add(c.where(), "model " + c.text("model") + ": no " + file + " describes it");
    const std::string family = costs::gpu_family(c.text("gpu"));
    const std::string chip = family == "h800" ? "H100" : c.text("gpu");
    if (!cluster.describes(chip)) return others.add(c.where(), cluster.lacks(c.text("gpu")));
    others.attempt(c.where(), [&] {
      const bool is_bf16 = c.text("precision") == "BF16";
      expert_run r{.name = c.text("row_id") + " " + c.text("model") + " on " + c.text("gpus") + " " + c.text("gpu"),
                   .what = c.text("model") + " in " + (is_bf16 ? "bf16" : c.text("precision")),
                   .family = family,
                   .model = model.value(),
                   .gpu = expert_machine(data, family, cluster.of(chip)),
                   .gpus = c.count("gpus"),
                   .batch = c.count("global_batch"),
                   .micro_batch = c.count("micro_batch"),
                   .length = {c.count("seq")},
                   .measured = measured};
      r.on = {.stages = c.count("pp"),
              .tensor = c.count("tp"),
              .context = c.count("cp"),
              .chunks = c.count("virtual_stages"),
              .expert = c.count("ep")};
      r.on.replicas = r.gpus / (r.on.stages * r.on.tensor * r.on.context);
      r.with.reduction = costs::reduction::exposed;
      r.with.linear_speed = is_bf16 ? 1 : 2;
      r.with.longest = r.length * r.micro_batch;
      r.with.tensors = table_of(data, c.text("saved_tensors"));
      r.with.routing = {.imbalance = c.number("expert_imbalance"),
                        .overlap = c.number("expert_overlap"),
                        .nodes = c.count("expert_nodes")};
      r.with.gradient_bytes = c.number("gradient_bytes");
      visit(r, c);
    });
  });
}

}  // namespace

std::vector<expert_row> expert_rows(const std::filesystem::path& data, machines& cluster, price_kind by,
                                    left_out& others) {
  std::vector<expert_row> rows;
  each_expert_run(data, cluster, others, [&](const expert_run& r, const cells& c) {
    if (by == price_kind::sheet && r.with.linear_speed != 1)
      return others.add(c.where(), "a data sheet's prices have products in bf16, not in " + c.text("precision"));
    rows.push_back({r.family, r.what, {r.name, r.predicted(by).time.value, r.share() / r.measured}});
  });
  return rows;
}

score expert_trainings(const std::filesystem::path& data) {
  score s{.id = "F6", .claim = "trainings with divided experts: tokens a second and GPU"};
  machines cluster(data);
  left_out others;
  each_expert_run(data, cluster, others, [&](const expert_run& r, const cells&) {
    const iterated step = r.predicted(price_kind::measured);
    const double predicted = r.share() / step.time.value;
    s.rows.push_back({r.name, predicted, r.measured});
    char text[256];
    const double fullest = *std::max_element(step.peak.begin(), step.peak.end());
    const double there = r.gpu.net.device().memory.value;
    std::snprintf(text, sizeof text, "%s: %.0f predicted, %.0f published; %.1f GiB on the fullest stage of %.1f GiB%s",
                  r.name.c_str(), predicted, r.measured, fullest / gib, there / gib,
                  fullest > there ? ": does NOT fit" : "");
    s.notes.push_back(text);
  });
  s.notes.push_back(
      "no goal is set: products in FP8 count as twice as fast as in bf16, and casts to it as nothing; 1F1B stands for "
      "DualPipe, whose second copy of the "
      "weights and smaller bubble it lacks; neither multi-token prediction nor what MLA's up-projections take when "
      "they are "
      "computed again is in the model; the reduction of gradients counts as not hidden");
  others.tell(s.notes);
  return s;
}

}  // namespace fidelity
