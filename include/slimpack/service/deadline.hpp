#ifndef SLIMPACK_SERVICE_DEADLINE_HPP
#define SLIMPACK_SERVICE_DEADLINE_HPP

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace slimpack {

/// A wall-clock limit as the stop token that a planner takes: its token asks to stop once the time is over.
///
///   slimpack::result<slimpack::plan> best = plan_batch(lengths, slimpack::deadline{50ms}.token());
///
/// The time runs from construction. How far a search comes in it differs from machine to machine, so one rank plans
/// under a deadline and the others get its plan, which is marked (plan::truncated). A deadline destroyed early stops
/// nothing. No deadline lasts longer than ten years.
/// Errors    std::system_error: no thread can be started            Complexity  one thread, asleep till the time is
///           over
class deadline {
 public:
  template <class Rep, class Period>
  explicit deadline(std::chrono::duration<Rep, Period> limit)
      : timer_([this, over = time_after(limit)](const std::stop_token& dropped) {
          std::mutex unshared;
          std::unique_lock lock(unshared);
          std::condition_variable_any sleep;
          sleep.wait_until(lock, dropped, over, [] { return false; });
          if (!dropped.stop_requested()) source_.request_stop();
        }) {}
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  using clock = std::chrono::steady_clock;

  /// No sum of the clock's time overflows.
  static clock::time_point time_after(std::chrono::duration<double> limit) {
    constexpr std::chrono::duration<double> most = std::chrono::hours{10 * 365 * 24};
    return clock::now() + std::chrono::duration_cast<clock::duration>(std::clamp(limit, -most, most));
  }

  std::stop_source source_;
  std::jthread timer_;  // last: it ends before what it uses
};

}  // namespace slimpack

#endif
