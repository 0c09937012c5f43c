#ifndef SLIMPACK_SOLVERS_DETAIL_COST_QUESTIONS_HPP
#define SLIMPACK_SOLVERS_DETAIL_COST_QUESTIONS_HPP

#include <slimpack/costs/hooks.hpp>

#include <concepts>
#include <cstddef>

/// What a search asks of a cost model beside its prices, also of one behind virtual calls
/// (solvers/detail/any_policies.hpp).
namespace slimpack::detail {

/// Whether packs have times of their own, beside those of their slices.
template <class Cost>
[[nodiscard]] constexpr bool has_pack_times(const Cost& cost) noexcept {
  if constexpr (requires {
                  { cost.has_pack_times() } -> std::same_as<bool>;
                })
    return cost.has_pack_times();
  else
    return prices_packs<Cost>;
}

/// Whether what packs take depends on other packs, and how many sharers are then priced for each
/// (solvers/divide/stand_in_cost.hpp); 0 where each pack has a time of its own.
template <class Cost>
[[nodiscard]] constexpr std::size_t sharers_priced_by(const Cost& cost) noexcept {
  if constexpr (requires {
                  { cost.sharers() } -> std::same_as<std::size_t>;
                })
    return cost.sharers();
  else
    return 0;
}

}  // namespace slimpack::detail

#endif
