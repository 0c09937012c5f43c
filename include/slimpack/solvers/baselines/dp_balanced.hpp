#ifndef SLIMPACK_SOLVERS_BASELINES_DP_BALANCED_HPP
#define SLIMPACK_SOLVERS_BASELINES_DP_BALANCED_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/put_in_order.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <iosfwd>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Baseline: Megatron-LM's dp_balanced packing. Next-fit in arrival order into packs of the context length; then the
/// fullest packs of several sequences are halved until every replica gets the same number (a multiple of the chunks
/// too).
/// Source    Megatron-LM's sequence packing option of that name (next-fit, count forced to a multiple of replicas);
///           how it reaches the multiple is ours
/// Errors    invalid_input: a sequence longer than the context; those of the schedule
/// Complexity O(n + packs * replicas * chunks)
struct dp_balanced {
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
    std::vector<detail::sequence_bin> packs = next_fit(batch, limit.value());
    const auto multiple = static_cast<std::size_t>(batch.shape.replicas) * static_cast<std::size_t>(batch.shape.chunks);
    while (packs.size() % multiple != 0 && halve_fullest(packs)) {
    }
    return detail::symmetric(detail::dealt(std::move(packs), batch.shape.replicas));
  }

  constexpr void share_by(exchange_set) noexcept {}  // it lets none share

  friend constexpr bool operator==(const dp_balanced&, const dp_balanced&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const dp_balanced& s) {
    return out << "solvers::dp_balanced{.context = {" << s.context.value << "}}";
  }

 private:
  static std::vector<detail::sequence_bin> next_fit(const problem& batch, tokens limit) {
    std::vector<detail::sequence_bin> packs(1);
    tokens held{};
    for (const sequence& s : batch.batch().sequences()) {
      if (held + s.length > limit) packs.emplace_back(), held = {};
      packs.back().push_back(s);
      held += s.length;
    }
    return packs;
  }

  /// False when every pack holds a single sequence.
  static bool halve_fullest(std::vector<detail::sequence_bin>& packs) {
    auto fullest = packs.end();
    tokens most{};
    for (auto p = packs.begin(); p != packs.end(); ++p) {
      const tokens size = detail::size_of(*p);
      if (p->size() > 1 && size > most) most = size, fullest = p;
    }
    if (fullest == packs.end()) return false;
    tokens kept{};
    std::size_t keep = 0;
    while (keep + 1 < fullest->size() && (keep == 0 || 2 * kept.value < most.value)) kept += (*fullest)[keep++].length;
    detail::sequence_bin rest(fullest->begin() + static_cast<std::ptrdiff_t>(keep), fullest->end());
    fullest->resize(keep);
    packs.insert(fullest + 1, std::move(rest));
    return true;
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// Whole sequences in packs of the context, as many for each replica, under 1F1B.
/// context: tokens of a pack; 0: the batch's longest sequence
[[nodiscard]] constexpr auto dp_balanced(const shape& on, tokens context = {}) {
  return recipe<slicers::whole, solvers::dp_balanced, schedules::one_f_one_b>{{}, {context}, classic(on)};
}

}  // namespace slimpack::baselines

#endif
