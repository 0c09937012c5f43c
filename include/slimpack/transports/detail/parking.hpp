#ifndef SLIMPACK_TRANSPORTS_DETAIL_PARKING_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_PARKING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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
