#ifndef SLIMPACK_EXECUTORS_DETAIL_PIECE_LIST_HPP
#define SLIMPACK_EXECUTORS_DETAIL_PIECE_LIST_HPP

#include <slimpack/core/timings.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/executors/piece.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Pieces, or packs with live tokens, of a sequence: most have no more. Lists that hold so many without allocating take
/// 0.50 to 0.55 of the time that vectors take (benchmarks/containers.cpp).
inline constexpr std::size_t few_pieces = 4;

/// The pieces of one pass, pack after pack.
struct piece_list {
  /// Pieces of one row of a shared sequence, which run together.
  struct row {
    std::uint32_t first{};
    std::uint32_t end{};
    std::uint32_t sequence{};  // position in shared_sequences::all()
    std::uint32_t number{};    // of the row
  };

  std::vector<piece> pieces;
  std::vector<std::uint32_t> ends;  // per pack
  std::vector<tokens> size;         // per pack
  apart_packs apart;                // of backward packs
  std::vector<row> rows;            // by first piece; a pack's rows are its first pieces
  std::vector<std::int64_t> held;   // per piece: this replica's tokens of its sequence up to the piece's end

  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> range(std::uint32_t pack) const {
    return {pack == 0 ? 0 : ends[pack - 1], ends[pack]};
  }
};

}  // namespace slimpack::detail

#endif
