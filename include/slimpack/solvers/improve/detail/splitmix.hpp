#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_SPLITMIX_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_SPLITMIX_HPP

#include <cstddef>
#include <cstdint>

namespace slimpack::detail {

/// Random numbers that are the same everywhere, for searches whose answers must be.
/// Source    splitmix64 (G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators, 2014)
class splitmix {
 public:
  /// In [0, 1).
  double uniform() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

  /// Below n.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

 private:
  std::uint64_t state_{1};
};

}  // namespace slimpack::detail

#endif
