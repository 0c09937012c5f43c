#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_RANGE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_RANGE_HPP

#include "config.hpp"

#include <cstddef>
#include <numeric>

namespace train {

/// What one part of the pipeline owns: layers [first, last), the embedding on the first part, norm, head and loss on
/// the last.
struct layer_range {
  int first{};
  int last{};
  bool embeds{};
  bool ends{};

  [[nodiscard]] constexpr int size() const noexcept { return last - first; }
};

/// Part `part` of `parts`: as many layers as the model says, or as any other part, or one less.
/// Requires  0 <= part < parts <= c.layers, c.check(), c.on_parts empty or of so many parts
[[nodiscard]] inline layer_range part_of(const config& c, int part, int parts) {
  const bool embeds = part == 0, ends = part == parts - 1;
  if (c.on_parts.empty()) return {c.layers * part / parts, c.layers * (part + 1) / parts, embeds, ends};
  const int first = std::accumulate(c.on_parts.begin(), c.on_parts.begin() + part, 0);
  return {first, first + c.on_parts[static_cast<std::size_t>(part)], embeds, ends};
}

}  // namespace train

#endif
