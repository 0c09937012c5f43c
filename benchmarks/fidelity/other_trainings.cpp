// Iterations that vendors published of models of 7B to 405B on H100: a check on what the constants of F6 are worth
// elsewhere.

#include "baselines.hpp"
#include "machines.hpp"
#include "data.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/io/model_config.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
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

/// A model that torchtitan's table names: "Llama-3.1-8B" of llama-3.1-8b.json.
std::optional<costs::model_shape> llama_of(const std::filesystem::path& data, std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const result<costs::model_shape> m = io::read_model(found(data, "models/" + name + ".json"));
  return m ? std::optional(m.value()) : std::nullopt;
}

/// How torchtitan runs: PyTorch's pipelines, which wait for their messages and add each pack's bf16 gradients to fp32
/// ones; torchao's FP8 with dynamic scales. Weights are gathered once a step in a pipeline; without one their traffic
/// is under the layers, but here it is waited for at the end.
costs::stage_options torchtitan(const cells& c) {
  costs::stage_options with;
  with.recompute = c.text("recompute") == "selective" ? costs::recompute::selective : costs::recompute::full;
  if (c.count("float8") == 1) with.linear_speed = 2, with.cast_bytes = 5;
  if (c.count("pp") > 1) with.accumulation_traffic = 10;
  with.messages = costs::messages::waited_for;
  with.reduction = costs::reduction::exposed;
  with.exchange = costs::context_exchange::all_gather;
  return with;
}

}  // namespace

score torchtitan_trainings(const std::filesystem::path& data) {
  score s{.id = "F6", .claim = "torchtitan's Llama 3.1: seconds of an iteration on H100 of 500 W, fully sharded"};
  machines cluster(data, "fa2");
  std::vector<measured_run> known;
  each_row(data / "published/torchtitan_llama3.csv", [&](const cells& c) {
    const std::optional<costs::model_shape> model = llama_of(data, c.text("model"));
    if (!model || !cluster.describes(c.text("gpu"))) {
      s.notes.push_back(c.text("row_id") + ": its model or GPU is not among the data");
      return;
    }
    const machine& m = cluster.of(c.text("gpu"));
    const shape on{.stages = c.count("pp"),
                   .replicas = c.count("fsdp"),
                   .tensor = c.count("tp"),
                   .context = c.count("cp"),
                   .chunks = c.text("schedule").find("nterleaved") == std::string::npos ? 1 : 2};
    const int local = c.count("local_batch");
    const int micro_batch = on.stages > 1 ? std::max(1, local / on.stages) : local;
    costs::stage_options with = torchtitan(c);
    const tokens length{c.count("seq")};
    with.longest = length * micro_batch;
    const costs::profiled cost = costs::profiled_of(*model, on, m.kernels, m.net, with, m.layers).value();
    const std::optional<seconds> t = iteration(cost, on, local, length, micro_batch);
    const double share = local * c.number("fsdp") * c.number("seq") / c.number("gpus");
    const double measured = share / c.number("tokens_per_gpu_s");
    const std::string name = c.text("row_id") + " " + c.text("model") + " tp " + c.text("tp") + " pp " + c.text("pp") +
                             " cp " + c.text("cp") + (c.count("float8") == 1 ? " FP8" : " bf16");
    if (!t) return;
    s.rows.push_back({name, t->value, measured});
    known.push_back({name, "torchtitan", 6 * costs::parameters(*model) * share, measured});
  });
  for (std::string& line : dumb_baselines(known)) s.notes.push_back(std::move(line));
  s.notes.push_back(
      "no goal is set: these GPUs are limited to 500 W, and no table of one is among the data; attention is that of "
      "FlashAttention-2, as PyTorch had it; which kernels are fused is not told");
  return s;
}

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
      with.reduction = costs::reduction::exposed;
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
