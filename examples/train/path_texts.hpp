#ifndef SLIMPACK_EXAMPLES_TRAIN_PATH_TEXTS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_PATH_TEXTS_HPP

#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace train {

/// The bytes of the paths of a plan's sequences, those that are copies alone behind the batch's.
/// Shapes    paths: of the batch's sequences
[[nodiscard]] inline std::vector<std::span<const std::uint8_t>> path_texts(
    const slimpack::plan& p, std::vector<std::span<const std::uint8_t>> paths) {
  const std::size_t batch = paths.size();
  paths.resize(p.lengths.size());
  for (const slimpack::path_copy& c : p.copies)
    if (c.sequence.value >= batch)
      paths[c.sequence.value] = paths[c.of.value].first(static_cast<std::size_t>(c.until.value));
  return paths;
}

}  // namespace train

#endif
