#ifndef SLIMPACK_EXECUTORS_CALL_TIME_HPP
#define SLIMPACK_EXECUTORS_CALL_TIME_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/detail/has_member.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <type_traits>

#if defined(__linux__)
#include <sys/resource.h>

#include <ctime>
#endif

namespace slimpack {

/// What a call took, by two clocks of the host. Beside other work on the machine the first runs on while the call
/// stands still, and the second does not.
struct call_time {
  seconds clock;        ///< from its begin to its end
  seconds processor{};  ///< for how much of that its thread had a processor; 0 where that is not known, or the call
                        ///< waited for something else than a processor
  friend bool operator==(const call_time&, const call_time&) = default;
};

/// Times calls on the thread that makes them: start() before a call, stop() after it.
///
/// A call waits where it gives its processor away: for a message, a lock, another thread. Then its processor's time is
/// less than what it takes on an idle machine, too, and is not told. It is seen by the thread's voluntary context
/// switches (getrusage, ru_nvcsw), once they may have taken a hundredth of the call; a thread that others push off its
/// processor has involuntary ones. A wait that spins has a processor, and counts in both clocks.
/// Source    derived. POSIX clock_gettime(CLOCK_THREAD_CPUTIME_ID) and Linux getrusage(RUSAGE_THREAD), which take about
///           1 us; elsewhere only the clock is known
class call_watch {
 public:
  call_watch() = default;
  /// waits: whether the calls wait, where that is known; else it is seen
  explicit call_watch(std::optional<bool> waits) : waits_(waits) {}

  void start() {
    switches_ = switches();
    processor_ = processor();
    begin_ = clock::now();
  }
  [[nodiscard]] call_time stop() const {
    const seconds took{std::chrono::duration<double>(clock::now() - begin_).count()};
    const seconds had = processor() - processor_;
    const bool waited = waits_.value_or(switches() != switches_ && took - had > took * 0.01);
    return {took, waited ? seconds{} : had};
  }

 private:
  using clock = std::chrono::steady_clock;

#if defined(__linux__) && defined(RUSAGE_THREAD)
  [[nodiscard]] static seconds processor() {
    std::timespec now{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return {};
    return {static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)};
  }
  [[nodiscard]] static long switches() {
    rusage used{};
    return getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_nvcsw : 0;
  }
#else
  [[nodiscard]] static seconds processor() { return {}; }
  [[nodiscard]] static long switches() { return 0; }
#endif

  std::optional<bool> waits_;
  clock::time_point begin_;
  seconds processor_;
  long switches_{};
};

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(waits_in_calls);
}  // namespace detail

/// What a compute says of its calls by `static constexpr bool waits_in_calls`: true where they wait, as for collectives
/// of tensor ranks, for helper threads or for a device, and false where they never do. Where it says nothing, it is
/// seen (call_watch). Of calls that wait, packflow's reports and profiles have the time on the clock alone. One that
/// wraps another (detail/has_member.hpp) waits as that does.
template <class Compute>
[[nodiscard]] consteval std::optional<bool> waits_in_calls() {
  using asked = typename detail::member_owner<Compute>::type;
  if constexpr (requires {
                  { asked::waits_in_calls } -> std::same_as<const bool&>;
                  typename std::bool_constant<asked::waits_in_calls>;
                }) {
    return asked::waits_in_calls;
  } else {
    static_assert(!detail::has_member_waits_in_calls<Compute>,
                  "a stage compute's waits_in_calls is a public static constexpr bool");
    return std::nullopt;
  }
}

}  // namespace slimpack

#endif
