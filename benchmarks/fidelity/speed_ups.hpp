#ifndef SLIMPACK_BENCHMARKS_FIDELITY_SPEED_UPS_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_SPEED_UPS_HPP

#include "score.hpp"

#include <vector>

namespace fidelity {

/// Every two rows of the same work, as one row: how many times as long the slower of both took as the faster, as
/// predicted and as measured. Both predictions have the same prices, and so an error that they share is in no such row.
/// Complexity  O(rows^2)
[[nodiscard]] std::vector<row> speed_ups(const std::vector<row>& rows);

/// The factor that nine of ten speed-ups keep: predicted / measured is between 1 / factor and factor.
/// Source    derived: the 90 % quantile of |log(predicted / measured)|, and its exponential. A logarithm, since a ratio
///           of two times has no preferred side. A quantile and no standard deviation, since these errors have long
///           tails: pairs that share a badly predicted run are all bad
/// Requires  a row
[[nodiscard]] double kept_by_nine_of_ten(const std::vector<row>& speed_ups);

}  // namespace fidelity

#endif
