#ifndef SLIMPACK_EXAMPLES_TRAIN_RATE_SCHEDULE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_RATE_SCHEDULE_HPP

#include <cmath>
#include <numbers>

namespace train {

/// The learning rate of a step: a straight line up over the first tenth of the steps, then a cosine down to a tenth of
/// the peak.
/// Source    I. Loshchilov, F. Hutter, SGDR, arXiv:1608.03983, one period, with a linear warm-up
/// Requires  0 <= step < steps
[[nodiscard]] inline double rate_at(int step, int steps, double peak) {
  const int up = steps / 10;
  if (step < up) return peak * (step + 1) / (up + 1);
  const double way = static_cast<double>(step - up) / (steps - up);
  return peak * (0.55 + 0.45 * std::cos(std::numbers::pi * way));
}

}  // namespace train

#endif
