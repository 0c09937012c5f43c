#ifndef SLIMPACK_CORE_SEQUENCE_HPP
#define SLIMPACK_CORE_SEQUENCE_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <cstdint>
#include <limits>

namespace slimpack {

/// The parent of a sequence that has none.
inline constexpr sequence_id no_parent{std::numeric_limits<std::uint32_t>::max()};

/// What a batch is made of: a training sample, or, where samples share beginnings, a node of their forest. A node has
/// the tokens from one fork to the next; its path, from the root down to it, is a sample, or the beginning of several.
struct sequence {
  sequence_id id;
  tokens length;                  ///< of its own tokens
  tokens begin{};                 ///< its depth: how many tokens its path has before them; 0 of a root
  sequence_id parent{no_parent};  ///< which its path comes from

  /// Its depth and its own tokens: how long its path is.
  [[nodiscard]] constexpr tokens end() const noexcept { return begin + length; }
  /// All of its own tokens.
  [[nodiscard]] constexpr slice whole() const noexcept { return {id, begin, length}; }
  [[nodiscard]] constexpr bool is_root() const noexcept { return parent == no_parent; }
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
