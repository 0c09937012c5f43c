// Iterations that vendors published of models of 7B to 405B on H100: a check on what the constants of F6 are worth
// elsewhere.

#include "baselines.hpp"
#include "machines.hpp"
#include "data.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/io/model_config.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

std::optional<costs::model_shape> model_of(const std::filesystem::path& data, const std::string& name) {
  if (name == "LLAMA2-7B") return decoder(name, 32, 4096, 32, 11008, 32000, true);
  if (name == "LLAMA2-13B") return decoder(name, 40, 5120, 40, 13824, 32000, true);
  for (const auto& [known, file] : {std::pair{"GPT3-175B", "gpt-3-175b"},
                                    {"LLAMA3-8B", "llama-3.1-8b"},
                                    {"LLAMA3-70B", "llama-3.1-70b"},
                                    {"LLAMA3.1-405B", "llama-3.1-405b"},
                                    {"Llama-3-405B", "llama-3.1-405b"}})
    if (name == known) return io::read_model(found(data, std::string("models/") + file + ".json")).value();
  return std::nullopt;
}

}  // namespace

score other_trainings(const std::filesystem::path& data) {
  score s{.id = "F6", .claim = "other trainings: seconds of an iteration on H100, FP8 and flash attention"};
  machines cluster(data);
  std::vector<measured_run> known;
  int others = 0;
  each_row(data / "published/nemo_pretraining.csv", [&](const cells& c) {
    const std::optional<costs::model_shape> model = model_of(data, c.text("model"));
    if (!model || io::gpu_family(c.text("gpu")) != "h100" || c.count("fsdp_group") > 0) {
      ++others;
      return;
    }
    const machine& m = cluster.of(c.text("gpu"));
    shape on{.stages = c.count("pp"), .tensor = c.count("tp"), .context = c.count("cp")};
    on.chunks = c.count("virtual_stages");
    on.replicas = c.count("gpus") / (on.stages * on.tensor * on.context);
    const tokens length{c.count("seq")};
    costs::stage_options with;
    with.linear_speed = c.text("precision") == "BF16" ? 1 : 2;
    with.longest = length * c.count("micro_batch");
    const costs::profiled cost = costs::profiled_of(*model, on, m.kernels, m.net, with, m.layers).value();
    const int batch = c.count("global_batch");
    const seconds t = iteration(cost, on, batch / on.replicas, length, c.count("micro_batch")).value();
    const std::string name = c.text("row_id") + " " + c.text("model") + " on " + c.text("gpus");
    s.rows.push_back({name, t.value, c.number("derived_iteration_s")});
    const double share = batch * static_cast<double>(length.value) / c.number("gpus");
    known.push_back({name, "nemo", 6 * costs::parameters(*model) * share, c.number("derived_iteration_s")});
  });
  s.notes = dumb_baselines(known);
  s.notes.push_back(
      "no goal is set: products in FP8 count as twice as fast as in bf16, which the small models do not reach");
  if (others > 0)
    s.notes.push_back(std::to_string(others) +
                      " rows left out: other GPUs, models that are not among the data, weights sharded by layer");
  return s;
}

}  // namespace fidelity
