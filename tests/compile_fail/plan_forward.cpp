#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#ifdef SLIMPACK_REPAIRED
#include <slimpack/solvers/forward.hpp>
#endif

#include <vector>

// Plans to evaluate, without the search for that.
// expected-diagnostic: plan_forward has its search in slimpack/solvers/forward.hpp: include it
slimpack::result<slimpack::plan> wrong(const std::vector<slimpack::tokens>& lengths) {
  slimpack::basic_planner plan_batch{{.stages = 8},
                                     slimpack::slicers::equal_cost{},
                                     slimpack::costs::quadratic{},
                                     slimpack::solvers::two_phase{},
                                     slimpack::schedules::list{},
                                     slimpack::simulators::sweep{}};
  return plan_batch.plan_forward(lengths);
}
