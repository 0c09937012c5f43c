#ifndef SLIMPACK_SOLVERS_IMPROVE_TAKE_HPP
#define SLIMPACK_SOLVERS_IMPROVE_TAKE_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <string_view>

namespace slimpack::solvers::improve {

/// A pack takes a share of the next, more often a small one than a large one.
/// Source    derived
struct take {
  static constexpr std::string_view name = "take";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.take_weight; }

  bool operator()(pack_site& at) const {
    if (at.is_last()) return true;
    const double shift = at.share * at.share * at.times[at.pack + 1];
    at.times[at.pack] += shift;
    at.times[at.pack + 1] -= shift;
    return true;
  }
};

}  // namespace slimpack::solvers::improve

#endif
