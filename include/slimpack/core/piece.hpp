#ifndef SLIMPACK_CORE_PIECE_HPP
#define SLIMPACK_CORE_PIECE_HPP

#include <slimpack/core/slice.hpp>

#include <cstdint>

namespace slimpack {

/// A slice as a trainer's compute callback sees it.
struct piece {
  slimpack::slice slice;
  tokens sequence_length;  ///< of the whole sequence, known from its first slice on
  std::uint32_t chunk{};   ///< virtual stage
  double loss_weight{};    ///< valid tokens of the piece over valid tokens of the batch

  [[nodiscard]] constexpr bool is_last() const noexcept { return slice.end() == sequence_length; }
};

}  // namespace slimpack

#endif
