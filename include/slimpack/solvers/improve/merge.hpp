#ifndef SLIMPACK_SOLVERS_IMPROVE_MERGE_HPP
#define SLIMPACK_SOLVERS_IMPROVE_MERGE_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace slimpack::solvers::improve {

/// Several packs become one fewer, the others larger by as much each; instructions keep their order. Many packs are
/// smaller than they need be where the schedule could not place larger ones: in an order that stands, they can grow.
/// Source    derived
struct merge {
  static constexpr std::string_view name = "merge";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.merge_weight; }

  bool operator()(window_site& at) const {
    std::vector<double>& times = at.times(2 + at.random.below(at.options.tuning.merged_packs - std::size_t{1}));
    if (times.size() < 2) return false;
    double total = 0;
    for (const double t : times) total += t;
    times.erase(at.direction == pass::forward ? times.end() - 1 : times.begin());
    double kept = 0;
    for (const double t : times) kept += t;
    if (!(kept > 0)) return false;
    for (double& t : times) t *= total / kept;
    return true;
  }
};

}  // namespace slimpack::solvers::improve

#endif
