#ifndef SLIMPACK_PROFILING_FIT_HPP
#define SLIMPACK_PROFILING_FIT_HPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/pack_sums.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::profiling {

/// A profile of what was seen: rates by least squares of relative errors, none negative, with their spread; slices with
/// the rest of their packs' times, by shares that the rates say; and how far that is off kinds of packs left out.
/// Packs and slices get what is expected of the rates that measurements allow, which noise does not make 0.
/// Source    derived (profiling/detail/rate_fit.hpp). Relative errors, since a planner balances small packs against
///           large ones
/// Law       equal observations in equal order give equal bits, on processors of one kind
/// Shapes    parts: of the model
/// Errors    invalid_input: a part without packs of a pass, a part that there is not, or a time that is none
/// Complexity O(observations log observations)
[[nodiscard]] SLIMPACK_DECL result<stage_profile> fit(std::span<const observation> all, int parts);

/// How the packs of a step took against a cost model: its drift, once the model was made of others.
struct drift {
  std::size_t packs{};
  double ratio{1};  ///< median of measured / predicted: below 1, the machine is faster now
  double error{};   ///< median of |predicted / measured - 1|
  std::vector<pack_sum> sums{};
};

/// Requires  observations of the model's parts            Complexity  O(observations log observations)
[[nodiscard]] SLIMPACK_DECL drift drift_of(const costs::profiled& cost, std::span<const observation> all);

}  // namespace slimpack::profiling

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/profiling/impl/fit.ipp>
#endif

#endif
