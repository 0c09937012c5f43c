// What one layer of a model takes where no table of that model is at hand: its matrix products and its element-wise
// kernels, from single kernels and from tables of other models' layers on the same GPU. Each model is left out in turn.

#include "layer_operations.hpp"
#include "data.hpp"
#include "machines.hpp"

#include <slimpack/costs/detail/layer_pricing.hpp>
#include <slimpack/costs/detail/rank_kernels.hpp>
#include <slimpack/costs/network/traffic.hpp>
#include <slimpack/costs/provenance.hpp>
#include <slimpack/io/profile.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fidelity {
namespace {

/// A layer as the tables describe it: all that are shipped have gated MLPs.
costs::model_shape model_of(const costs::layer_sample& s) {
  costs::model_shape m = decoder(s.model, 1, s.hidden, s.q_heads, s.ffn, 32000, true);
  m.kv_heads = s.kv_heads;
  return m;
}

/// Goals of a score, and of its rows on each GPU.
void set_goals(score& s, double mean, double bias, const std::map<std::string, std::vector<row>>& by_gpu) {
  s.goals.push_back({"mean error", summarise(s).mean, mean});
  for (const auto& [gpu, rows] : by_gpu)
    s.goals.push_back({"bias on " + gpu, std::abs(summarise({.rows = rows}).bias), bias});
}

std::vector<costs::layer_sample> without(const std::vector<costs::layer_sample>& all,
                                         const costs::layer_sample& asked) {
  std::vector<costs::layer_sample> kept;
  for (const costs::layer_sample& s : all)
    if (s.hidden != asked.hidden || s.ffn != asked.ffn || s.q_heads != asked.q_heads) kept.push_back(s);
  return kept;
}

/// Products and element-wise kernels of a forward.
std::pair<seconds, seconds> predicted(const costs::layer_sample& s, const machine& m,
                                      const std::vector<costs::layer_sample>& others) {
  const costs::model_shape model = model_of(s);
  const shape on{.tensor = s.tensor};
  costs::stage_options with;
  with.sequence_parallel = false;  // the tables have whole norms and additions on every rank
  const costs::traffic wires(m.net, on, with.slowdown);
  const slimpack::detail::rank_kernels rank(m.net.device(), m.kernels, with);
  const slimpack::detail::layer_pricing times(model, false, 1, on, rank, others, wires, with);
  costs::provenance spent;
  static_cast<void>(times.tokens_time(s.tokens, pass::forward, spent));
  return {spent.of(costs::work::products).total(), spent.of(costs::work::elementwise).total()};
}

}  // namespace

std::vector<score> layer_operations(const std::filesystem::path& data) {
  // What other models' layers took longer than the sum of their kernels is a median of measured ratios
  // (costs/detail/measured_layer.hpp), not a term with a source: these scores say what it is worth on a model that it
  // has not seen.
  score products{.id = "F7", .claim = "matrix products of a layer whose model is left out, forward, seconds"};
  score kernels{.id = "F7", .claim = "element-wise kernels of a layer whose model is left out, forward, seconds"};
  products.fitted = "medians of ratios to other models' layers on the same GPU";
  kernels.fitted = "the same, and row_share: any three of the four models on their GPUs choose 0.50 to 0.51";
  machines cluster(data);
  double alone[2]{};                                                // bias without other models' tables
  std::map<std::string, std::vector<row>> products_on, kernels_on;  // by GPU
  const std::vector<costs::layer_sample> measured = io::read_profile(data / "profiles").value().layers;
  for (const costs::layer_sample& s : measured) {
    if (!cluster.describes(s.gpu) || s.tokens < tokens{512} || s.q_heads % s.tensor != 0) continue;
    if (!s.attn_pre_proj || !s.attn_post_proj || !s.mlp_up_proj || !s.mlp_down_proj || !s.input_layernorm ||
        !s.post_attention_layernorm || !s.add || !s.attn_rope || !s.mlp_act)
      continue;
    const machine& m = cluster.of(s.gpu);
    const std::string name =
        s.gpu + " " + s.model + " tp " + std::to_string(s.tensor) + ", " + std::to_string(s.tokens.value) + " tokens";
    const std::vector<costs::layer_sample> others = without(m.layers, s);
    const auto [multiplied, moved] = predicted(s, m, others);
    const seconds own_products = *s.attn_pre_proj + *s.attn_post_proj + *s.mlp_up_proj + *s.mlp_down_proj;
    const seconds own_kernels =
        *s.input_layernorm + *s.post_attention_layernorm + *s.add * 2 + *s.attn_rope + *s.mlp_act;
    products.rows.push_back({name, multiplied.value, own_products.value});
    kernels.rows.push_back({name, moved.value, own_kernels.value});
    if (!others.empty()) {
      products_on[s.gpu].push_back(products.rows.back());
      kernels_on[s.gpu].push_back(kernels.rows.back());
    }
    const auto [bare_products, bare_kernels] = predicted(s, m, {});
    alone[0] += bare_products / own_products - 1;
    alone[1] += bare_kernels / own_kernels - 1;
  }
  if (products.rows.empty()) return {};
  set_goals(products, 0.08, 0.03, products_on);
  set_goals(kernels, 0.08, 0.04, kernels_on);
  for (const int i : {0, 1})
    (i == 0 ? products : kernels)
        .notes.push_back("without any layer's table: bias " +
                         in_percent(alone[i] / static_cast<double>(products.rows.size())));
  return {products, kernels};
}

}  // namespace fidelity
