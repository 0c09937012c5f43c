#ifndef SLIMPACK_SCHEDULES_TIMED_HPP
#define SLIMPACK_SCHEDULES_TIMED_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/simulators/graph/makespan.hpp>

#include <concepts>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {
SLIMPACK_DETAIL_HAS_MEMBER(timed);

template <class S>
concept tells_makespan = requires(const S& s, const workload& work) {
  { s.timed(work) } -> std::same_as<result<timed_programs>>;
};

/// Whether the laws of a schedule that tells its makespan are tested, so that a search need not look at each answer:
/// that of the shipped ones, but not of a schedule that inherits from one.
template <class S>
concept needs_no_check = requires {
  requires std::same_as<typename S::with_tested_laws, S>;
};

/// The makespan of a schedule's answer, if its programs can be run.
[[nodiscard]] inline result<seconds> makespan_of_answer(const workload& work, const std::vector<program>& programs) {
  result<seconds> makespan = simulators::makespan(settled(work, programs), programs);
  if (!makespan) return error{makespan.error().code, "the schedule's answer is wrong: " + makespan.error().detail};
  return makespan;
}

/// An answer with a makespan, if that is what its programs take.
[[nodiscard]] inline result<timed_programs> checked(result<timed_programs> told, const workload& work) {
  if (!told) return told;
  const result<seconds> due = makespan_of_answer(work, told.value().programs);
  if (!due) return due.error();
  const seconds given = told.value().makespan, rounding = due.value() * 1e-9;
  if (!(given >= due.value() - rounding && given <= due.value() + rounding)) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "it tells a makespan of %g s, its programs take %g s", given.value,
                  due.value().value);
    return error{errc::invalid_input, "the schedule's answer is wrong: " + std::string(numbers) + " (schedule law 4)"};
  }
  return told;
}
}  // namespace slimpack::detail

namespace slimpack::schedules {

/// A schedule's programs and their makespan: how candidates are scored. A schedule that knows the makespan of what it
/// decides offers `result<timed_programs> timed(const workload&) const`; of others the simulator tells it.
/// Law       the makespan is the task graph's, to the bit (testing/schedule_laws.hpp)
/// Errors    those of the schedule; of its programs, those of simulators::makespan; invalid_input: they take another
///           time than it tells
/// Complexity that of the schedule, plus O(instructions) for the simulator, which need not be asked of shipped
/// schedules that tell
///           their makespan
template <schedule_for Schedule>
[[nodiscard]] result<timed_programs> timed(const Schedule& schedule, const workload& work) {
  if constexpr (slimpack::detail::tells_makespan<Schedule>) {
    if constexpr (slimpack::detail::needs_no_check<Schedule>)
      return schedule.timed(work);
    else
      return slimpack::detail::checked(schedule.timed(work), work);
  } else {
    static_assert(!slimpack::detail::has_member_timed<Schedule>,
                  "a schedule's timed(const workload&) is public, const and gives result<timed_programs>");
    result<std::vector<program>> programs = schedule.programs(work);
    if (!programs) return std::move(programs).error();
    const result<seconds> makespan = slimpack::detail::makespan_of_answer(work, programs.value());
    if (!makespan) return makespan.error();
    return timed_programs{std::move(programs).value(), makespan.value()};
  }
}

}  // namespace slimpack::schedules

#endif
