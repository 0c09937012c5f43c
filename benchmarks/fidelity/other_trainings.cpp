// Iterations that vendors published of models of 7B to 405B on H100: a check on what the constants of F6 are worth
// elsewhere.

#include "baselines.hpp"
#include "data.hpp"
#include "machines.hpp"
#include "prices.hpp"
#include "trainings.hpp"

#include <slimpack/costs/model/gpu_family.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/stage_options.hpp>
#include <slimpack/io/model_config.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
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
/// ones; checkpoints that keep outputs of products, and nothing between them; torchao's FP8 with dynamic scales.
/// Weights are gathered once a step in a pipeline; without one their traffic is under the layers, but here it is waited
/// for at the end, and FSDP2 copies: each gathered weight to its place twice (4 bytes each), and each gradient, cast to
/// fp32, into what is scattered (6). Without torch.compile kernels are PyTorch's own.
costs::stage_options torchtitan(const cells& c) {
  costs::stage_options with;
  with.recompute = c.text("recompute") == "selective" ? costs::recompute::selective : costs::recompute::full;
  with.cuts = false;
  with.repeats_additions = true;
  if (c.count("float8") == 1) with.linear_speed = 2, with.cast_bytes = 5;
  with.accumulation_traffic = c.count("pp") > 1 ? 10 : 14;
  if (c.count("compiled") == 0) with = costs::eager_pytorch(std::move(with));
  with.messages = costs::messages::waited_for;
  with.reduction = costs::reduction::exposed;
  with.exchange = costs::context_exchange::all_gather;
  return with;
}

/// One of torchtitan's rows.
struct torchtitan_run {
  std::string name{};
  costs::model_shape model{};
  shape on{};
  int local_batch{};
  int micro_batch{};
  tokens length{};
  costs::stage_options with{};
  double share{};  ///< tokens of a GPU
  double measured{};

  [[nodiscard]] std::optional<seconds> predicted(const machine& m, price_kind by) const {
    return with_price(by, m, model, on, with,
                      [&](const auto& cost) { return iteration(cost, on, local_batch, length, micro_batch); });
  }
};

std::optional<torchtitan_run> torchtitan_run_of(const std::filesystem::path& data, const cells& c) {
  const std::optional<costs::model_shape> model = llama_of(data, c.text("model"));
  if (!model) return std::nullopt;
  torchtitan_run r{
      .model = *model, .local_batch = c.count("local_batch"), .length = {c.count("seq")}, .with = torchtitan(c)};
  r.on = {.stages = c.count("pp"),
          .replicas = c.count("fsdp"),
          .tensor = c.count("tp"),
          .context = c.count("cp"),
          .chunks = c.text("schedule").find("nterleaved") == std::string::npos ? 1 : 2};
  r.micro_batch = r.on.stages > 1 ? std::max(1, r.local_batch / r.on.stages) : r.local_batch;
  r.with.longest = r.length * r.micro_batch;
  r.share = r.local_batch * c.number("fsdp") * c.number("seq") / c.number("gpus");
  r.measured = r.share / c.number("tokens_per_gpu_s");
  r.name = c.text("row_id") + " " + c.text("model") + " tp " + c.text("tp") + " pp " + c.text("pp") + " cp " +
           c.text("cp") + (c.count("float8") == 1 ? " FP8" : " bf16");
  return r;
}

}  // namespace

std::vector<row> torchtitan_rows(const std::filesystem::path& data, machines& cluster, price_kind by) {
  std::vector<row> rows;
  each_row(data / "published/torchtitan_llama3.csv", [&](const cells& c) {
    if (c.count("float8") == 1 || c.count("compiled") == 1 || !cluster.describes(c.text("gpu"))) return;
    const std::optional<torchtitan_run> r = torchtitan_run_of(data, c);
    const std::optional<seconds> t = r ? r->predicted(cluster.of(c.text("gpu")), by) : std::nullopt;
    if (t) rows.push_back({r->name, t->value, r->measured});
  });
  return rows;
}

score torchtitan_trainings(const std::filesystem::path& data) {
  score s{.id = "F6", .claim = "torchtitan's Llama 3.1: seconds of an iteration on H100 of 500 W, fully sharded"};
  machines cluster(data, "fa2");
  score alone;  // without context parallelism
  std::vector<measured_run> known;
  each_row(data / "published/torchtitan_llama3.csv", [&](const cells& c) {
    const std::optional<torchtitan_run> r = torchtitan_run_of(data, c);
    if (!r || !cluster.describes(c.text("gpu"))) {
      s.notes.push_back(c.text("row_id") + ": its model or GPU is not among the data");
      return;
    }
    const std::optional<seconds> t = r->predicted(cluster.of(c.text("gpu")), price_kind::measured);
    if (!t) return;
    s.rows.push_back({r->name, t->value, r->measured});
    if (r->on.context == 1) alone.rows.push_back(s.rows.back());
    known.push_back({r->name, "torchtitan", 6 * costs::parameters(r->model) * r->share, r->measured});
  });
  for (std::string& line : dumb_baselines(known)) s.notes.push_back(std::move(line));
  s.notes.push_back("attention is that of FlashAttention-2, as PyTorch had it; which kernels are fused is not told");
  s.notes.push_back("no goal is set with context parallelism, whose exchanges are not told, either");
  if (!alone.rows.empty())  // today's 6.4 and 18.8 %, rounded up
    s.goals = {{"mean error without context parallelism", summarise(alone).mean, 0.08},
               {"worst error without context parallelism", std::abs(summarise(alone).worst), 0.20}};
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
