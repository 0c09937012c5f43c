#ifndef SLIMPACK_SOLVERS_MILP_LIMITS_HPP
#define SLIMPACK_SOLVERS_MILP_LIMITS_HPP

#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>

namespace slimpack::solvers {

/// How far solvers::milp goes. All but `time` are counts, so that answers do not depend on the machine's speed.
struct milp_limits {
  double gap{0.01};               ///< a search ends when its best is proven this close, relatively
  std::int64_t nodes{20'000};     ///< of a branch-and-bound tree
  std::size_t atoms{8};           ///< slices of a quantum in a replica; beyond, its packs are not searched
  std::size_t sequences{512};     ///< of a batch; beyond, the assignment to replicas is not searched
  std::optional<seconds> time{};  ///< of a search; CBC overruns it by seconds, and answers then vary

  friend constexpr bool operator==(const milp_limits&, const milp_limits&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const milp_limits& l) {
    out << "{.gap = " << l.gap << ", .nodes = " << l.nodes << ", .atoms = " << l.atoms
        << ", .sequences = " << l.sequences;
    if (l.time) out << ", .time = {" << l.time->value << "}";
    return out << "}";
  }
};

}  // namespace slimpack::solvers

#endif
