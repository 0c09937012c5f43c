#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_BATCH_CHECK_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_BATCH_CHECK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>

#include <optional>
#include <span>

namespace slimpack::detail {

/// What a planner's policies can do.
struct planner_abilities {
  std::optional<int> parts;   // that the cost model prices, where it says so
  bool spreads_vocabulary{};  // it prices a spread vocabulary
  bool takes_any_cost{};      // the solver takes any cost model
};

/// Whether a batch may be planned on a shape at all.
/// Errors    invalid_input: no length, or one out of range; a degree or an amount out of range; a vocabulary spread by
///           who cannot; a cost model for another shape
/// Complexity O(sequences)
[[nodiscard]] result<void> batch_check(const shape& on, std::span<const tokens> lengths, const planner_abilities& has);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/assembly/impl/batch_check.ipp>
#endif

#endif
