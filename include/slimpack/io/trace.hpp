#ifndef SLIMPACK_IO_TRACE_HPP
#define SLIMPACK_IO_TRACE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/executors/measured.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/io/detail/json_out.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/views.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io {

namespace detail {

/// Whole nanoseconds: what trace viewers count in. Rounding instants, not durations, keeps neighbours from overlapping.
[[nodiscard]] inline std::int64_t nanoseconds(seconds s) noexcept { return std::llround(s.value * 1e9); }

/// "17[4096,8192) 18[0,512) +5": the first slices of a pack and the number of the others.
[[nodiscard]] inline std::string some_slices(std::span<const slice> pack) {
  constexpr std::size_t shown = 6;
  std::string text;
  for (const slice& s : pack.first(std::min(shown, pack.size()))) {
    if (!text.empty()) text += ' ';
    text += std::to_string(s.sequence.value) + "[" + std::to_string(s.begin.value) + "," +
            std::to_string(s.end().value) + ")";
  }
  if (pack.size() > shown) text += " +" + std::to_string(pack.size() - shown);
  return text;
}

/// Writes the events of a plan, and of its step as it ran, one by one.
template <class Simulator>
class trace_writer {
 public:
  trace_writer(std::ostream& out, const plan& p, std::span<const step_report> measured, const Simulator& simulator)
      : json_(out), plan_(p), wires_(p.shape), measured_(measured), graphs_(p, simulator) {}

  result<void> write() {
    json_.open('{').field("displayTimeUnit", "ms").key("otherData");
    write_figures();
    json_.key("traceEvents").open('[');
    for (std::size_t r = 0; r < plan_.replicas.size(); ++r)
      if (result<void> written = write_replica(r); !written) return written;
    json_.close(']').close('}').line();
    return success();
  }

 private:
  void write_figures() {
    json_.open('{');
    json_.field("planner", plan_.planner).field("cost", plan_.cost).field("model", plan_.model).field("gpu", plan_.gpu);
    json_.field("step_time", plan_.step_time.value).field("lower_bound", plan_.lower_bound.value);
    json_.field("bubble", plan_.bubble).field("efficiency", plan_.efficiency);
    if (!measured_.empty()) {
      const executors::measured_figures f = executors::figures_of(plan_, measured_);
      json_.field("measured_step_time", f.step.value).field("measured_bubble", f.bubble);
      json_.field("median_instruction_error", f.off);
    }
    json_.close('}');
  }

  result<void> write_replica(std::size_t replica) {
    const replica_plan& r = plan_.replicas[replica];
    if (result<void> run = graphs_.select(replica); !run) return run;
    const workload& work = graphs_.work(replica);
    const simulators::timeline simulated =
        simulators::lanes_of(graphs_.graph(), graphs_.start(), r.programs.size(), graphs_.position(replica));
    const process predicted{replica, false};
    begin_process(predicted);
    for (std::size_t stage = 0; stage < r.programs.size(); ++stage)
      write_stage(predicted, stage, work, simulated.stages[stage], plan_.step_time - plan_.reduce_time,
                  plan_.step_time);
    if (measured_.empty()) return success();
    const process run{replica, true};
    begin_process(run);
    for (std::size_t stage = 0; stage < r.programs.size(); ++stage) {
      const step_report& report = measured_[replica * r.programs.size() + stage];
      write_stage(run, stage, work, report.timeline, executors::reduction_begin(plan_, measured_, stage),
                  report.elapsed + report.reduce);
    }
    return success();
  }

  /// A replica, as predicted or as it ran; what a trace viewer shows as a process.
  struct process {
    std::size_t replica;
    bool measured;
  };
  [[nodiscard]] std::size_t number_of(process p) const noexcept {
    return p.replica + (p.measured ? plan_.replicas.size() : 0);
  }

  void begin_process(process p) {
    name("process_name", p, 0, "replica " + std::to_string(p.replica) + (p.measured ? ", measured" : ""));
    sort("process_sort_index", p, 0, 2 * p.replica + (p.measured ? 1 : 0));
  }

  void write_stage(process p, std::size_t stage, const workload& work, std::span<const timed_instruction> lane,
                   seconds reduce_begin, seconds reduce_end) {
    name("thread_name", p, stage, "stage " + std::to_string(stage));
    sort("thread_sort_index", p, stage, stage);
    for (const timed_instruction& s : lane) write_pack(p, stage, s);
    if (nanoseconds(reduce_end - reduce_begin) > 0) write_reduce(p, stage, reduce_begin, reduce_end);
    write_memory(p, stage, work, lane);
  }

  void begin(const char* phase, process p, std::size_t stage, std::string_view title) {
    json_.line();
    json_.open('{').field("ph", phase).field("pid", number_of(p)).field("tid", stage).field("name", title);
  }

  void name(const char* what, process p, std::size_t stage, const std::string& text) {
    begin("M", p, stage, what);
    json_.key("args").open('{').field("name", text).close('}').close('}');
  }
  void sort(const char* what, process p, std::size_t stage, std::size_t index) {
    begin("M", p, stage, what);
    json_.key("args").open('{').field("sort_index", index).close('}').close('}');
  }

  void at(std::int64_t start, std::int64_t end) {
    json_.field("ts", static_cast<double>(start) / 1e3).field("dur", static_cast<double>(end - start) / 1e3);
  }

  void write_pack(process p, std::size_t stage, const timed_instruction& s) {
    const instruction& i = s.instruction;
    const instruction_view planned = views::instruction(plan_, p.replica, stage, i);
    begin("X", p, stage, name_of(i, plan_.shape.chunks));
    json_.field("cat", facts_of(i.kind).category);
    at(nanoseconds(s.begin), nanoseconds(s.end));
    write_flow(p, stage, i);
    json_.key("args").open('{').field("pack", i.pack.value).field("tokens", size_of(planned.slices).value);
    json_.field("slices", planned.slices.size()).field("sequences", some_slices(planned.slices));
    if (p.measured) {
      json_.field("predicted_us", planned.time.value * 1e6);
      if (planned.time.value > 0) json_.field("measured_over_predicted", (s.end - s.begin) / planned.time);
    }
    json_.close('}').close('}');
  }

  /// A pack's way through the model is one flow in either pass: viewers draw its messages as arrows.
  void write_flow(process p, std::size_t stage, const instruction& i) {
    const pack_place place = place_of(i, static_cast<std::uint32_t>(stage), plan_.shape);
    const auto has_way = [](std::span<const wire> wires) {
      return std::any_of(wires.begin(), wires.end(), [](const wire& w) { return facts_of(w.carries).of_way; });
    };
    const bool in = has_way(wires_.before(place)), out = has_way(wires_.after(place));
    if (!in && !out) return;
    const std::uint64_t processes = plan_.replicas.size() * (measured_.empty() ? 1 : 2);
    const std::uint64_t id = 2 * (i.pack.value * processes + number_of(p)) + (i.pass() == pass::forward ? 1 : 2);
    json_.field("bind_id", id);
    if (in) json_.field("flow_in", true);
    if (out) json_.field("flow_out", true);
  }

  void write_reduce(process p, std::size_t stage, seconds from, seconds to) {
    begin("X", p, stage, "reduce");
    json_.field("cat", "reduce");
    at(nanoseconds(from), nanoseconds(to));
    json_.close('}');
  }

  /// What a stage holds follows from its order alone: the same amounts at predicted or measured times.
  void write_memory(process p, std::size_t stage, const workload& work, std::span<const timed_instruction> lane) {
    const bool bytes = plan_.memory_unit == memory_unit::byte;
    const char* unit = bytes ? "bytes" : "tokens";
    if (bytes && plan_.replicas[p.replica].rates.empty()) return;  // read from a file: only the peaks are known
    const std::string title = "memory of stage " + std::to_string(stage);
    std::size_t at = 0;
    double shown = -1;
    simulators::follow_memory(work, plan_.replicas[p.replica].programs[stage], static_cast<int>(stage),
                              [&](const instruction&, double held) {
                                const seconds start = lane[at++].begin;
                                if (held == shown) return;
                                shown = held;
                                begin("C", p, stage, title);
                                json_.field("ts", static_cast<double>(nanoseconds(start)) / 1e3);
                                json_.key("args").open('{').field(unit, held).close('}').close('}');
                              });
  }

  json_out json_;
  const plan& plan_;
  wiring wires_;  // of its shape
  std::span<const step_report> measured_;
  simulators::plan_graphs<Simulator> graphs_;
};

}  // namespace detail

/// Writes a plan as Chrome trace events, which Perfetto and chrome://tracing open: a process per replica, a thread per
/// stage, an event per pack, an arrow per message between layers or to
/// and from the embedding, a counter of each stage's memory. Where the plan was run, each
/// replica has a second process beside the first, with the measured times and their ratios to the predicted ones.
/// Shapes    measured: the reports of one step of this plan, a rank each, rank = replica * stages + stage; or none.
///           simulator: finds the predicted times (concepts/planning.hpp)
/// Units     microseconds, to the nanosecond
/// Errors    invalid_input: a measured step that is not one of this plan; those of task_graph::assign, when the
///           programs cannot run; those of the simulator; unwritable: the stream has failed
/// Complexity O(instructions), streamed
template <class Simulator = simulators::sweep>
[[nodiscard]] result<void> write_trace(std::ostream& out, const plan& p, std::span<const step_report> measured = {},
                                       const Simulator& simulator = {}) {
  if (!measured.empty())
    if (result<void> fits = executors::check_measured(p, measured); !fits) return fits;
  if (result<void> written = detail::trace_writer(out, p, measured, simulator).write(); !written) return written;
  if (!out) return error{errc::unwritable, "the trace could not be written: the output stream failed"};
  return success();
}

}  // namespace slimpack::io

#endif
