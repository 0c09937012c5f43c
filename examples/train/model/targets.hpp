#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_TARGETS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_TARGETS_HPP

#include "documents.hpp"
#include "matrix.hpp"

#include <slimpack/core/units.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace train {

/// What a token's logits are compared with: the next token.
struct target {
  Index token{};
  double weight{};  ///< of its loss in the batch's; 0 for a sequence's last token, which has none
  slimpack::sequence_id sequence{};
  slimpack::tokens at{};  ///< in the sequence

  /// What its loss, in nats, adds to that of a batch; to edges, its log-probability.
  [[nodiscard]] double weighted(double loss, slimpack::edge_values& edges) const {
    if (weight == 0) return 0;
    edges.add(sequence, at, -loss);
    return weight * loss;
  }
};

/// Adds the targets of a piece's tokens to those before.
inline void add_targets(const slimpack::piece& p, const documents& texts, std::vector<target>& all) {
  const auto text = texts(p.slice.sequence);
  const std::int64_t valid = p.slice.length.value - (p.is_last() ? 1 : 0);
  const double weight = valid > 0 ? p.loss_weight / static_cast<double>(valid) : 0;
  for (std::int64_t at = p.slice.begin.value; at < p.slice.end().value; ++at)
    all.push_back(at + 1 == p.sequence_length.value
                      ? target{}
                      : target{text[static_cast<std::size_t>(at + 1)], weight, p.slice.sequence, {at + 1}});
}

}  // namespace train

#endif
