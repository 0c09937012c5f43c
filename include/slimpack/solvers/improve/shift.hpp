#ifndef SLIMPACK_SOLVERS_IMPROVE_SHIFT_HPP
#define SLIMPACK_SOLVERS_IMPROVE_SHIFT_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace slimpack::solvers::improve {

/// The border between a pack and the next moves, either way, more often by little than by much; instructions keep their
/// order.
/// Source    derived
struct shift {
  static constexpr std::string_view name = "shift";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.shift_weight; }

  bool operator()(window_site& at) const {
    std::vector<double>& times = at.times(2);
    if (times.size() < 2) return false;
    const double first = at.random.uniform();
    const double share = first * at.random.uniform();
    const double more = (at.random.uniform() < 0.5 ? -1 : 1) * share * std::min(times[0], times[1]);
    times[0] += more, times[1] -= more;
    return true;
  }
};

}  // namespace slimpack::solvers::improve

#endif
