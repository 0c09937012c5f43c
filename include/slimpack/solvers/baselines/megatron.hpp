#ifndef SLIMPACK_SOLVERS_BASELINES_MEGATRON_HPP
#define SLIMPACK_SOLVERS_BASELINES_MEGATRON_HPP

#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <iosfwd>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Baseline: what a Megatron-LM or NeMo recipe does today. First-fit decreasing into packs of the context length, dealt
/// to the replicas in turn; the same packs forward and backward.
/// Source    first-fit decreasing packing of NeMo and Megatron-Bridge
/// Errors    invalid_input: a sequence longer than the context; those of the schedule
/// Complexity O(n log n)
struct megatron {
  tokens context{0};  ///< tokens of a pack; 0: the batch's longest sequence

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    return detail::put_in_order(packed(batch, slicer, cost), batch.shape, cost, schedule);
  }

  /// The packs of each replica, before they are ordered.
  template <class Slicer, class Cost>
  [[nodiscard]] result<std::vector<replica_solution>> packed(const problem& batch, const Slicer& /*never cuts*/,
                                                             const Cost& /*packs by length*/) const {
    const result<tokens> limit = detail::pack_limit(batch, context);
    if (!limit) return limit.error();
    std::vector<detail::sequence_bin> packs = detail::first_fit_decreasing(sequences_of(batch.lengths), limit.value());
    return detail::symmetric(detail::dealt(std::move(packs), batch.shape.replicas));
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  friend constexpr bool operator==(const megatron&, const megatron&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const megatron& s) {
    return out << "solvers::megatron{.context = {" << s.context.value << "}}";
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// What a Megatron-LM or NeMo recipe does: whole sequences in packs of the context, under 1F1B.
/// context: tokens of a pack; 0: the batch's longest sequence
[[nodiscard]] constexpr auto megatron(const shape& on, tokens context = {}) {
  return recipe<slicers::whole, solvers::megatron, schedules::one_f_one_b>{{}, {context}, classic(on)};
}

}  // namespace slimpack::baselines

#endif
