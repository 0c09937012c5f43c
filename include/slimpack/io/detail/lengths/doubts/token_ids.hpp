#ifndef SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_TOKEN_IDS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_TOKEN_IDS_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// How often two of the pairs (x_i, x_i+apart) with i < count are the same; pairs of equal numbers are left out.
[[nodiscard]] inline std::size_t same_pairs(std::span<const tokens> values, std::size_t count, std::size_t apart) {
  std::vector<std::pair<tokens, tokens>> pairs;
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] != values[i + apart]) pairs.emplace_back(values[i], values[i + apart]);
  std::sort(pairs.begin(), pairs.end());
  std::size_t same = 0;
  for (std::size_t i = 1, before = 0; i < pairs.size(); ++i) {
    before = pairs[i] == pairs[i - 1] ? before + 1 : 0;  // of the pairs before this one, those like it
    same += before;
  }
  return same;
}

/// Fewer numbers say nothing of how they are distributed.
inline constexpr std::size_t least_to_judge = 1000;

/// Whether numbers follow each other as the ids of a tokenized text do, rather than as lengths.
/// Rule      derived. A text repeats pairs of neighbours, "of the", much more often than pairs of tokens that lie far
///           apart: 3 to 30 times as often in the READMEs of this project, lengths of its data sets 0.9 to 1.2 times,
///           or rarely at all
/// Complexity O(n log n) of the first 65536
[[nodiscard]] inline bool follow_as_in_text(std::span<const tokens> values) {
  values = values.first(std::min<std::size_t>(values.size(), 65536));
  if (values.size() < least_to_judge) return false;
  const std::size_t half = values.size() / 2 - 1;
  const std::size_t near = same_pairs(values, half, 1);
  const std::size_t far = std::max(same_pairs(values, half, half), same_pairs(values, half, half + 1));
  return near > half / 20 && near > 2 * far;
}

/// Whether numbers are spread evenly up to the size of a vocabulary, as ids that were drawn for a trial are. Lengths of
/// real data never are.
/// Complexity O(n)
[[nodiscard]] inline bool fill_a_vocabulary(std::span<const tokens> values) {
  if (values.size() < least_to_judge) return false;
  const std::int64_t most = std::max_element(values.begin(), values.end())->value;
  constexpr std::int64_t least_vocabulary = 8192, greatest_vocabulary = 262144;
  if (most < least_vocabulary || most > greatest_vocabulary) return false;
  std::array<std::size_t, 8> eighths{};
  for (const tokens value : values) ++eighths[static_cast<std::size_t>(8 * (value.value - 1) / most)];
  const auto is_even = [&](std::size_t count) { return 10 * count > values.size() && 20 * count < 3 * values.size(); };
  return std::all_of(eighths.begin(), eighths.end(), is_even);
}

}  // namespace slimpack::io::detail

#endif
