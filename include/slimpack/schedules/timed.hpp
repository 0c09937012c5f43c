#ifndef SLIMPACK_SCHEDULES_TIMED_HPP
#define SLIMPACK_SCHEDULES_TIMED_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/timed_programs.hpp>
#include <slimpack/simulators/graph/makespan.hpp>

#include <concepts>
#include <utility>
#include <vector>

namespace slimpack::detail {
SLIMPACK_DETAIL_HAS_MEMBER(timed);

template <class S>
concept tells_makespan = requires(const S& s, const workload& work) {
  { s.timed(work) } -> std::same_as<result<timed_programs>>;
};
}  // namespace slimpack::detail

namespace slimpack::schedules {

/// A schedule's programs and their makespan: how candidates are scored. A schedule that knows the makespan of what it
/// decides offers `result<timed_programs> timed(const workload&) const`; of others the simulator tells it.
/// Law       the makespan is the task graph's, to the bit (testing/schedule_laws.hpp)
/// Errors    those of the schedule, and of the simulator where it must be asked
/// Complexity that of the schedule, plus O(instructions) where the simulator must be asked
template <schedule_for Schedule>
[[nodiscard]] result<timed_programs> timed(const Schedule& schedule, const workload& work) {
  if constexpr (slimpack::detail::tells_makespan<Schedule>) {
    return schedule.timed(work);
  } else {
    static_assert(!slimpack::detail::has_member_timed<Schedule>,
                  "a schedule's timed(const workload&) is public, const and gives result<timed_programs>");
    result<std::vector<program>> programs = schedule.programs(work);
    if (!programs) return std::move(programs).error();
    const result<seconds> makespan = simulators::makespan(settled(work, programs.value()), programs.value());
    if (!makespan) return makespan.error();
    return timed_programs{std::move(programs).value(), makespan.value()};
  }
}

}  // namespace slimpack::schedules

#endif
