#ifndef SLIMPACK_SOLVERS_DIVIDE_PLACE_GROUPS_HPP
#define SLIMPACK_SOLVERS_DIVIDE_PLACE_GROUPS_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::detail {

/// Gives a division's groups the replicas between which they exchange the fastest: those of one node, if the cost model
/// prices its links so. Each in turn takes that run of free replicas, in rank order, between which a row of its first
/// shared sequence costs least on `part`, the first run of equal ones; who shares nothing takes what is left.
/// Requires  groups first            Errors  none            Complexity  O(groups * replicas) exchanges priced
template <class Cost>
void place_groups(division& units, const Cost& cost, tokens quantum, int part, const exchange_set& exchanges = {}) {
  std::vector<std::uint32_t> free;
  for (const planning_unit& u : units) free.insert(free.end(), u.replicas.begin(), u.replicas.end());
  std::sort(free.begin(), free.end());
  for (planning_unit& u : units) {
    const std::size_t sharers = u.replicas.size();
    std::size_t best = 0;
    if (!u.shared.empty()) {
      const sequence& s = u.shared.front();
      const sharer_slices mine = slices_of_sharer(s.whole(), 0, static_cast<std::int64_t>(sharers), quantum);
      const exchange how = exchanges.best(1);
      const auto price = [&](std::size_t first) {
        seconds sum{};
        for (const pass p : both_passes)
          sum += exchange_time(cost, likely_row(s.whole(), p, mine, std::span(free).subspan(first, sharers), how), mine,
                               p, part);
        return sum;
      };
      seconds least = price(0);
      for (std::size_t first = 1; first + sharers <= free.size() && least > seconds{}; ++first)
        if (const seconds found = price(first); found < least) least = found, best = first;
    }
    const auto begin = free.begin() + static_cast<std::ptrdiff_t>(best);
    u.replicas.assign(begin, begin + static_cast<std::ptrdiff_t>(sharers));
    free.erase(begin, begin + static_cast<std::ptrdiff_t>(sharers));
  }
}

}  // namespace slimpack::detail

#endif
