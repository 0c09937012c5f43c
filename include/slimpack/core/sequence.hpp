#ifndef SLIMPACK_CORE_SEQUENCE_HPP
#define SLIMPACK_CORE_SEQUENCE_HPP

#include <slimpack/core/units.hpp>

namespace slimpack {

/// One training sample of a batch.
struct sequence {
  sequence_id id;
  tokens length;
  friend constexpr bool operator==(const sequence&, const sequence&) = default;
};

/// The longest length slimpack plans, 2^31 - 1 tokens: what Megatron-LM's index files can hold.
inline constexpr tokens longest_supported{2147483647};

/// The least multiple of `to` that is not below a length, as trainers with FP8 or sequence parallelism pad it.
/// Requires  length >= 0, to >= 1
[[nodiscard]] constexpr tokens padded(tokens length, tokens to) noexcept {
  return {(length.value + to.value - 1) / to.value * to.value};
}

}  // namespace slimpack

#endif
