#ifndef SLIMPACK_SOLVERS_HOOKS_HPP
#define SLIMPACK_SOLVERS_HOOKS_HPP

#include <slimpack/detail/has_member.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// How the library asks a solver. solve must be there (concepts.hpp); each other question has a default, and a member
/// of the same meaning replaces it:
///
///   member a solver may offer               what it says                                              default
///   std::size_t threads, or threads() const threads that it plans on, 0 for one per core; the planner 1
///                                           prices and simulates replicas on as many
///   void share_by(exchange_set)             from then on replicas share sequences by these exchanges  nothing
///                                           alone, and none in an empty set; does nothing in one
///                                           that lets none share
///   bool plans_prefixes, or                 it plans samples that share beginnings (problem::parents)  false
///   plans_prefixes() const
///   void plan_flat()                        from then on it plans no such samples                      nothing
///   std::size_t efforts() const             efforts that it steps through, its own the last: the        0
///                                           planner asks it with each (problem::less), and takes the
///                                           fastest plan; 0: it is asked once
///
/// A member of one of these names that cannot be read or called so is an error of compilation, not a default. A solver
/// around another one offers all, and gives the other's answers.
namespace slimpack {

namespace detail {

SLIMPACK_DETAIL_HAS_MEMBER(threads);
SLIMPACK_DETAIL_HAS_MEMBER(share_by);
SLIMPACK_DETAIL_HAS_MEMBER(plans_prefixes);
SLIMPACK_DETAIL_HAS_MEMBER(plan_flat);
SLIMPACK_DETAIL_HAS_MEMBER(efforts);

template <class T>
concept counts_threads = std::integral<std::remove_cvref_t<T>> && !std::same_as<std::remove_cvref_t<T>, bool>;
template <class T>
concept says = std::same_as < std::remove_cvref_t<T>,
bool > ;

}  // namespace detail

/// Threads that may plan for the solver, 0 meaning one per core.
template <class Solver>
[[nodiscard]] constexpr std::size_t threads_of(const Solver& solver) {
  if constexpr (requires {
                  { solver.threads } -> detail::counts_threads;
                }) {
    return static_cast<std::size_t>(solver.threads);
  } else if constexpr (requires {
                         { solver.threads() } -> detail::counts_threads;
                       }) {
    return static_cast<std::size_t>(solver.threads());
  } else {
    static_assert(!detail::has_member_threads<Solver>,
                  "a solver's threads is a public size_t, or a public const function that gives one");
    return 1;
  }
}

/// Whether the solver plans samples that share beginnings.
template <class Solver>
[[nodiscard]] constexpr bool plans_prefixes_of(const Solver& solver) {
  if constexpr (requires {
                  { solver.plans_prefixes } -> detail::says;
                }) {
    return solver.plans_prefixes;
  } else if constexpr (requires {
                         { solver.plans_prefixes() } -> std::same_as<bool>;
                       }) {
    return solver.plans_prefixes();
  } else {
    static_assert(!detail::has_member_plans_prefixes<Solver>,
                  "a solver's plans_prefixes is a public bool, or a public const function that gives one");
    return false;
  }
}

/// Efforts that the solver steps through; 0: it is asked once.
template <class Solver>
[[nodiscard]] constexpr std::size_t efforts_of(const Solver& solver) {
  if constexpr (requires {
                  { solver.efforts() } -> std::same_as<std::size_t>;
                }) {
    return solver.efforts();
  } else {
    static_assert(!detail::has_member_efforts<Solver>,
                  "a solver's efforts is a public const function that gives a size_t");
    return 0;
  }
}

/// The solver, but that it plans no samples that share beginnings, where it can be told so.
template <class Solver>
[[nodiscard]] constexpr Solver planning_flat(Solver solver) {
  if constexpr (requires {
                  { solver.plan_flat() } -> std::same_as<void>;
                })
    solver.plan_flat();
  else
    static_assert(!detail::has_member_plan_flat<Solver>, "a solver's plan_flat() is public and gives void");
  return solver;
}

/// The solver, but that replicas share sequences by these exchanges alone, where it can be told so. One that says
/// nothing may do otherwise: who cannot do with that looks at the solution's merges.
template <class Solver>
[[nodiscard]] constexpr Solver sharing_by(Solver solver, exchange_set exchanges) {
  if constexpr (requires {
                  { solver.share_by(exchanges) } -> std::same_as<void>;
                })
    solver.share_by(exchanges);
  else
    static_assert(!detail::has_member_share_by<Solver>, "a solver's share_by(exchange_set) is public and gives void");
  return solver;
}
template <class Solver>
[[nodiscard]] constexpr Solver without_sharing(Solver solver) {
  return sharing_by(std::move(solver), exchange_set::none());
}

}  // namespace slimpack

#endif
