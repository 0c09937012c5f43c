#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_TARGETS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_TARGETS_HPP

#include "documents.hpp"
#include "matrix.hpp"

#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace train {

/// What a token's logits are compared with: the next token.
struct target {
  Index token{};
  double weight{};  ///< of its loss in the batch's; 0 for a sequence's last token, which has none
};

/// Adds the targets of a piece's tokens to those before.
inline void add_targets(const slimpack::piece& p, const documents& texts, std::vector<target>& all) {
  const auto text = texts(p.slice.sequence);
  const std::int64_t valid = p.slice.length.value - (p.is_last() ? 1 : 0);
  const double weight = valid > 0 ? p.loss_weight / static_cast<double>(valid) : 0;
  for (std::int64_t at = p.slice.begin.value; at < p.slice.end().value; ++at)
    all.push_back(at + 1 == p.sequence_length.value ? target{}
                                                    : target{text[static_cast<std::size_t>(at + 1)], weight});
}

}  // namespace train

#endif
