#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_MEMORY_RUNGS_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_MEMORY_RUNGS_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/shape.hpp>

#include <algorithm>
#include <optional>
#include <span>

namespace slimpack::detail {

/// A ladder of memory limits that does not depend on the limit that is asked for: within a larger limit lie all rungs
/// that lie within a smaller one.
/// Formula   fixed + u (9/8)^j, j = 0, 1, ...: `fixed` is the most that a stage holds besides sequences, u the most
///           that a quantum takes. Derived; by products alone, since libraries differ in powers
class memory_rungs {
 public:
  /// Shapes    rates: one per stage, at least one            Units  those of the limit
  memory_rungs(const shape& on, std::span<const memory_rates> rates) {
    for (const memory_rates& r : rates) {
      fixed_ = std::max(fixed_, r.fixed);
      quantum_ = std::max(quantum_, (r.live_token + r.gradient_token) * static_cast<double>(on.quantum.value));
    }
  }

  /// The highest rung that is below a limit; none where no rung is.            Complexity  O(rungs)
  [[nodiscard]] std::optional<double> below(double limit) const {
    std::optional<double> found;
    if (!(quantum_ > 0)) return found;
    for (double room = quantum_; fixed_ + room < limit; room *= 1.125) found = fixed_ + room;
    return found;
  }

 private:
  double fixed_{};
  double quantum_{};
};

}  // namespace slimpack::detail

#endif
