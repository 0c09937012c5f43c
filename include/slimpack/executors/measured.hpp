#ifndef SLIMPACK_EXECUTORS_MEASURED_HPP
#define SLIMPACK_EXECUTORS_MEASURED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/executors/step_report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// Whether a stage's report is its program as it ran within the step.
[[nodiscard]] inline result<void> check_measured_stage(const program& code, const step_report& report,
                                                       const std::string& where) {
  if (report.timeline.size() != code.size())
    return error{errc::invalid_input, where + " reports " + std::to_string(report.timeline.size()) +
                                          " instructions, its program has " + std::to_string(code.size())};
  seconds free{};
  for (std::size_t i = 0; i < code.size(); ++i) {
    const timed_instruction& t = report.timeline[i];
    if (t.instruction != code[i])
      return error{errc::invalid_input,
                   where + " reports another instruction than its program's at position " + std::to_string(i)};
    // Written so that a time that is no number fails as well.
    if (!(free <= t.begin && t.begin <= t.end && t.end <= report.step))
      return error{errc::invalid_input, where + " reports instruction " + std::to_string(i) + " from " +
                                            std::to_string(t.begin.value) + " to " + std::to_string(t.end.value) +
                                            " s: not between the end of the one before, " + std::to_string(free.value) +
                                            " s, and the end of the step, " + std::to_string(report.step.value) + " s"};
    free = t.end;
  }
  return success();
}

}  // namespace slimpack::detail

namespace slimpack::executors {

/// Whether the reports are those of all ranks of a plan's step, rank = replica * stages + stage.
/// Errors    invalid_input: they are not, with the place that differs            Complexity  O(instructions)
[[nodiscard]] inline result<void> check_measured(const plan& p, std::span<const step_report> ranks) {
  std::size_t needed = 0;
  for (const replica_plan& r : p.replicas) needed += r.programs.size();
  if (ranks.size() != needed)
    return error{errc::invalid_input, "a measured step needs a report of each of the plan's " + std::to_string(needed) +
                                          " ranks, got " + std::to_string(ranks.size())};
  const step_report* report = ranks.data();
  for (std::size_t r = 0; r < p.replicas.size(); ++r)
    for (std::size_t stage = 0; stage < p.replicas[r].programs.size(); ++stage) {
      const std::string where = "stage " + std::to_string(stage) + " of replica " + std::to_string(r);
      const result<void> fits = slimpack::detail::check_measured_stage(p.replicas[r].programs[stage], *report++, where);
      if (!fits) return fits;
    }
  return success();
}

/// When the reduction of a stage's gradients can begin on any rank: its slowest replica has its last gradient. Before,
/// the others wait, though their reports count that as reduction.
[[nodiscard]] inline seconds reduction_begin(const plan& p, std::span<const step_report> ranks, std::size_t stage) {
  seconds begin{};
  for (std::size_t rank = stage; rank < ranks.size(); rank += static_cast<std::size_t>(p.shape.stages))
    begin = std::max(begin, ranks[rank].elapsed);
  return begin;
}

/// How a measured step compares with its plan.
struct measured_figures {
  seconds step;     ///< measured counterpart of plan::step_time
  double bubble{};  ///< of plan::bubble
  double off{};     ///< median over all instructions of |measured / predicted time - 1|
};

/// Bubble    derived: a plan's useful work is a share of its instructions' predicted time. Their measured time holds
///           the same share, so bubble = 1 - (1 - predicted bubble) (busy / predicted busy) (predicted step / step). A
///           step that runs exactly as predicted has the predicted bubble.
/// Requires  reports that check_measured accepts            Complexity  O(instructions)
[[nodiscard]] inline measured_figures figures_of(const plan& p, std::span<const step_report> ranks) {
  measured_figures f;
  seconds busy{};
  seconds predicted_busy{};
  std::vector<double> off;
  const step_report* report = ranks.data();
  for (std::size_t r = 0; r < p.replicas.size(); ++r)
    for (std::size_t stage = 0; stage < p.replicas[r].programs.size(); ++stage, ++report) {
      f.step = std::max(f.step, report->step);
      for (const timed_instruction& t : report->timeline) {
        const seconds predicted = time_of(p.replicas[r].times, t.instruction, stage, p.shape);
        busy += t.end - t.begin;
        predicted_busy += predicted;
        if (predicted.value > 0) off.push_back(std::abs((t.end - t.begin) / predicted - 1));
      }
    }
  if (off.empty()) return f;
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), middle, off.end());
  f.off = off.size() % 2 == 1 ? *middle : (*middle + *std::max_element(off.begin(), middle)) / 2;
  f.bubble = 1 - (1 - p.bubble) * (busy / predicted_busy) * (p.step_time / f.step);
  return f;
}

}  // namespace slimpack::executors

#endif
