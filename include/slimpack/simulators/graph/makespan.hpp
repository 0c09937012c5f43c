#ifndef SLIMPACK_SIMULATORS_GRAPH_MAKESPAN_HPP
#define SLIMPACK_SIMULATORS_GRAPH_MAKESPAN_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Runs the programs of one replica in simulated time: every instruction starts as soon as the one before it on its
/// stage has ended and its message has come. Returns the makespan.
/// tell(stage, const timed_instruction&): in program order on each stage            Errors    those of walk
template <class Tell>
result<seconds> run_in_time(const workload& work, std::span<const program> programs, Tell&& tell) {
  std::vector<seconds> free(programs.size());
  const shape& on = work.shape;
  const wiring wires(on);
  const messages_under_way number(wires, work);
  std::vector<seconds> arrival(number.size());
  seconds makespan{};
  result<void> walked = walk(wires, work, programs, [&](const step_of_walk& s) {
    const instruction& i = s.instruction;
    seconds begin = free[s.stage];
    for (const wire& w : wires.before(s.place)) begin = std::max(begin, arrival[number(w, i.pack)]);
    const seconds end = begin + time_of(work.times, i, s.stage, on);
    for (const wire& w : wires.after(s.place)) arrival[number(w, i.pack)] = end + message_of(work.times, w, i.pack, on);
    free[s.stage] = end;
    makespan = std::max(makespan, end);
    tell(s.stage, timed_instruction{i, begin, end});
  });
  if (!walked) return std::move(walked).error();
  return makespan;
}

}  // namespace slimpack::detail

namespace slimpack::simulators {

/// How long the programs of one replica take.
/// Law       equals task_graph::sweep to the bit: the same sums along the same paths, but no graph is kept
/// Errors    those of task_graph::assign            Complexity  O(instructions)
[[nodiscard]] inline result<seconds> makespan(const workload& work, std::span<const program> programs) {
  return detail::run_in_time(work, programs, [](std::uint32_t, const timed_instruction&) {});
}

}  // namespace slimpack::simulators

#endif
