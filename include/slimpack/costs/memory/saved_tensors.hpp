#ifndef SLIMPACK_COSTS_MEMORY_SAVED_TENSORS_HPP
#define SLIMPACK_COSTS_MEMORY_SAVED_TENSORS_HPP

#include <slimpack/costs/model/layer.hpp>

#include <string>
#include <vector>

namespace slimpack::costs {

/// Which activations backward computes again instead of keeping.
enum class recompute : unsigned char {
  none,
  light,  ///< what element-wise kernels make of what is kept: norm outputs, and the MLP's activation or gated product
  attention,  ///< the attention core: scores, softmax and their dropout. Korthikanti et al. call this selective. Flash
              ///< attention keeps none of these, so that this frees nothing there and costs a forward of attention
  selective,  ///< what is cheap to repeat for its bytes; for the default table norm outputs, gate, up and product
  full,       ///< all but each layer's input, and what later slices of a sequence read of earlier ones
};

/// Each of them, in order, and what options and files call it.
inline constexpr recompute all_recompute[]{recompute::none, recompute::light, recompute::attention,
                                           recompute::selective, recompute::full};
[[nodiscard]] constexpr const char* name_of(recompute what) noexcept {
  constexpr const char* names[]{"none", "light", "attention", "selective", "full"};
  return names[static_cast<unsigned char>(what)];
}

/// What backward runs of forward once more.
[[nodiscard]] constexpr bool repeats_attention(recompute what) noexcept {
  return what == recompute::attention || what == recompute::full;
}
[[nodiscard]] constexpr bool repeats_up_projections(recompute what) noexcept {
  return what == recompute::selective || what == recompute::full;
}
[[nodiscard]] constexpr bool repeats_norms(recompute what) noexcept {
  return what == recompute::light || repeats_up_projections(what);
}

/// A tensor that a layer's forward keeps for its backward: bytes a token, as multiples of the layer's widths.
/// Units     bytes a token and element of the width; `pairs` bytes a (query, key) pair and head
struct saved_tensor {
  std::string name{};
  double hidden{};        ///< of the hidden width, over the tensor-parallel ranks under sequence parallelism only
  double gathered{};      ///< of the hidden width, whole on every tensor-parallel rank
  double query{};         ///< of the query heads
  double key_value{};     ///< of keys and values together
  double output{};        ///< of the attention output, before its projection
  double feed_forward{};  ///< of the MLP's inner width
  double gate{};          ///< of the MLP's inner width where the MLP has a gate
  double heads{};         ///< a query head
  double pairs{};         ///< dense attention: a query head and key
  bool light{};           ///< kept under recompute::light too
  bool attention{};       ///< kept under recompute::attention too
  bool selective{};       ///< kept under recompute::selective too
  bool full{};            ///< kept under any
  bool prefix{};          ///< read by later slices of the same sequence: where sequences are cut, kept under any

  [[nodiscard]] constexpr bool kept(costs::recompute again) const noexcept {
    return full || again == costs::recompute::none || (again == costs::recompute::light && light) ||
           (again == costs::recompute::attention && attention) || (again == costs::recompute::selective && selective);
  }
  friend bool operator==(const saved_tensor&, const saved_tensor&) = default;
};

/// What an implementation of a transformer keeps on a GPU: stacks differ by a factor of two for one model, and a
/// trainer's own table (io/saved_tensors.hpp) replaces the one that is built in.
/// Source    each table says its own
/// Units     bytes a token of one rank, from the widths of costs::layer
struct saved_tensors {
  std::string name{};
  std::string source{};
  std::vector<saved_tensor> layer{};     ///< of each layer
  std::vector<saved_tensor> head{};      ///< of what stands before the logits; kept under any recomputation
  std::vector<saved_tensor> running{};   ///< more of a layer while its backward runs: gradients, gathered inputs
  std::vector<saved_tensor> boundary{};  ///< of what a part sends on, beside its layers: kept until its backward

  double logit_forward{4};   ///< bytes a logit while a forward pack runs
  double logit_backward{4};  ///< bytes a logit while a backward pack runs

  double weight{2};      ///< bytes a parameter
  double gradient{4};    ///< bytes a parameter
  double optimizer{12};  ///< bytes a parameter
  /// Above 0: states are fully sharded (ZeRO-3, FSDP) over replicas and context ranks, and weights in use are gathered
  /// at so many bytes a parameter.
  double gathered_weight{};
  /// Above 0: in pipelines, too, weights are gathered layer by layer, and a layer's gradients are there at so many
  /// bytes a parameter until they are scattered.
  double gathered_gradient{};

  /// Bytes that a token keeps on one rank of a layer, dense attention apart.
  [[nodiscard]] double token_bytes(const costs::layer& l, costs::recompute again, bool sequence_parallel) const {
    // Of a mixer or an MLP alone there are half as many hidden states; the input is kept of any layer.
    const double share = again == costs::recompute::full ? 1 : l.blocks / 2;
    return sum_of(
        layer, l, sequence_parallel, [again](const saved_tensor& t) { return t.kept(again); }, share);
  }
  /// Bytes that it keeps besides where its sequence is cut: what later slices read of it, up to their own backward, and
  /// recomputation would drop. Of a table that marks no such tensor, keys and values in bf16.
  [[nodiscard]] double prefix_bytes(const costs::layer& l, costs::recompute again, bool sequence_parallel) const {
    if (!has([](const saved_tensor& t) { return t.prefix; }))
      return again == costs::recompute::full ? 2 * l.kv_elements : 0;
    return sum_of(layer, l, sequence_parallel, [&](const saved_tensor& t) { return t.prefix && !t.kept(again); });
  }
  /// Whether it says what recomputation keeps: some tensor more than `full` does.
  [[nodiscard]] bool knows(costs::recompute again) const {
    return again == costs::recompute::full || has([&](const saved_tensor& t) { return !t.full && t.kept(again); });
  }
  /// The same before the logits.
  [[nodiscard]] double head_bytes(const costs::layer& l, bool sequence_parallel) const {
    return sum_of(head, l, sequence_parallel, any);
  }
  /// Bytes a token beside those, on one rank of a layer while its backward runs.
  [[nodiscard]] double running_bytes(const costs::layer& l, bool sequence_parallel) const {
    return sum_of(running, l, sequence_parallel, any, l.blocks / 2);
  }
  /// The same where a part sends its output to another.
  [[nodiscard]] double boundary_bytes(const costs::layer& l, bool sequence_parallel) const {
    return sum_of(boundary, l, sequence_parallel, any);
  }
  /// Bytes that a (query, key) pair keeps on one rank of a layer: dense attention stores the masked half too.
  [[nodiscard]] double pair_bytes(const costs::layer& l, costs::recompute again) const {
    double sum = 0;
    for (const saved_tensor& t : layer)
      if (t.kept(again)) sum += t.pairs * l.heads;
    return sum;
  }
  /// Bytes a pair that one rank of a layer makes and does not keep: while its forward runs, and once more while its
  /// backward computes them again.
  [[nodiscard]] double dropped_pair_bytes(const costs::layer& l, costs::recompute again) const {
    return pair_bytes(l, costs::recompute::none) - pair_bytes(l, again);
  }
  /// Bytes a pair beside those, while a layer's backward runs.
  [[nodiscard]] double running_pair_bytes(const costs::layer& l) const {
    double sum = 0;
    for (const saved_tensor& t : running) sum += t.pairs * l.heads;
    return sum;
  }

  /// The default: bf16, flash attention, fused norms and activation, no dropout. The log-sum-exp of flash attention, 4
  /// bytes a head, is left out. MLA has its latents expanded, since nothing prices expanding them once more a slice.
  /// Formula   bytes a token for h query, k key and as much value, and f feed-forward width; each tensor has 2 an
  ///           element:
  ///             none       12h + 4k + 6f: inputs of both halves, both norm outputs, queries, attention output; keys
  ///                        and values; gate, up and their product
  ///             light       8h + 4k + 4f, without norm outputs (4h) and the product (2f)
  ///             attention  12h + 4k + 6f: there are no scores to drop
  ///             selective   8h + 4k, without gate and up as well
  ///             full        2h, and 4k of sequences that are cut
  /// Source    derived; SlimPipe (arXiv:2504.14519), whose planner's tables it gives to the last digit
  [[nodiscard]] static saved_tensors flash_attention() {
    return {.name = "flash attention",
            .source = "bf16, flash attention, fused norms and activation; SlimPipe, arXiv:2504.14519",
            .layer = {{.name = "input", .hidden = 2, .full = true},
                      {.name = "attention norm output", .hidden = 2, .attention = true},
                      {.name = "query", .query = 2, .light = true, .attention = true, .selective = true},
                      {.name = "key and value",
                       .key_value = 2,
                       .light = true,
                       .attention = true,
                       .selective = true,
                       .prefix = true},
                      {.name = "attention output", .output = 2, .light = true, .attention = true, .selective = true},
                      {.name = "MLP input", .hidden = 2, .light = true, .attention = true, .selective = true},
                      {.name = "MLP norm output", .hidden = 2, .attention = true},
                      {.name = "gate", .gate = 2, .light = true, .attention = true},
                      {.name = "up", .feed_forward = 2, .light = true, .attention = true},
                      {.name = "product", .feed_forward = 2, .attention = true}},
            .head = {{.name = "norm input", .hidden = 2}}};
  }
  friend bool operator==(const saved_tensors&, const saved_tensors&) = default;

 private:
  static constexpr bool any(const saved_tensor&) noexcept { return true; }
  /// Whether a layer has such a tensor.
  template <class Which>
  [[nodiscard]] bool has(const Which& which) const {
    for (const saved_tensor& t : layer)
      if (which(t)) return true;
    return false;
  }
  template <class Which>
  static double sum_of(const std::vector<saved_tensor>& tensors, const costs::layer& l, bool sequence_parallel,
                       const Which& which, double share = 1) {
    const double hidden = share * (sequence_parallel ? l.hidden / l.tensor : l.hidden);
    double sum = 0;
    for (const saved_tensor& t : tensors)
      if (which(t))
        sum += t.hidden * hidden + t.gathered * share * l.hidden + t.query * l.query + t.key_value * l.kv_elements +
               t.output * l.output + t.feed_forward * l.feed_forward + t.gate * l.gate + t.heads * l.heads;
    return sum;
  }
};

}  // namespace slimpack::costs

#endif
