#ifndef SLIMPACK_SOLVERS_BASELINES_PACK_LENGTHS_HPP
#define SLIMPACK_SOLVERS_BASELINES_PACK_LENGTHS_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::baselines {

/// The lengths of packs, or of rows, that are tried where a baseline is tuned: what the user of a trainer that packs
/// whole sequences would choose among. slimpack's own search tries the packs of these lengths, too.
/// Formula   from the longest sequence L to U = min(tokens of the batch / replicas, rounded up; R), in n equal ratios:
///           L (U / L)^(i / n), i = 0 .. n, where n is at least 11 and no ratio is more than the square root of 2; then
///           min(tokens of the batch; R). R are the most tokens that the activations of one pack leave room for on
///           every stage. L alone where R is no more than L. Derived: no pack is shorter than the longest sequence; one
///           that is longer than U holds all of a replica with an even share of the tokens, and the last one all of any
///           replica
/// Shapes    lengths: of the batch, at least one; rates: of each stage, in the unit of the shape's limit
/// Units     tokens, strictly rising
/// Errors    none            Complexity  O(sequences + stages)
[[nodiscard]] inline std::vector<tokens> pack_lengths(std::span<const tokens> lengths, const shape& on,
                                                      std::span<const memory_rates> rates) {
  constexpr double fewest = 11;
  const tokens longest = *std::max_element(lengths.begin(), lengths.end());
  tokens all{};
  for (const tokens length : lengths) all += length;
  double room = static_cast<double>(all.value);
  if (on.memory)
    for (const memory_rates& stage : rates)
      if (stage.live_token > 0) room = std::min(room, std::floor((on.memory->amount - stage.fixed) / stage.live_token));
  const double first = static_cast<double>(longest.value);
  const double most = std::min(std::max(first, std::ceil(static_cast<double>(all.value) / on.replicas)), room);
  std::vector<tokens> found{longest};
  if (!(room > first)) return found;
  const auto add = [&](double length) {
    if (const tokens next{std::llround(length)}; next > found.back()) found.push_back(next);
  };
  const double steps = std::max(fewest, std::ceil(2 * std::log2(most / first)));
  for (double i = 1; i <= steps; ++i) add(first * std::pow(most / first, i / steps));
  add(room);
  return found;
}

/// The numbers of slices of a row that are tried where slimpipe is tuned: one, two, four and eight for each stage, as
/// stages that are tied need a multiple of their number.
[[nodiscard]] constexpr std::array<int, 4> slice_counts(int stages) noexcept {
  return {stages, 2 * stages, 4 * stages, 8 * stages};
}

}  // namespace slimpack::baselines

#endif
