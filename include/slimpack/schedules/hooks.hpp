#ifndef SLIMPACK_SCHEDULES_HOOKS_HPP
#define SLIMPACK_SCHEDULES_HOOKS_HPP

#include <slimpack/detail/has_member.hpp>

#include <concepts>

/// How the library asks a schedule. programs must be there (concepts.hpp); each other question has a default, and a
/// member of the same meaning replaces it:
///
///   member a schedule may offer                       what it says                                       default
///   static constexpr bool splits_weight_gradients     its programs may run weight gradients apart        false
///                                                     (pricing/workload.hpp)
///   static constexpr bool orders_may_change, or       solvers may go on from its order                   false
///   bool orders_may_change() const                    (pricing/workload.hpp)
///   Schedule longer() const                           itself at more effort, which long searches take    itself
///   result<timed_programs> timed(const workload&)     its programs and their makespan, to the bit        the simulator's
///     const                                           (schedules/timed.hpp)
///
/// A member of one of these names that cannot be read or called so is an error of compilation, not a default.
namespace slimpack {

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(longer);
}  // namespace detail

/// The schedule that a long search asks. A schedule that derives from another has a longer one only of its own.
template <class Schedule>
[[nodiscard]] constexpr Schedule longer_of(const Schedule& schedule) {
  if constexpr (requires { { schedule.longer() } -> std::same_as<Schedule>; }) {
    return schedule.longer();
  } else if constexpr (requires { requires std::derived_from<Schedule, decltype(schedule.longer())>; }) {
    return schedule;  // longer() of the schedule that this one derives from would lose what this one adds
  } else {
    static_assert(!detail::has_member_longer<Schedule>,
                  "a schedule's longer() is public, const and gives a schedule of its own type");
    return schedule;
  }
}

}  // namespace slimpack

#endif
