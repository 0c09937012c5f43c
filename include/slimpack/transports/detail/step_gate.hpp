#ifndef SLIMPACK_TRANSPORTS_DETAIL_STEP_GATE_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_STEP_GATE_HPP

#include <slimpack/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace slimpack::detail {

/// Which step the ranks of one process are in, as far as aborts go: a run of steps ends for all when one rank raises an
/// abort, and the next begins when all have left. Its phase counts 2 per run, and is odd from raise to the last leave.
/// ask, step and leave of a rank are called by its thread only.
class step_gate {
 public:
  enum class entry { open, aborted, early };  ///< early: this rank has left, others have not

  explicit step_gate(std::size_t ranks) : steps_(ranks) {}

  [[nodiscard]] entry ask(std::size_t rank) const noexcept {
    const std::uint64_t phase = phase_.load();
    return phase == steps_[rank] ? entry::open : phase > steps_[rank] ? entry::aborted : entry::early;
  }

  /// The run that a rank is in, or will be.
  [[nodiscard]] std::uint64_t step(std::size_t rank) const noexcept { return steps_[rank]; }

  /// Ends the run for all. The first reason stays. Requires   not early
  void raise(std::size_t rank, std::string_view reason) {
    const std::lock_guard lock(mutex_);
    if (phase_.load() != steps_[rank]) return;
    reason_ = reason;
    phase_.store(steps_[rank] + 1);
  }

  /// A rank of an aborted run uses nothing of it any more. The last one calls `renew` before any may enter the next.
  /// Requires   raised
  template <class Renew>
  void leave(std::size_t rank, const Renew& renew) {
    const std::lock_guard lock(mutex_);
    steps_[rank] += 2;
    if (++left_ < steps_.size()) return;
    renew();
    left_ = 0;
    phase_.store(steps_[rank]);
  }

  [[nodiscard]] error why() const {
    const std::lock_guard lock(mutex_);
    return {errc::aborted, reason_};
  }

  /// Some rank that has not left the run which `rank` has left; `rank` itself where there is none.
  [[nodiscard]] std::size_t straggler(std::size_t rank) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(steps_.begin(), steps_.end(), [&](std::uint64_t s) { return s < steps_[rank]; });
    return found == steps_.end() ? rank : static_cast<std::size_t>(found - steps_.begin());
  }

 private:
  std::atomic<std::uint64_t> phase_{0};
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> steps_;  // each written by its rank, under the mutex
  std::size_t left_{};
  std::string reason_;
};

}  // namespace slimpack::detail

#endif
