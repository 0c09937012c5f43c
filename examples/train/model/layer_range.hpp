#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_RANGE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_RANGE_HPP

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

/// Part `part` of `parts`: as many layers as any other, or one less.
/// Requires  0 <= part < parts <= layers
[[nodiscard]] constexpr layer_range part_of(int layers, int part, int parts) noexcept {
  return {layers * part / parts, layers * (part + 1) / parts, part == 0, part == parts - 1};
}

}  // namespace train

#endif
