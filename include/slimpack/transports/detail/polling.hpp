#ifndef SLIMPACK_TRANSPORTS_DETAIL_POLLING_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_POLLING_HPP

#include <slimpack/core/units.hpp>

#include <chrono>
#include <thread>

namespace slimpack::detail {

/// How to poll: without a break while an answer may be on its way, then letting other ranks of a crowded machine run,
/// at last with naps of about 1 % of the time waited so far at most.
class polling {
 public:
  explicit polling(seconds time_out) noexcept : time_out_(time_out.value) {}

  /// Called after each poll without an answer. False when the time-out has passed.
  [[nodiscard]] bool again() {
    if (++polls_ == 1) begin_ = std::chrono::steady_clock::now();
    if (polls_ < polls_without_break) return true;
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin_;
    if (waited > 100 * nap)
      std::this_thread::sleep_for(nap);
    else
      std::this_thread::yield();
    return waited < time_out_;
  }

 private:
  static constexpr std::chrono::microseconds nap{100};
  static constexpr int polls_without_break = 256;

  std::chrono::duration<double> time_out_;
  std::chrono::steady_clock::time_point begin_;
  int polls_{};
};

}  // namespace slimpack::detail

#endif
