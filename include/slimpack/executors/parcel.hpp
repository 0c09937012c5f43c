#ifndef SLIMPACK_EXECUTORS_PARCEL_HPP
#define SLIMPACK_EXECUTORS_PARCEL_HPP

#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace slimpack {

/// What goes round the sharers of a row in one layer: rows of one sharer's tokens, and sums that each adds to
/// (executors/sharing.hpp, rotate). Valid until the next call of rotate or launch.
struct parcel {
  std::uint32_t owner{};            ///< replica whose tokens they are
  bool is_home{};                   ///< it has been everywhere, and the owner has its sums
  std::span<const slice> tokens;    ///< of the owner, in this row, ascending
  std::span<const std::byte> rows;  ///< (tokens, as launched); empty at home
  std::span<const std::byte> sums;  ///< (tokens, as added up so far)
};

}  // namespace slimpack

#endif
