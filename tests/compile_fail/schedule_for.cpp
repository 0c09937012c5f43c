#include <slimpack/planner.hpp>

// A schedule that cannot say that the packs do not fit.
struct always_fits {
#ifdef SLIMPACK_REPAIRED
  slimpack::result<std::vector<slimpack::program>> programs(const slimpack::workload&) const;
#else
  std::vector<slimpack::program> programs(const slimpack::workload&) const;
#endif
};

// own-lines: 21
// expected-diagnostic: a schedule offers result<vector<program>> programs(const workload&) const
using planner = slimpack::planner<slimpack::slicers::equal_cost, slimpack::costs::quadratic,
                                  slimpack::solvers::two_phase, always_fits>;
