#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_CHECKS_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_CHECKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/solution.hpp>

#include <optional>
#include <span>

namespace slimpack::detail {

/// What a planner's policies can do.
struct planner_abilities {
  std::optional<int> parts;   // that the cost model prices, where it says so
  bool spreads_vocabulary{};  // it prices a spread vocabulary
  bool takes_any_cost{};      // the solver takes any cost model
  bool plans_prefixes{};      // the solver plans samples that share beginnings
};

template <class Cost>
[[nodiscard]] planner_abilities abilities_of(const Cost& cost, bool takes_any_cost, bool plans_prefixes) {
  return {parts_of(cost), slimpack::spreads_vocabulary<Cost>(), takes_any_cost, plans_prefixes};
}

/// Whether a batch may be planned on a shape at all.
/// Errors    invalid_input: no length, or one out of range; parents that are no forest's, or that the solver does not
///           plan; a degree or an amount out of range; a vocabulary spread by who cannot; a cost model for another
///           shape
/// Complexity O(sequences)
[[nodiscard]] result<void> batch_check(const shape& on, const batch_view& batch, const planner_abilities& has);

/// Whether a solver's answer can be simulated: its packs are sound (core/soundness/is_sound.hpp). What programs it has
/// is asked when tasks are made of them (task_graph::assign), since times of packs decide about others.
/// passes: those that it plans
/// Errors    invalid_input: what is wrong, with its sequence
/// Complexity O(sequences + slices + rows * sharers), and k log k of the k slices of each shared sequence
[[nodiscard]] result<void> solution_check(const solution& solved, const batch_view& batch, const shape& on,
                                          std::span<const pass> passes = both_passes);

/// The same of one group: it runs its sequences on its replicas, and the others run nothing.
[[nodiscard]] result<void> solution_check(const group_solution& group, const batch_view& batch, const shape& on);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/assembly/impl/checks.ipp>
#endif

#endif
