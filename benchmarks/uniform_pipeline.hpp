#ifndef SLIMPACK_BENCHMARKS_UNIFORM_PIPELINE_HPP
#define SLIMPACK_BENCHMARKS_UNIFORM_PIPELINE_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/quadratic.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace benchmarks {

/// The uniform pipeline: 1 us a token forward, as much again for attention to 49,152 tokens, backward 2 and 2.5 times
/// that; 64 token-times a pack, 24 a message.
inline constexpr slimpack::costs::quadratic uniform_cost{
    .linear = 1e-6, .attention = 2e-6 / 49152, .per_pack = {64e-6}, .hop = {24e-6}};

/// Live tokens of a stage: so many times the longest sequence.
[[nodiscard]] inline slimpack::memory_limit times_longest(double factor, std::span<const slimpack::tokens> lengths) {
  const auto longest = static_cast<double>(std::max_element(lengths.begin(), lengths.end())->value);
  return {slimpack::memory_unit::token, std::floor(factor * longest)};
}

}  // namespace benchmarks

#endif
