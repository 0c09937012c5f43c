#ifndef SLIMPACK_EXECUTORS_PIECE_HPP
#define SLIMPACK_EXECUTORS_PIECE_HPP

#include <slimpack/core/slice.hpp>

#include <cstdint>

namespace slimpack {

/// A slice as a trainer's compute callback sees it.
struct piece {
  slimpack::slice slice;
  tokens sequence_length;  ///< of the whole sequence, known from its first slice on
  std::uint32_t chunk{};   ///< virtual stage on this stage, 0 when there is one
  double loss_weight{};    ///< valid tokens of the piece over valid tokens of the batch
  bool weights_apart{};    ///< backward leaves the weight gradients of this piece to a call of `weights`

  [[nodiscard]] constexpr bool is_first() const noexcept { return slice.begin == tokens{}; }
  [[nodiscard]] constexpr bool is_last() const noexcept { return slice.end() == sequence_length; }
  friend constexpr bool operator==(const piece&, const piece&) = default;
};

}  // namespace slimpack

#endif
