#ifndef SLIMPACK_PROFILING_STOPWATCH_HPP
#define SLIMPACK_PROFILING_STOPWATCH_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/executors/call_time.hpp>

#include <concepts>

namespace slimpack::profiling {

namespace detail {
template <class T>
concept call_time_or_seconds = std::same_as<T, seconds> || std::same_as<T, call_time>;

template <class W>
concept tells_time = requires(W& w) {
  { w.start() } -> std::same_as<void>;
  { w.stop() } -> call_time_or_seconds;
};

/// What a stopwatch tells: seconds are of one clock, and that of the processor is not known.
[[nodiscard]] inline call_time both_clocks(seconds told) { return {told}; }
[[nodiscard]] inline call_time both_clocks(const call_time& told) { return told; }
}  // namespace detail

/// Times one call: start() before it, stop() after it. Where the call only issues work, as on a stream, start records
/// an event, and stop records another, waits for it, and tells the time between the two. A stopwatch of the host may
/// tell both clocks (executors/call_time.hpp).
/// Shipped   host_stopwatch
template <class W>
concept stopwatch = detail::tells_time<W> || slimpack::detail::unmet<
    "a stopwatch offers void start() and seconds stop(): the time of the device between two events, or of the host; or "
    "call_time stop(), which tells both clocks of the host">();

/// Both clocks of the calling thread.
using host_stopwatch = call_watch;

}  // namespace slimpack::profiling

#endif
