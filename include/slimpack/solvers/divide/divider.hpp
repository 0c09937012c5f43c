#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVIDER_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVIDER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/solution.hpp>

#include <concepts>

/// The dividers, and when to choose which:
///   searched   plans several divisions and keeps the fastest: the default, where one process plans for all replicas
///   estimated  estimates divisions in closed form: for many replicas, and where each rank plans its own
namespace slimpack::divide {

namespace detail {

struct archetype_cost {
  seconds time(const slice&, pass, int) const;
};

/// What a divider that plans is given to plan with.
struct archetype_planner {
  const archetype_cost& cost() const;
};

}  // namespace detail

/// A divider that needs no plan: the batch and the cost model are enough, so that every rank finds the same division
/// and plans its own part of it (planner.of_replica).
template <class D>
concept divides_without_plans = requires(const D& d, const division_problem& asked,
                                         const detail::archetype_cost& cost) {
  { d.divide(asked, cost) } -> std::same_as<result<division>>;
};

/// One that plans divisions, and answers with the plan of the one that it chose. divide::searched is the only one.
template <class D>
concept divides_by_plans = requires(const D& d, const division_problem& asked, detail::archetype_planner& plan,
                                    const slimpack::detail::partition_rule& start, solvers::search_budget effort) {
  { d.solve(asked, plan, start, effort) } -> std::same_as<result<solution>>;
};

/// Phase 1 of two_phase: which replica runs which sequence, and which sequences are shared.
///  1. each replica is in one unit; each sequence is in one, shared by all of its replicas or owned by any of them
///  2. units of one replica share nothing; no sequence is shared by more replicas than its sharers_range says
///  3. equal questions get equal divisions, on every machine
/// What does not keep 1 and 2 is refused before it is planned (divide::check).
/// `cost` answers what solvers/detail/any_policies.hpp lists, whatever the cost model is.
template <class D>
concept divider = std::copyable<D> &&
    (divides_without_plans<D> || divides_by_plans<D> ||
     slimpack::detail::unmet<
         "a divider offers result<division> divide(const division_problem&, const auto& cost) const">());

}  // namespace slimpack::divide

#endif
