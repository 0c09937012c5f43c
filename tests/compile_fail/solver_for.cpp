#include <slimpack/planner.hpp>

// A solver that changes while it solves, so that one planner could not serve two batches.
struct learning {
  template <class Slicer, class Cost, class Schedule>
  slimpack::result<slimpack::solution> solve(const slimpack::problem&, const Slicer&, const Cost&, const Schedule&)
#ifdef SLIMPACK_REPAIRED
      const
#endif
      ;
};

// own-lines: 19
// expected-diagnostic: a solver offers result<solution> solve(const problem&, const Slicer&, const Cost&
using planner = slimpack::planner<slimpack::slicers::equal_cost, slimpack::costs::quadratic, learning>;
