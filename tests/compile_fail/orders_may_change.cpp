#include <slimpack/planner.hpp>

// A schedule that runs weight gradients apart, and says that solvers may change its order.
struct apart {
  static constexpr bool orders_may_change = true;
#ifndef SLIMPACK_REPAIRED
  static constexpr bool splits_weight_gradients = true;
#endif
  slimpack::result<std::vector<slimpack::program>> programs(const slimpack::workload&) const;
};

// expected-diagnostic: a schedule whose orders may change runs weight gradients with those of inputs
using planner = slimpack::planner<slimpack::slicers::equal_cost, slimpack::costs::quadratic,
                                  slimpack::solvers::two_phase, apart>;
