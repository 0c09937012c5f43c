#ifndef SLIMPACK_TRANSPORTS_DETAIL_PARKING_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_PARKING_HPP

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace slimpack::detail {

/// Tells the core that this thread only waits for memory to change.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// How long a thread waits, and how.
struct patience {
  using clock = std::chrono::steady_clock;
  clock::duration time_out{};
  clock::duration spin{};  ///< before it sleeps
  bool crowded{};          ///< more threads than cores: while spinning, let others run

  /// A year stands for any longer time, infinity too.
  [[nodiscard]] static clock::duration from(seconds s) {
    constexpr double year = 365 * 86400.0;
    return std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(std::min(std::max(s.value, 0.0), year)));
  }
};

/// Where one thread waits until others have done something: it spins for a short while, then sleeps.
/// What `ready` reads must be written, and read, in sequential consistency before `wake` (no wake is lost, since either
/// the waker sees `asleep_` or the waiter, who reads after setting it, sees what the waker wrote).
class parking {
 public:
  /// False when time ran out first.
  template <class Ready>
  [[nodiscard]] bool wait_until(const Ready& ready, const patience& p) {
    for (int i = 0; i < looks; ++i, relax())
      if (ready()) return true;
    const patience::clock::time_point begin = patience::clock::now();
    do {
      for (int i = 0; i < looks; ++i) {
        if (ready()) return true;
        if (!p.crowded) {
          relax();
          continue;
        }
        std::this_thread::yield();
        break;  // a turn of the others may take long: look at the clock
      }
    } while (patience::clock::now() - begin < p.spin);
    std::unique_lock lock(mutex_);
    asleep_.store(true);
    const bool came = woken_.wait_until(lock, begin + p.time_out, ready);
    asleep_.store(false);
    return came;
  }

  void wake() {
    if (!asleep_.load()) return;
    { const std::lock_guard lock(mutex_); }  // the waiter either sleeps by now, or looks again before it does
    woken_.notify_one();
  }

 private:
  static constexpr int looks = 32;  // between two looks at the clock, which costs as much as they do

  std::atomic<bool> asleep_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
};

}  // namespace slimpack::detail

#endif
