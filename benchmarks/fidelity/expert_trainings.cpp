// Trainings that were published of mixtures of experts whose experts ranks divide: do they fit where they were trained,
// and how fast would they be?

#include "data.hpp"
#include "machines.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/model_config.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace fidelity {
namespace {

/// The links of a GPU that no table measured beside the kernels of another of the same chip: an H800 is an H100 with
/// slower links.
costs::network links_of(const std::filesystem::path& data, const std::string& family, const machine& chip) {
  return family == "h800" ? costs::network(io::read_gpu(found(data, "gpus/h800.json")).value()) : chip.net;
}

}  // namespace

score expert_trainings(const std::filesystem::path& data) {
  score s{.id = "F6", .claim = "trainings with divided experts: tokens a second and GPU"};
  machines cluster(data);
  left_out others;
  each_row(data / "published/moe_training.csv", [&](const cells& c) {
    const double measured = c.measured("tokens_per_gpu_s");
    std::string file = "models/" + c.text("model") + ".json";
    std::transform(file.begin(), file.end(), file.begin(), [](char l) { return l >= 'A' && l <= 'Z' ? static_cast<char>(l - 'A' + 'a') : l; });
    const result<costs::model_shape> model = io::read_model(found(data, file));
    if (!model) return others.add(c.where(), "model " + c.text("model") + ": no " + file + " describes it");
    const std::string family = costs::gpu_family(c.text("gpu"));
    const std::string chip = family == "h800" ? "H100" : c.text("gpu");
    if (!cluster.describes(chip)) return others.add(c.where(), cluster.lacks(c.text("gpu")));
    others.attempt(c.where(), [&] {
      const machine& m = cluster.of(chip);
      shape on{.stages = c.count("pp"), .tensor = c.count("tp"), .context = c.count("cp"),
               .chunks = c.count("virtual_stages"), .expert = c.count("ep")};
      on.replicas = c.count("gpus") / (on.stages * on.tensor * on.context);
      const tokens length{c.count("seq")};
      costs::stage_options with;
      with.reduction = costs::reduction::exposed;
      with.linear_speed = c.text("precision") == "BF16" ? 1 : 2;
      with.longest = length * c.count("micro_batch");
      with.tensors = table_of(data, c.text("saved_tensors"));
      with.routing = {.imbalance = c.number("expert_imbalance"),
                      .overlap = c.number("expert_overlap"),
                      .nodes = c.count("expert_nodes")};
      with.gradient_bytes = c.number("gradient_bytes");
      const costs::network net = links_of(data, family, m);
      const costs::profiled cost = costs::profiled_of(model.value(), on, m.kernels, net, with, m.layers).value();
      const int batch = c.count("global_batch");
      const iterated step = iterate(cost, on, batch / on.replicas, length, c.count("micro_batch")).value();
      const double predicted = batch * static_cast<double>(length.value) / c.number("gpus") / step.time.value;
      const std::string name = c.text("row_id") + " " + c.text("model") + " on " + c.text("gpus") + " " + c.text("gpu");
      s.rows.push_back({name, predicted, measured});
      char text[256];
      std::snprintf(text, sizeof text, "%s: %.0f predicted, %.0f published; %.1f GiB on the fullest stage of %.1f GiB%s", name.c_str(),
                    predicted, measured, *std::max_element(step.peak.begin(), step.peak.end()) / gib,
                    net.device().memory.value / gib,
                    *std::max_element(step.peak.begin(), step.peak.end()) > net.device().memory.value ? ": does NOT fit" : "");
      s.notes.push_back(text);
    });
  });
  s.notes.push_back(
      "no goal is set: products in FP8 count as twice as fast as in bf16, and casts to it as nothing; 1F1B stands for DualPipe, whose second copy of the "
      "weights and smaller bubble it lacks; neither multi-token prediction nor what MLA's up-projections take when they are "
      "computed again is in the model; the reduction of gradients counts as not hidden");
  others.tell(s.notes);
  return s;
}

}  // namespace fidelity
