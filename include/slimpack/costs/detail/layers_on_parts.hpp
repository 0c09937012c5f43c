#ifndef SLIMPACK_COSTS_DETAIL_LAYERS_ON_PARTS_HPP
#define SLIMPACK_COSTS_DETAIL_LAYERS_ON_PARTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/memory/memory.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Whether ranks can divide the experts of a model so.
/// Errors    invalid_input: expert ranks for a model without experts, or that do not divide its experts or the ranks of
///           a stage; factors of imbalance below 1, or not one for each layer with experts; an overlap that is no share
[[nodiscard]] inline result<void> check_experts(const costs::model_shape& model, const shape& on,
                                                const costs::routing& how) {
  const auto refused = [](std::string why) { return error{errc::invalid_input, std::move(why)}; };
  if (on.expert > 1) {
    const std::string asked = "expert parallelism of " + std::to_string(on.expert);
    if (model.experts == 0) return refused(asked + ": " + model.name + " has no experts");
    if (model.experts % on.expert != 0)
      return refused(asked + " does not divide the " + std::to_string(model.experts) + " experts of " + model.name);
    if (on.stage_ranks() % on.expert != 0)
      return refused(asked + " does not divide the " + std::to_string(on.stage_ranks()) + " ranks of a stage, dp " +
                     std::to_string(on.replicas) + " x cp " + std::to_string(on.context) + " x tp " +
                     std::to_string(on.tensor));
  }
  const auto moe = static_cast<std::size_t>(model.moe_layers());
  if (!how.imbalances.empty() && how.imbalances.size() != moe)
    return refused(std::to_string(how.imbalances.size()) + " factors of imbalance, but " + model.name + " has " +
                   std::to_string(moe) + " layers with experts");
  const auto factor = [](double x) { return x >= 1 && std::isfinite(x); };
  if (!factor(how.imbalance) || !std::all_of(how.imbalances.begin(), how.imbalances.end(), factor))
    return refused("a factor of imbalance is the busiest rank over the mean, so it is at least 1");
  if (!(how.overlap >= 0 && how.overlap <= 1)) return refused("the overlap of experts' traffic must be from 0 to 1");
  if (how.nodes < 0) return refused("the nodes that a token goes to cannot be fewer than 0");
  return success();
}

/// The layers of a model, in order, as one rank of a shape has them.
[[nodiscard]] inline std::vector<costs::layer> layers_of(const costs::model_shape& model, const shape& on,
                                                         const costs::routing& how) {
  std::vector<costs::layer> all;
  std::size_t moe = 0;
  for (int i = 0; i < model.layers; ++i) {
    const costs::layer_kind kind = model.kind(i);
    const double imbalance = kind.moe ? how.of_layer(moe++) : 1;
    all.push_back(costs::layer::of(model, kind, on.tensor, on.expert, imbalance));
  }
  return all;
}

/// Whether the words that a shape gives each stage are those of a model.
/// Errors    invalid_input: fault_of; words that do not add up to the vocabulary
[[nodiscard]] inline result<void> check_words(const costs::model_shape& model, const shape& on) {
  if (on.words.empty()) return success();
  if (const char* const fault = fault_of(on)) return error{errc::invalid_input, std::string("the shape has ") + fault};
  const auto all = std::accumulate(on.words.begin(), on.words.end(), std::int64_t{});
  if (all == model.vocabulary) return success();
  return error{errc::invalid_input, "words of the stages add up to " + std::to_string(all) + ", but " + model.name +
                                        " has " + std::to_string(model.vocabulary)};
}

/// Whether ranks can divide the mixers of a model so.
/// Errors    invalid_input: tensor-parallel ranks that do not divide the heads of one; context-parallel ranks where a
///           state runs along the sequence, which has no order there
[[nodiscard]] inline result<void> check_mixers(const costs::model_shape& model, const shape& on) {
  for (int i = 0; i < model.layers; ++i) {
    const costs::mixer by = model.mixer(model.kind(i));
    const std::string heads = by.has_state() ? " heads of states of " : " query heads of ";
    if (by.span.how != costs::mixing::none && by.heads % on.tensor != 0)
      return error{errc::invalid_input, "tensor parallelism of " + std::to_string(on.tensor) + " does not divide the " +
                                            std::to_string(by.heads) + heads + model.name};
    if (by.has_state() && on.context > 1)
      return error{errc::invalid_input, "context parallelism of " + std::to_string(on.context) + ": layer " +
                                            std::to_string(i) + " of " + model.name +
                                            " has a state that runs along the sequence, which context-parallel ranks " +
                                            "have in pieces at the same time; leave it 1"};
  }
  return success();
}

/// How many layers each part has: `wanted`, or, where that is empty, even, and what is left over to the inner parts
/// before the first and the last, which have the embedding and the logits besides. Where these are of one part each,
/// `wanted` may give such a part no layer (shape::may_be_empty).
/// Errors    invalid_input: a degree below 1, more parts than layers, a list
///           of layers that does not add up, a part with neither a layer nor an end of the model, and those of
///           check_experts, check_mixers and check_words
[[nodiscard]] inline result<std::vector<int>> layers_on_parts(const costs::model_shape& model, const shape& on,
                                                              std::vector<int> wanted, const costs::routing& how = {}) {
  if (std::min({on.stages, on.replicas, on.tensor, on.context, on.chunks, on.expert}) < 1)
    return error{errc::invalid_input, "every degree of the shape must be at least 1"};
  if (result<void> r = check_experts(model, on, how); !r) return std::move(r).error();
  if (result<void> r = check_words(model, on); !r) return std::move(r).error();
  const int parts = on.parts();
  if (wanted.empty() && parts > model.layers)
    return error{errc::invalid_input, std::to_string(on.stages) + " stages x " + std::to_string(on.chunks) +
                                          " chunks exceed the " + std::to_string(model.layers) + " layers of " +
                                          model.name};
  if (result<void> r = check_mixers(model, on); !r) return std::move(r).error();
  if (wanted.empty()) {
    wanted.assign(static_cast<std::size_t>(parts), model.layers / parts);
    for (int i = 0; i < model.layers % parts; ++i) ++wanted[static_cast<std::size_t>(i < parts - 2 ? i + 1 : 0)];
  }
  if (wanted.size() != static_cast<std::size_t>(parts) ||
      std::accumulate(wanted.begin(), wanted.end(), 0) != model.layers ||
      *std::min_element(wanted.begin(), wanted.end()) < 0)
    return error{errc::invalid_input, "layers per part must be " + std::to_string(parts) + " counts that add up to " +
                                          std::to_string(model.layers)};
  for (int part = 0; part < parts; ++part)
    if (wanted[static_cast<std::size_t>(part)] == 0 && !on.may_be_empty(part))
      return error{errc::invalid_input,
                   "part " + std::to_string(part) + " of " + std::to_string(parts) +
                       " has no layer and no end of the model, so it has nothing to do: give it a " +
                       "layer, or have fewer parts"};
  return wanted;
}

/// What the GPUs of each stage hold, and the most weights that one of them has.
struct stage_states {
  std::vector<memory_rates> memory{};                       ///< in steps
  std::vector<memory_rates> evaluation{};                   ///< while forward runs alone
  std::vector<costs::evaluation_keeps> evaluation_keeps{};  ///< and what is kept then beside tokens
  std::vector<double> pair_bytes{};                         ///< of dense attention, see memory::kept
  std::vector<double> piece_bytes{};                        ///< of states, see memory::state_bytes
  double heaviest{};          ///< parameters of the stage with the most, but for experts that ranks divide
  double heaviest_experts{};  ///< those of that stage

  [[nodiscard]] bytes kept(const slice& piece, int stage) const {
    const auto at = static_cast<std::size_t>(stage);
    return costs::memory::kept(piece, pair_bytes[at], piece_bytes[at]);
  }
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const {
    return evaluation_keeps[static_cast<std::size_t>(stage)](piece, first);
  }
  /// `layers`: of each part, from layers_on_parts.
  [[nodiscard]] static stage_states of(const costs::model_shape& model, const shape& on, std::span<const int> layers,
                                       const costs::memory& rule, const costs::routing& how = {}) {
    std::vector<std::vector<costs::layer>> on_stage(static_cast<std::size_t>(on.stages));
    const std::vector<costs::layer> all = layers_of(model, on, how);
    std::size_t next = 0;
    for (std::size_t part = 0; part < layers.size(); ++part)
      for (int i = 0; i < layers[part]; ++i) on_stage[part % on_stage.size()].push_back(all[next++]);
    stage_states made;
    for (int r = 0; r < on.stages; ++r) {
      const bool last = r == on.stages - 1;
      // A tied head is a copy on the last stage, unless that is the first stage too.
      const double embeddings = on.vocabulary == vocabulary::spread ? on.share_of_words(r, model.tied ? 1.0 : 2.0)
                                : on.stages == 1                    ? (model.tied ? 1 : 2)
                                                                    : (r == 0 || last ? 1 : 0);
      const std::vector<costs::layer>& own = on_stage[static_cast<std::size_t>(r)];
      made.memory.push_back(rule.of(model, on, own, embeddings, last, r));
      made.evaluation.push_back(rule.of_evaluation(model, on, own, embeddings, last));
      made.evaluation_keeps.push_back(costs::evaluation_keeps::of(own, on.context));
      made.pair_bytes.push_back(rule.pair_bytes(on, own));
      made.piece_bytes.push_back(costs::memory::state_bytes(own));
      double weights = embeddings * static_cast<double>(model.vocabulary * model.hidden) / on.tensor;
      double experts = 0;
      for (const costs::layer& l : own) weights += l.weights, experts += l.expert_weights;
      if (weights + experts > made.heaviest + made.heaviest_experts)
        made.heaviest = weights, made.heaviest_experts = experts;
    }
    return made;
  }
};

}  // namespace slimpack::detail

#endif
