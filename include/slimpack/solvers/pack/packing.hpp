#ifndef SLIMPACK_SOLVERS_PACK_PACKING_HPP
#define SLIMPACK_SOLVERS_PACK_PACKING_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/pack_sizes.hpp>

namespace slimpack::detail {

/// How a replica's sequences become packs, in a few numbers that serve every batch: what local_search varies.
struct packing {
  solvers::pack_sizes forward{};
  solvers::pack_sizes backward{};
  double front{0.23};    ///< share of the sequences that run before the longest, shortest first; the others after it
  double crowding{0.3};  ///< a sequence of a greater part of the room leaves others short of it at its turn
  tokens quantum;        ///< sequences are cut at its multiples

  [[nodiscard]] solvers::pack_sizes& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const solvers::pack_sizes& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
};

}  // namespace slimpack::detail

#endif
