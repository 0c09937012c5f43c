#ifndef SLIMPACK_PROFILING_STOPWATCH_HPP
#define SLIMPACK_PROFILING_STOPWATCH_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/detail/unmet.hpp>

#include <chrono>
#include <concepts>

namespace slimpack::profiling {

namespace detail {
template <class W>
concept tells_time = requires(W& w) {
  { w.start() } -> std::same_as<void>;
  { w.stop() } -> std::same_as<seconds>;
};
}  // namespace detail

/// Times one call: start() before it, stop() after it. Where the call only issues work, as on a stream, start records
/// an event, and stop records another, waits for it, and tells the time between the two.
/// Shipped   host_stopwatch
template <class W>
concept stopwatch = detail::tells_time<W> || slimpack::detail::unmet<
    "a stopwatch offers void start() and seconds stop(): the time of the device between two events, or of the host">();

/// Wall-clock time of the calling thread's host.
class host_stopwatch {
 public:
  void start() { begin_ = std::chrono::steady_clock::now(); }
  [[nodiscard]] seconds stop() {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()};
  }

 private:
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace slimpack::profiling

#endif
