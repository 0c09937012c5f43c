#ifndef SLIMPACK_SOLVERS_IMPROVE_JOIN_HPP
#define SLIMPACK_SOLVERS_IMPROVE_JOIN_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <cstddef>
#include <string_view>

namespace slimpack::solvers::improve {

/// A pack and the next become one. The last has none after it: then the pass is but cut anew, as by the moves beside
/// this.
/// Source    derived
struct join {
  static constexpr std::string_view name = "join";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.join_weight; }

  bool operator()(pack_site& at) const {
    if (at.is_last()) return true;
    const auto pack = at.times.begin() + static_cast<std::ptrdiff_t>(at.pack);
    const double shift = pack[1];
    pack[0] += shift;
    at.times.erase(pack + 1);
    return true;
  }
};

}  // namespace slimpack::solvers::improve

#endif
