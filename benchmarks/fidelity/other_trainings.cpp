// Iterations that vendors published of models of 7B to 405B on H100: a check on what the constants of F6 are worth
// elsewhere.

#include "baselines.hpp"
#include "machines.hpp"
#include "data.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/io/model_config.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

/// By the name that the paper gives, or as a file of models/ is called.
result<costs::model_shape> model_of(const std::filesystem::path& data, const std::string& name) {
  if (name == "LLAMA2-7B") return decoder(name, 32, 4096, 32, 11008, 32000, true);
  if (name == "LLAMA2-13B") return decoder(name, 40, 5120, 40, 13824, 32000, true);
  for (const auto& [known, file] : {std::pair{"GPT3-175B", "gpt-3-175b"},
                                    {"LLAMA3-8B", "llama-3.1-8b"},
                                    {"LLAMA3-70B", "llama-3.1-70b"},
                                    {"LLAMA3.1-405B", "llama-3.1-405b"},
                                    {"Llama-3-405B", "llama-3.1-405b"}})
    if (name == known) return io::read_model(found(data, std::string("models/") + file + ".json"));
  std::string file = "models/" + name + ".json";
  std::transform(file.begin(), file.end(), file.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  result<costs::model_shape> model = io::read_model(found(data, file));
  if (model) return model;
  return error{errc::invalid_input, "model " + name + ": no " + file + " describes it"};
}

}  // namespace

score other_trainings(const std::filesystem::path& data) {
  score s{.id = "F6", .claim = "other trainings: seconds of an iteration on H100, FP8 and flash attention"};
  machines cluster(data);
  std::vector<measured_run> known;
  left_out others;
  each_row(data / "published/nemo_pretraining.csv", [&](const cells& c) {
    const double measured = c.measured("derived_iteration_s");
    const result<costs::model_shape> known_model = model_of(data, c.text("model"));
    if (!known_model) return others.add(c.where(), known_model.error().detail);
    const costs::model_shape& model = known_model.value();
    if (costs::gpu_family(c.text("gpu")) != "h100")
      return others.add(c.where(), "GPU " + c.text("gpu") + ": what FP8 gains there is not known");
    if (c.count("fsdp_group") > 0) return others.add(c.where(), "weights are sharded by layer, which no shape does");
    others.attempt(c.where(), [&] {
      const machine& m = cluster.of(c.text("gpu"));
      shape on{.stages = c.count("pp"), .tensor = c.count("tp"), .context = c.count("cp")};
      on.chunks = c.count("virtual_stages");
      on.replicas = c.count("gpus") / (on.stages * on.tensor * on.context);
      const tokens length{c.count("seq")};
      costs::stage_options with;
      with.linear_speed = c.text("precision") == "BF16" ? 1 : 2;
      with.longest = length * c.count("micro_batch");
      const costs::profiled cost = costs::profiled_of(model, on, m.kernels, m.net, with, m.layers).value();
      const int batch = c.count("global_batch");
      const seconds t = iteration(cost, on, batch / on.replicas, length, c.count("micro_batch")).value();
      const std::string name = c.text("row_id") + " " + c.text("model") + " on " + c.text("gpus");
      s.rows.push_back({name, t.value, measured});
      const double share = batch * static_cast<double>(length.value) / c.number("gpus");
      known.push_back({name, "nemo", 6 * costs::parameters(model) * share, measured});
    });
  });
  s.notes = dumb_baselines(known);
  s.notes.push_back(
      "no goal is set: products in FP8 count as twice as fast as in bf16, which the small models do not reach");
  others.tell(s.notes);
  return s;
}

}  // namespace fidelity
