// Planners of real models that many programs of this project use, compiled once for all of them. A planner takes the
// compiler ten seconds and more: a program of many files lists its own planners like this, and each file that includes
// the list calls them without compiling them.
#ifndef SLIMPACK_EXAMPLES_PLANNERS_MODELS_HPP
#define SLIMPACK_EXAMPLES_PLANNERS_MODELS_HPP

#include <slimpack/costs/profiled.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

// Empty where they are compiled.
#ifndef SLIMPACK_COMPILED_PLANNER
#define SLIMPACK_COMPILED_PLANNER extern
#endif

namespace slimpack {

SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::transformer, solvers::two_phase,
                                                       schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::transformer, solvers::two_phase,
                                                       schedules::one_f_one_b, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::transformer, solvers::two_phase,
                                                       schedules::zero_bubble, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::profiled, solvers::two_phase,
                                                       schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::profiled, solvers::two_phase,
                                                       schedules::zero_bubble, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<
    slicers::equal_cost, costs::transformer, solvers::two_phase_estimated, schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::transformer,
                                                       solvers::two_phase_estimated, schedules::zero_bubble,
                                                       simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<
    slicers::equal_cost, costs::profiled, solvers::two_phase_estimated, schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::profiled,
                                                       solvers::two_phase_estimated, schedules::zero_bubble,
                                                       simulators::boost_graph>;

}  // namespace slimpack

#endif
