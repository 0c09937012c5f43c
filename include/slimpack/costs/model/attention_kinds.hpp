#ifndef SLIMPACK_COSTS_MODEL_ATTENTION_KINDS_HPP
#define SLIMPACK_COSTS_MODEL_ATTENTION_KINDS_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/model_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::costs {

/// Which keys the tokens of a layer attend to.
enum class attends {
  full,    ///< every token to itself and all before it
  window,  ///< to itself and those right before it, `reach` together
  chunk,   ///< like full, inside each `reach` tokens of the sequence
  top_k,   ///< to the `reach` keys that an indexer chooses
  state    ///< to none: a state runs along the sequence
};

struct attention_span {
  attends to{attends::full};
  std::int64_t reach{};  ///< in tokens; 0 where nothing limits it

  /// Pairs of a query and a key that it attends to, in a sequence of n tokens.
  /// Formula   full n (n + 1) / 2; a window W, or the best W keys: W (W + 1) / 2 + (n - W) W for n > W; chunks C: those
  ///           of n / C whole ones and of the rest; a state: none
  [[nodiscard]] constexpr double pairs(std::int64_t n) const noexcept {
    const auto all = [](std::int64_t k) { return static_cast<double>(k) * (static_cast<double>(k) + 1) / 2; };
    if (to == attends::state) return 0;
    if (to == attends::full || n <= reach) return all(n);
    if (to == attends::chunk) return static_cast<double>(n / reach) * all(reach) + all(n % reach);
    return all(reach) + static_cast<double>(n - reach) * static_cast<double>(reach);
  }
  friend constexpr bool operator==(const attention_span&, const attention_span&) = default;
};

/// What the layers of a model attend to. Cost models price `full`, and know no other kind yet: what they make of the
/// others is told by overcount_of.
struct attention_kinds {
  std::vector<attention_span> layers{};  ///< of each layer, in order; empty: all full
  double indexer{};  ///< operations of an indexer for each pair of full attention, of each layer whose keys it chooses

  [[nodiscard]] bool all_full() const noexcept {
    for (const attention_span& span : layers)
      if (span.to != attends::full) return false;
    return true;
  }
  friend bool operator==(const attention_kinds&, const attention_kinds&) = default;
};

/// How many times too many operations are counted for some sequences, if every layer is counted as one of full
/// attention.
struct overcount {
  double attention{1};  ///< of scores and weighted values; infinite where no layer attends
  double total{1};      ///< of all that training_flops counts
};

/// Source    the ratio of training_flops, as counted and as the layers attend; scans of states are not counted
/// Errors    none            Complexity  O(layers * sequences)
[[nodiscard]] inline overcount overcount_of(const model_shape& m, const attention_kinds& kinds,
                                            std::span<const tokens> lengths) {
  double linear = 0, counted = 0, needed = 0;
  for (const tokens length : lengths) linear += static_cast<double>(length.value) * 2 * active_parameters(m);
  for (std::size_t i = 0; i < kinds.layers.size(); ++i) {
    const attention_span& span = kinds.layers[i];
    const double pair = layer::of(m, m.kind(static_cast<int>(i)), 1).pair_flops;
    for (const tokens length : lengths) {
      const double full = attention_span{}.pairs(length.value);
      counted += pair * full;
      needed += pair * span.pairs(length.value) + (span.to == attends::top_k ? kinds.indexer * full : 0);
    }
  }
  if (counted == 0) return {};
  return {counted / needed, (linear + counted) / (linear + needed)};
}

}  // namespace slimpack::costs

#endif
