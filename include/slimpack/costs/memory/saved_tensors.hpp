#ifndef SLIMPACK_COSTS_MEMORY_SAVED_TENSORS_HPP
#define SLIMPACK_COSTS_MEMORY_SAVED_TENSORS_HPP

#include <slimpack/costs/model/layer.hpp>

#include <string>
#include <vector>

namespace slimpack::costs {

/// Which activations backward computes again instead of keeping.
enum class recompute : unsigned char {
  none,
  attention,  ///< the attention core: scores, softmax and their dropout. Korthikanti et al. call this selective
  selective,  ///< what is cheap to repeat for its bytes; for the default table norm outputs, gate, up and product
  full,       ///< all but each layer's input
};

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
  bool attention{};       ///< kept under recompute::attention too
  bool selective{};       ///< kept under recompute::selective too
  bool full{};            ///< kept under any

  [[nodiscard]] constexpr bool kept(costs::recompute again) const noexcept {
    return full || again == costs::recompute::none || (again == costs::recompute::attention && attention) ||
           (again == costs::recompute::selective && selective);
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
    return sum_of(layer, l, again, sequence_parallel);
  }
  /// The same before the logits.
  [[nodiscard]] double head_bytes(const costs::layer& l, bool sequence_parallel) const {
    return sum_of(head, l, costs::recompute::none, sequence_parallel);
  }
  /// Bytes a token beside those, on one rank of a layer while its backward runs.
  [[nodiscard]] double running_bytes(const costs::layer& l, bool sequence_parallel) const {
    return sum_of(running, l, costs::recompute::none, sequence_parallel);
  }
  /// The same where a part sends its output to another.
  [[nodiscard]] double boundary_bytes(const costs::layer& l, bool sequence_parallel) const {
    return sum_of(boundary, l, costs::recompute::none, sequence_parallel);
  }
  /// Bytes that a (query, key) pair keeps on one rank of a layer: dense attention stores the masked half too.
  [[nodiscard]] double pair_bytes(const costs::layer& l, costs::recompute again) const {
    double sum = 0;
    for (const saved_tensor& t : layer)
      if (t.kept(again)) sum += t.pairs * l.heads;
    return sum;
  }

  /// The default: bf16, flash attention, fused norms and activation, no dropout: 12h + 4k + 6f bytes a token for h
  /// query, k key/value and f feed-forward width. The log-sum-exp of flash attention, 4 bytes a head, is left out.
  /// Source    derived; SlimPipe (arXiv:2504.14519), whose planner's tables it gives to the last digit
  [[nodiscard]] static saved_tensors flash_attention() {
    return {.name = "flash attention",
            .source = "bf16, flash attention, fused norms and activation; SlimPipe, arXiv:2504.14519",
            .layer = {{.name = "input", .hidden = 2, .full = true},
                      {.name = "attention norm output", .hidden = 2, .attention = true},
                      {.name = "query", .query = 2, .attention = true, .selective = true},
                      {.name = "key and value", .key_value = 2, .attention = true, .selective = true},
                      {.name = "attention output", .output = 2, .attention = true, .selective = true},
                      {.name = "MLP input", .hidden = 2, .attention = true, .selective = true},
                      {.name = "MLP norm output", .hidden = 2, .attention = true},
                      {.name = "gate", .gate = 2, .attention = true},
                      {.name = "up", .feed_forward = 2, .attention = true},
                      {.name = "product", .feed_forward = 2, .attention = true}},
            .head = {{.name = "norm input", .hidden = 2}}};
  }
  friend bool operator==(const saved_tensors&, const saved_tensors&) = default;

 private:
  static double sum_of(const std::vector<saved_tensor>& tensors, const costs::layer& l, costs::recompute again,
                       bool sequence_parallel) {
    const double hidden = sequence_parallel ? l.hidden / l.tensor : l.hidden;
    double sum = 0;
    for (const saved_tensor& t : tensors)
      if (t.kept(again))
        sum += t.hidden * hidden + t.gathered * l.hidden + t.query * l.query + t.key_value * l.kv_elements +
               t.output * l.output + t.feed_forward * l.feed_forward + t.gate * l.gate + t.heads * l.heads;
    return sum;
  }
};

}  // namespace slimpack::costs

#endif
