#ifndef SLIMPACK_CORE_STEP_REPORT_HPP
#define SLIMPACK_CORE_STEP_REPORT_HPP

#include <slimpack/core/units.hpp>

namespace slimpack {

/// What an executor returns after the last gradient of a step and before the optimizer, which stays with the trainer.
struct step_report {
  double loss_sum{};  ///< weighted by piece::loss_weight
  tokens processed;
  seconds elapsed;
};

}  // namespace slimpack

#endif
