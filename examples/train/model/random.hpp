#ifndef SLIMPACK_EXAMPLES_TRAIN_MODEL_RANDOM_HPP
#define SLIMPACK_EXAMPLES_TRAIN_MODEL_RANDOM_HPP

#include <cmath>
#include <cstdint>
#include <numbers>

namespace train {

/// Source    output function of SplitMix64: G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number
///           generators, OOPSLA 2014
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A standard normal number that depends on nothing but seed, stream and index, so that a stage that owns a few tensors
/// starts with the same numbers as one that owns all.
/// Source    Box and Muller, of two outputs of SplitMix64
[[nodiscard]] inline double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) noexcept {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  const std::uint64_t base = mixed(mixed(seed + golden) + golden * (stream + 1));
  const auto uniform = [&](std::uint64_t i) {  // in (0, 1)
    return (static_cast<double>(mixed(base + golden * (i + 1)) >> 11) + 0.5) * 0x1p-53;
  };
  return std::sqrt(-2 * std::log(uniform(2 * index))) * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

}  // namespace train

#endif
