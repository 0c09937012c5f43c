// Planners by costs::quadratic that many programs of this project use, compiled once for all of them. A planner takes
// the compiler ten seconds and more: a program of many files lists its own planners like this, and each file that
// includes the list calls them without compiling them.
#ifndef SLIMPACK_EXAMPLES_PLANNERS_QUADRATIC_HPP
#define SLIMPACK_EXAMPLES_PLANNERS_QUADRATIC_HPP

#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

// Empty where they are compiled.
#ifndef SLIMPACK_COMPILED_PLANNER
#define SLIMPACK_COMPILED_PLANNER extern
#endif

namespace slimpack {

SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::two_phase,
                                                       schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::two_phase,
                                                       schedules::one_f_one_b, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::two_phase,
                                                       schedules::zero_bubble, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic,
                                                       solvers::refined<solvers::two_phase>, schedules::list,
                                                       simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::chunked,
                                                       schedules::one_f_one_b, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::uniform, costs::quadratic, solvers::two_phase,
                                                       schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::whole, costs::quadratic, solvers::two_phase,
                                                       schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::whole, costs::quadratic, solvers::megatron,
                                                       schedules::one_f_one_b, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::whole, costs::quadratic, solvers::dp_balanced,
                                                       schedules::one_f_one_b, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::whole, costs::quadratic, solvers::karmarkar_karp,
                                                       schedules::one_f_one_b, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::two_phase,
                                                       schedules::list, simulators::sweep>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::two_phase,
                                                       schedules::one_f_one_b, simulators::sweep>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic, solvers::two_phase,
                                                       schedules::zero_bubble, simulators::sweep>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<
    slicers::equal_cost, costs::quadratic, solvers::two_phase_estimated, schedules::list, simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic,
                                                       solvers::two_phase_estimated, schedules::one_f_one_b,
                                                       simulators::boost_graph>;
SLIMPACK_COMPILED_PLANNER template class basic_planner<slicers::equal_cost, costs::quadratic,
                                                       solvers::two_phase_estimated, schedules::zero_bubble,
                                                       simulators::boost_graph>;

}  // namespace slimpack

#endif
