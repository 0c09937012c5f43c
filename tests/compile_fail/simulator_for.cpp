#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>

// A planner whose simulator has been left out: basic_planner.hpp has no default for it.
#ifdef SLIMPACK_REPAIRED
const slimpack::basic_planner plan_batch{{.stages = 2}, {}, {}, {}, {}, slimpack::simulators::sweep{}};
#else
using planner = slimpack::basic_planner<>;
#endif

// own-lines: 17
// expected-diagnostic: a simulator offers a constant name, result<vector<seconds>> starts(const task_graph&) const
