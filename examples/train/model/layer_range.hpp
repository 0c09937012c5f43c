#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_RANGE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_LAYER_RANGE_HPP

#include "config.hpp"

#include <slimpack/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace train {

/// What one part of the pipeline owns: layers [first, last), the embedding on the first part, norm, head and loss on
/// the last. Where the vocabulary is spread over the stages, embedding, head and loss are of no part.
struct layer_range {
  int first{};
  int last{};
  bool embeds{};
  bool norms{};
  bool ends{};

  [[nodiscard]] constexpr int size() const noexcept { return last - first; }
};

/// A part of the model: as many layers as the model says, or as any other part, or one less.
/// Requires  0 <= part < on.parts(), c.check(), c.on_parts of so many parts, or empty and so many layers or more
[[nodiscard]] inline layer_range part_of(const config& c, const slimpack::shape& on, int part) {
  const int parts = on.parts();
  const bool spread = on.vocabulary == slimpack::vocabulary::spread, is_last = part == parts - 1;
  const bool embeds = part == 0 && !spread, ends = is_last && !spread;
  if (c.on_parts.empty()) return {c.layers * part / parts, c.layers * (part + 1) / parts, embeds, is_last, ends};
  const int first = std::accumulate(c.on_parts.begin(), c.on_parts.begin() + part, 0);
  return {first, first + c.on_parts[static_cast<std::size_t>(part)], embeds, is_last, ends};
}

/// How many layers of a part have a state.
[[nodiscard]] inline std::size_t states_of(const config& c, const layer_range& part) {
  std::size_t count = 0;
  for (int l = part.first; l < part.last; ++l) count += c.mixer_of(l).has_state();
  return count;
}

/// A stage's words of a vocabulary that is spread over the stages: [first, last).
struct word_range {
  int first{};
  int last{};

  [[nodiscard]] constexpr int size() const noexcept { return last - first; }
};

/// As many as the shape says, or as any other stage has, or one less.
[[nodiscard]] inline word_range words_of(const config& c, const slimpack::shape& on, int stage) {
  const std::vector<std::int64_t> words = on.words.empty() ? slimpack::even_words(c.vocab, on.stages) : on.words;
  const auto first = std::accumulate(words.begin(), words.begin() + stage, std::int64_t{0});
  return {static_cast<int>(first), static_cast<int>(first + words[static_cast<std::size_t>(stage)])};
}

}  // namespace train

#endif
