#ifndef SLIMPACK_SOLVERS_PACKED_FORWARD_HPP
#define SLIMPACK_SOLVERS_PACKED_FORWARD_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/detail/interleaved_order.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// A baseline that evaluates: the forward packs of its steps, which all stages run in its order (with virtual stages,
/// in groups of as many packs as there are stages). What basic_planner::plan_forward asks in place of forward_search:
///
///   const auto usual = slimpack::baselines::megatron(on);
///   slimpack::planner plan_batch{on, usual.slicer, cost, usual.solver, usual.schedule};
///   slimpack::plan evaluation = plan_batch.plan_forward<slimpack::solvers::packed_forward>(lengths).value();
///
/// Bounds are those of forward_search, which hold for all plans of forward packs that share no sequence.
/// Source    derived: the baselines' papers train. Packs that a step balances by the work of both passes stay as they
///           are
struct packed_forward : forward_search {
  /// Requires  a baseline that offers `packed`: all but those of context_parallel, whose replicas share sequences
  /// Errors    those of the baseline's packs (slimpipe: invalid_input where it ties stages); those of
  ///           evaluation_rates_of
  /// Complexity that of the baseline's packs, and O(slices * parts)
  template <class Slicer, class Cost, class Solver>
  [[nodiscard]] static result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                              std::size_t /*threads*/, const Solver& solver) {
    const result<std::vector<memory_rates>> rates = evaluation_rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    if constexpr (requires { solver.can_evaluate(); })
      if (result<void> fine = solver.can_evaluate(); !fine) return std::move(fine).error();
    result<solution> made = packed(solver, batch, slicer, cost);
    if (!made) return made;
    const std::span<const sequence_id> parents =
        made.value().cut ? std::span<const sequence_id>(made.value().cut->parents) : batch.parents;
    for (replica_solution& r : made.value().replicas) {
      r.partition.backward = {};
      r.programs = detail::forward_programs(
          price(r.partition, cost, batch.shape, rates.value(), weight_gradients::with_inputs, {}, parents));
    }
    return made;
  }

  /// It is the baseline that packs.
  template <class Solver>
  [[nodiscard]] static constexpr const Solver& options_of(const Solver& solver) noexcept {
    return solver;
  }

 private:
  /// The packs of a baseline. One that cuts paths answers with a solution, which says where.
  template <class Slicer, class Cost, class Solver>
  [[nodiscard]] static result<solution> packed(const Solver& solver, const problem& batch, const Slicer& slicer,
                                               const Cost& cost) {
    auto made = solver.packed(batch, slicer, cost);
    if (!made) return std::move(made).error();
    if constexpr (std::same_as<decltype(made), result<solution>>)
      return made;
    else
      return solution{std::move(made).value()};
  }
};

}  // namespace slimpack::solvers

#endif
