#ifndef SLIMPACK_TESTS_SIMGRID_AGREEMENT_HPP
#define SLIMPACK_TESTS_SIMGRID_AGREEMENT_HPP

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <ostream>

namespace slimpack::tests {

/// How far two simulators were apart at most, as a share of the makespan.
class agreement {
 public:
  static constexpr double close = 1e-9;

  /// Compares what took `tasks` tasks in SimGrid; infinity agrees with nothing.
  void compare(seconds simgrid, seconds simulator, seconds makespan) {
    const double apart = std::abs(simgrid.value - simulator.value);
    const double share = apart == 0 ? 0 : apart / makespan.value;
    if (!(share <= largest_ || std::isnan(largest_))) largest_ = share;  // NaN is kept, and is not close
  }
  void count(std::size_t tasks) { ++runs_, tasks_ += tasks; }

  [[nodiscard]] std::size_t runs() const noexcept { return runs_; }
  [[nodiscard]] double largest() const noexcept { return largest_; }

  friend std::ostream& operator<<(std::ostream& out, const agreement& a) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - a.begin_;
    return out << a.runs_ << " runs of " << a.tasks_ << " tasks, largest relative difference " << a.largest_ << ", "
               << taken.count() << " s";
  }

 private:
  std::chrono::steady_clock::time_point begin_{std::chrono::steady_clock::now()};
  std::size_t runs_{};
  std::size_t tasks_{};
  double largest_{};
};

}  // namespace slimpack::tests

#endif
