#ifndef SLIMPACK_SOLVERS_MILP_ASSIGNMENT_HPP
#define SLIMPACK_SOLVERS_MILP_ASSIGNMENT_HPP

#include <slimpack/core/units.hpp>

#include <cstdint>
#include <vector>

namespace slimpack::solvers {

/// Which replicas run which sequences, with how far it may be from the best, as solvers::milp proves it.
struct milp_assignment {
  std::vector<std::vector<std::uint32_t>> replicas;  ///< of each sequence, ascending; several share it in equal parts
  seconds load;          ///< forward and backward of the most loaded replica, on the busiest part
  seconds bound;         ///< no assignment with the same sequences shared or whole has less
  std::int64_t nodes{};  ///< of the branch-and-bound tree
};

}  // namespace slimpack::solvers

#endif
