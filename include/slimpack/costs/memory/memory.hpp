#ifndef SLIMPACK_COSTS_MEMORY_MEMORY_HPP
#define SLIMPACK_COSTS_MEMORY_MEMORY_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/memory/evaluation_keeps.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>
#include <slimpack/costs/model/layer.hpp>

#include <algorithm>
#include <span>

namespace slimpack::costs {

/// What one GPU of a stage holds, in bytes.
/// Source    states and activations as the table of saved tensors counts them; by default weights and gradients 6 B a
///           parameter (bf16 + fp32 gradient), optimizer 12 B (fp32 copy, two moments); logits 4 B (fp32) of the
///           running pack: the loss gradient is taken while they are there, since the normaliser, the valid tokens
///           of the whole batch, is known before the first forward; dK and dV in fp32, as row_exchange sends them.
///           Fully sharded states (ZeRO-3, FSDP), derived: one stage gathers the weights of the running layer and the
///           next and has the gradients of one; a pipeline gathers a stage's weights once a step and sums its gradients
///           unsharded, as torchtitan does. Where a table says that pipelines gather layer by layer, too
///           (gathered_gradient), backward has two phases: that of the logits with the gathered vocabulary matrix
///           beside them, whose gradient comes when they are gone; and that of a layer, with what it computes again,
///           its weights and their gradients. A stage without logits has the second only. The phase that holds more
///           bytes a token counts, and what a layer holds besides counts in both: buffers are not given back. Shown by
///           Galvatron's peaks: with the vocabulary over 1, 2, 4, 8 ranks they fall by just that share of a bf16
///           matrix, and under full recomputation they are a layer, its weights and its gradients
///           Experts that ranks divide, derived: their states are those of this rank's experts, whose optimizer states
///           the copies of them share (dp cp tp / ep); the rows that it got for them are kept in bf16 but under full
///           recomputation
///           What later slices of a sequence read of earlier ones stays under any recomputation until the backward of
///           the tokens themselves, derived: the forward and the backward of a slice both attend to keys and values of
///           its prefix. Under `full` that is 2 B an element of keys and values beside 2 B of each layer's input; for
///           llama-3.1-8b 8192 + 4096 bytes a token and layer, 1.5 times the input alone; for llama-3.1-70b on 8 tensor
///           ranks 2048 + 512, 1.25 times. It is counted of all tokens of a planner that may cut, since rates do not
///           tell whole sequences apart; bounds leave it out. The layer that runs backward counts in full:
///           checkpointing makes new keys and values of the slice's own tokens
///           Of a vocabulary that is spread over the stages, a share of its matrices, and from V to U
///           (core/wiring/step_kinds.hpp) 4 B a logit and the hidden row of each token; on the last stage the gradient
///           of that row, from V to B
///           Dense attention whose scores are computed again, derived: layers run one after the other, so that a
///           running pack has one layer's scores, those of the layer that has most, while it runs forward; and while it
///           runs backward these and what the table says of running tensors
/// Limits    of those two phases, packs of few tokens may have more in the other
struct memory {
  bool distributed_optimizer{true};  ///< optimizer states over replicas and context ranks; a table may shard them all
  costs::recompute recompute{costs::recompute::none};
  bool sequence_parallel{true};  ///< norms and what is between layers sharded over tensor-parallel ranks
  bool cuts{true};               ///< sequences are cut into slices, so that earlier ones are read by later ones
  saved_tensors tensors{saved_tensors::flash_attention()};

  /// `layers`: those of the stage; `embeddings`: vocabulary matrices on it (0, 1 or 2, or a share of them where the
  /// vocabulary is spread over the stages); `has_head`: it has the last layer, and computes logits where the vocabulary
  /// is not spread; `stage`: whose words of a spread vocabulary it has.
  [[nodiscard]] memory_rates of(const model_shape& m, const shape& on, std::span<const layer> layers, double embeddings,
                                bool has_head, int stage = 0) const {
    const bool spread = on.vocabulary == vocabulary::spread;
    const double c = on.context;
    const double vocabulary = static_cast<double>(m.vocabulary) / on.tensor;
    const double matrix = vocabulary * static_cast<double>(m.hidden);
    double weights = embeddings * matrix;
    double experts = 0;
    double largest = embeddings > 0 ? matrix * std::min(1.0, embeddings) : 0;
    memory_rates rates{.fixed = 0, .live_token = 0};
    double live_layer = 0;  // of one layer while its backward runs: what is computed again, gradients
    double repeated = 0;    // of that, what is computed again
    double running = 0;     // and the rest
    double largest_layer = 0;
    for (const layer& l : layers) {
      weights += l.weights;
      experts += l.expert_weights;
      largest_layer = std::max(largest_layer, l.weights + l.expert_weights);
      const double got = 2 * l.dispatched;
      const double all = tensors.token_bytes(l, recompute::none, sequence_parallel) + got;
      const double kept =
          tensors.token_bytes(l, recompute, sequence_parallel) + (recompute == recompute::full ? 0 : got);
      const double read = cuts ? tensors.prefix_bytes(l, recompute, sequence_parallel) : 0;
      rates.live_token += (kept + read) / c;
      rates.prefix_token += read / c;
      rates.gradient_token += 4 * l.kv_elements / c;
      rates.other_token += 2 * l.kv_elements / c;
      rates.lent_token = std::max(rates.lent_token, 2 * 2 * l.kv_elements / c);
      const double again = recompute == recompute::full ? all : all - kept;
      const double beside = tensors.running_bytes(l, sequence_parallel);
      live_layer = std::max(live_layer, again + beside);
      const double dropped = tensors.dropped_pair_bytes(l, recompute);
      rates.forward_pair = std::max(rates.forward_pair, dropped / c);
      rates.backward_pair = std::max(rates.backward_pair, (dropped + tensors.running_pair_bytes(l)) / c);
      repeated = std::max(repeated, again), running = std::max(running, beside);
    }
    if (on.stages > 1) {
      const double sent = on.chunks - (has_head ? 1 : 0);  // by parts of the stage
      rates.live_token += sent * tensors.boundary_bytes(layer::of(m, false, on.tensor), sequence_parallel) / c;
    }
    const double logits = has_head && !spread ? tensors.logit_backward * vocabulary : 0;
    if (tensors.gathered_weight > 0 && tensors.gathered_gradient > 0) {
      const bool of_logits = logits > repeated;
      rates.fixed = sharded(weights, copies_of(on)) + sharded(experts, expert_copies_of(on)) +
                    (of_logits ? tensors.gathered_weight * matrix
                               : (tensors.gathered_weight + tensors.gathered_gradient) * largest_layer);
      rates.backward_token = (std::max(logits, repeated) + running) / c;
    } else {
      rates.fixed = states(weights, copies_of(on)) + states(experts, expert_copies_of(on)) +
                    gathered(weights + experts, std::max(largest, largest_layer), on);
      rates.backward_token = live_layer / c + logits / c;
    }
    if (has_head) {
      rates.live_token += tensors.head_bytes(layer::of(m, false, on.tensor), sequence_parallel) / c;
      if (!spread) rates.forward_token += tensors.logit_forward * vocabulary / c;
    }
    if (spread) {
      const double hidden = 2 * static_cast<double>(m.hidden) / (on.tensor * c);
      rates.logit_token = on.share_of_words(stage, tensors.logit_backward * vocabulary) / c + hidden;
      if (has_head) rates.turned_token = hidden;
    }
    return rates;
  }

  /// What it holds while it evaluates, by plans of forward packs alone (basic_planner::plan_forward).
  /// Shapes    as of `of`            Units     bytes; live_token and forward_token of a token, on one GPU of the stage
  /// Source    derived. Nothing runs backward, so that there are no gradients, no optimizer states and no activations
  ///           that are kept:
  ///             fixed = w W, w the bytes of a parameter in the precision of computing and W the parameters of the
  ///             stage. Of fully
  ///               sharded states its share of them, and gathered of w: a pipeline a stage's weights, or, by tables
  ///               that gather layer by layer and without a pipeline, the largest layer or vocabulary matrix and the
  ///               next
  ///             live_token = 2 B x the elements of keys and values of the stage's layers, over context ranks
  ///               (other_token of steps): slices that come later read them, up to their sequence's last forward on a
  ///               chunk. MLA has them expanded. Not of layers of windows and chunks: see evaluation_keeps
  ///             forward_token = the larger of what a layer makes of a token (all tensors of the table, the rows of its
  ///             experts) and,
  ///               where the head is, the tensors before the logits and these: layers run one after the other, and the
  ///               logits when they are gone. Where a part sends its output, that besides
  ///             forward_pair = what dense attention makes of a query and a key, of the layer that makes most
  /// Limits    keys and values of a slice count in both, as they are made and as they are kept; those of a sequence
  ///           that ends in its pack need not be kept
  [[nodiscard]] memory_rates of_evaluation(const model_shape& m, const shape& on, std::span<const layer> layers,
                                           double embeddings, bool has_head) const {
    const double c = on.context;
    const double vocabulary = static_cast<double>(m.vocabulary) / on.tensor;
    const double matrix = vocabulary * static_cast<double>(m.hidden);
    double weights = embeddings * matrix;
    double experts = 0;
    double largest = embeddings > 0 ? matrix * std::min(1.0, embeddings) : 0;
    double running = 0;
    memory_rates rates{.fixed = 0, .live_token = 0};
    for (const layer& l : layers) {
      weights += l.weights;
      experts += l.expert_weights;
      largest = std::max(largest, l.weights + l.expert_weights);
      if (!evaluation_keeps::counts(l)) rates.live_token += 2 * l.kv_elements / c;
      running = std::max(running, tensors.token_bytes(l, recompute::none, sequence_parallel) + 2 * l.dispatched);
      rates.forward_pair = std::max(rates.forward_pair, tensors.pair_bytes(l, recompute::none) / c);
    }
    const layer any = layer::of(m, false, on.tensor);
    if (has_head && on.vocabulary == vocabulary::last)
      running = std::max(running, tensors.head_bytes(any, sequence_parallel) + tensors.logit_forward * vocabulary);
    if (on.stages > 1 && (!has_head || on.chunks > 1)) running += tensors.boundary_bytes(any, sequence_parallel);
    rates.forward_token = running / c;
    const double shard = tensors.gathered_weight;
    if (shard > 0) {
      const bool all = on.stages > 1 && !(tensors.gathered_gradient > 0);
      rates.fixed =
          shard * (weights / copies_of(on) + experts / expert_copies_of(on) + (all ? weights + experts : 2 * largest));
    } else {
      rates.fixed = tensors.weight * (weights + experts);
    }
    return rates;
  }

  /// Bytes that dense attention keeps for a query and a key beside live_token, on a stage of these layers.
  [[nodiscard]] double pair_bytes(const shape& on, std::span<const layer> layers) const {
    double sum = 0;
    for (const layer& l : layers) sum += tensors.pair_bytes(l, recompute);
    return sum / on.context;
  }

  /// What a piece keeps of those: its queries times all keys up to its end, masked ones too; and of states, whatever
  /// its tokens. For the hook `kept`.
  [[nodiscard]] static bytes kept(const slice& piece, double pair_bytes, double state_bytes = 0) {
    return {pair_bytes * static_cast<double>(piece.length.value) * static_cast<double>(piece.end().value) +
            state_bytes};
  }
  /// Bytes that a piece keeps for the states of these layers, on a stage.
  /// Source    derived. A piece keeps the state that it begins with until its own backward; a sequence's first one has
  ///           none. Besides there is one state more of each sequence that is under way: while it runs forward the one
  ///           that its last piece made, and while it runs backward the gradient of the one that the last piece left
  ///           begins with. So k pieces have k states at most, one for each
  [[nodiscard]] static double state_bytes(std::span<const layer> layers) noexcept {
    double sum = 0;
    for (const layer& l : layers) sum += l.state_bytes;
    return sum;
  }

 private:
  [[nodiscard]] static double copies_of(const shape& on) noexcept { return on.replicas * on.context; }
  [[nodiscard]] static double expert_copies_of(const shape& on) noexcept {
    return static_cast<double>(on.stage_ranks()) / on.expert;
  }
  /// Weights, gradients and optimizer states of so many parameters over all copies.
  [[nodiscard]] double sharded(double weights, double copies) const {
    return weights * (tensors.weight + tensors.gradient + tensors.optimizer) / copies;
  }
  /// The same where only the optimizer states may be.
  [[nodiscard]] double states(double weights, double copies) const {
    if (tensors.gathered_weight > 0) return sharded(weights, copies);
    return weights * (tensors.weight + tensors.gradient + tensors.optimizer / (distributed_optimizer ? copies : 1.0));
  }
  /// What is gathered of fully sharded parameters, the `largest` layer or vocabulary matrix of them.
  [[nodiscard]] double gathered(double weights, double largest, const shape& on) const {
    if (!(tensors.gathered_weight > 0)) return 0;
    return on.stages > 1 ? (tensors.gathered_weight + tensors.gradient) * weights
                         : (2 * tensors.gathered_weight + tensors.gradient) * largest;
  }
};

}  // namespace slimpack::costs

#endif
