#ifndef SLIMPACK_CORE_SOUNDNESS_COMPLETED_TIMES_HPP
#define SLIMPACK_CORE_SOUNDNESS_COMPLETED_TIMES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/timings.hpp>

#include <cstddef>

namespace slimpack {

/// Whether each column of a replica is empty or has the times that its packs need, and likewise what else is told of
/// packs: where their weight gradients run, and the tokens before them.
/// Errors    invalid_input: a column that has another number of times than the packs need, or a time that is none
/// Complexity O(packs * parts)
[[nodiscard]] result<void> fits_packs(const timings& t, const partition& packs, const shape& on, std::size_t replica);

/// The times of a replica, whole: a plan that is written by hand has none, or some. Columns that are empty become 0,
/// and tokens before packs are summed up.
/// Errors    those of fits_packs            Complexity O(packs * parts + slices)
[[nodiscard]] result<timings> completed(timings t, const partition& packs, const shape& on, std::size_t replica);

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/soundness/impl/completed_times.ipp>
#endif

#endif
