#include <slimpack/concepts.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/service/plan_cache.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

// What each concept takes and refuses, decided at compile time: this file proves its claims by compiling.

namespace slimpack::concepts_test {
namespace {

// slicer

static_assert(slicer<slicers::uniform>);
static_assert(slicer<slicers::equal_cost>);
static_assert(slicer<slicers::whole>);

struct any_slicer {
  template <class Cost>
  slice next(const sequence&, tokens, pass, const cut_budget&, const Cost&) const;
};
static_assert(slicer<any_slicer>);

struct slicer_that_changes {
  template <class Cost>
  slice next(const sequence&, tokens, pass, const cut_budget&, const Cost&);
};
static_assert(!slicer<slicer_that_changes>);

struct slicer_of_one_cost {
  slice next(const sequence&, tokens, pass, const cut_budget&, const costs::quadratic&) const;
};
static_assert(!slicer<slicer_of_one_cost>);

struct slicer_of_lengths {
  template <class Cost>
  tokens next(const sequence&, tokens, pass, const cut_budget&, const Cost&) const;
};
static_assert(!slicer<slicer_of_lengths>);

struct slicer_that_cannot_be_copied : any_slicer {
  std::unique_ptr<int> cache;
};
static_assert(!slicer<slicer_that_cannot_be_copied>);
static_assert(!slicer<costs::quadratic>);

// cost_model

static_assert(cost_model<costs::quadratic>);
static_assert(cost_model<costs::transformer>);

struct any_cost {
  seconds time(const slice&, pass, int) const;
};
static_assert(cost_model<any_cost>);

struct cost_without_a_unit {
  double time(const slice&, pass, int) const;
};
static_assert(!cost_model<cost_without_a_unit>);

struct cost_of_one_part {
  seconds time(const slice&, pass) const;
};
static_assert(!cost_model<cost_of_one_part>);

struct cost_that_learns {
  seconds time(const slice&, pass, int);
};
static_assert(!cost_model<cost_that_learns>);
static_assert(!cost_model<slicers::uniform>);

// simulator_for

static_assert(simulator_for<simulators::sweep>);
struct simulator_without_tails {
  static constexpr std::string_view name = "none";
  result<std::vector<seconds>> starts(const simulators::task_graph&) const;
};
static_assert(!simulator_for<simulator_without_tails>);
struct simulator_without_name {
  result<std::vector<seconds>> starts(const simulators::task_graph&) const;
  result<std::vector<seconds>> tails(const simulators::task_graph&) const;
};
static_assert(!simulator_for<simulator_without_name>);
static_assert(!simulator_for<detail::no_simulator>);

// schedule_for

static_assert(schedule_for<schedules::one_f_one_b>);
static_assert(schedule_for<schedules::list>);

struct any_schedule {
  result<std::vector<program>> programs(const workload&) const;
};
static_assert(schedule_for<any_schedule>);

struct schedule_without_errors {
  std::vector<program> programs(const workload&) const;
};
static_assert(!schedule_for<schedule_without_errors>);

struct schedule_that_sees_the_cost {
  template <class Cost>
  result<std::vector<program>> programs(const workload&, const Cost&) const;
};
static_assert(!schedule_for<schedule_that_sees_the_cost>);

struct other_workload {};
static_assert(!schedule_for<schedules::list, other_workload>);

// solver_for

template <class Solver>
constexpr bool solves_all = solver_for<Solver, slicers::equal_cost, costs::quadratic, schedules::list>&&
    solver_for<Solver, slicers::whole, costs::transformer, schedules::one_f_one_b>;
static_assert(solves_all<solvers::two_phase>);
static_assert(solves_all<solvers::megatron>);
static_assert(solves_all<solvers::dp_balanced>);
static_assert(solves_all<solvers::karmarkar_karp>);
static_assert(solves_all<solvers::chunked>);

struct any_solver {
  template <class Slicer, class Cost, class Schedule>
  result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&) const;
};
static_assert(solves_all<any_solver>);

struct solver_of_lengths {
  template <class Slicer, class Cost, class Schedule>
  result<solution> solve(std::span<const tokens>, const Slicer&, const Cost&, const Schedule&) const;
};
static_assert(!solves_all<solver_of_lengths>);

struct solver_that_changes {
  template <class Slicer, class Cost, class Schedule>
  result<solution> solve(const problem&, const Slicer&, const Cost&, const Schedule&);
};
static_assert(!solves_all<solver_that_changes>);

// group_solver_for

template <class Solver>
constexpr bool solves_groups = group_solver_for<Solver, slicers::equal_cost, costs::quadratic, schedules::list>;
static_assert(solves_groups<solvers::two_phase_estimated>);
static_assert(solves_groups<solvers::refined<solvers::two_phase_estimated>>);
static_assert(!solves_groups<solvers::two_phase>);
static_assert(!solves_groups<solvers::refined<solvers::two_phase>>);
static_assert(!solves_groups<any_solver>);

// batch_planner

static_assert(batch_planner<result<rank_plan> (*)(std::span<const tokens>, std::stop_token)>);
static_assert(std::same_as<made_by<result<rank_plan> (*)(std::span<const tokens>, std::stop_token)>, rank_plan>);
static_assert(std::same_as<made_by<planner<>>, plan>);
static_assert(batch_planner<planner<>>);
static_assert(batch_planner<std::reference_wrapper<plan_cache<planner<>>>>);
static_assert(batch_planner<result<plan> (*)(std::span<const tokens>, std::stop_token)>);
static_assert(!batch_planner<plan (*)(std::span<const tokens>, std::stop_token)>);
static_assert(!batch_planner<result<plan> (*)(std::span<const tokens>)>);

// The parts that a solver is combined with must be what they stand for.
static_assert(!solver_for<any_solver, any_cost, any_cost, any_schedule>);
static_assert(!solver_for<any_solver, any_slicer, any_slicer, any_schedule>);
static_assert(!solver_for<any_solver, any_slicer, any_cost, any_cost>);

}  // namespace
}  // namespace slimpack::concepts_test
