#ifndef SLIMPACK_SOLVERS_MILP_ANSWER_HPP
#define SLIMPACK_SOLVERS_MILP_ANSWER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstdint>
#include <vector>

namespace slimpack::solvers {

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
