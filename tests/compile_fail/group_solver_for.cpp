#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <vector>

#ifdef SLIMPACK_REPAIRED
using solver = slimpack::solvers::two_phase_estimated;
#else
using solver = slimpack::solvers::two_phase;  // it divides by planning all replicas
#endif

inline auto one_replica(const std::vector<slimpack::tokens>& lengths) {
  const slimpack::basic_planner plan_batch{slimpack::shape{.stages = 8, .replicas = 4},
                                           slimpack::slicers::equal_cost{},
                                           slimpack::costs::quadratic{},
                                           solver{},
                                           slimpack::schedules::list{},
                                           slimpack::simulators::sweep{}};
  // own-lines: 20
  // expected-diagnostic: a solver that plans one group alone offers result<group_solution> solve_group
  return plan_batch.of_replica(lengths, 2);
}
