#ifndef SLIMPACK_SOLVERS_MILP_ANSWER_HPP
#define SLIMPACK_SOLVERS_MILP_ANSWER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <vector>

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

/// A plan with how far it may be from the best, as solvers::milp proves it. Gradient reduction, the same for every
/// plan, is left out of both times.
struct milp_answer {
  solution best;
  seconds start;         ///< makespan of the plan that the search began with
  seconds makespan;      ///< of the slowest replica of `best`, as simulated
  seconds bound;         ///< no plan of the kind that the schedule makes is faster: see solvers::milp
  bool proven{};         ///< the makespan is within milp_limits::gap of the bound
  std::int64_t nodes{};  ///< of all branch-and-bound trees
};

/// Which replicas run which sequences, with how far it may be from the best, as solvers::milp proves it.
struct milp_assignment {
  std::vector<std::vector<std::uint32_t>> replicas;  ///< of each sequence, ascending; several share it in equal parts
  seconds load;          ///< forward and backward of the most loaded replica, on the busiest part
  seconds bound;         ///< no assignment with the same sequences shared or whole has less
  std::int64_t nodes{};  ///< of the branch-and-bound tree
};

}  // namespace slimpack::solvers

#endif
