#ifndef SLIMPACK_TESTING_SCHEDULE_LAWS_HPP
#define SLIMPACK_TESTING_SCHEDULE_LAWS_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/report.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::testing {

namespace detail {

/// What the stages hold at most when they run everything forward first and run backward from the last pack on.
[[nodiscard]] inline double enough_memory(const random_replica& made) {
  double most = 0;
  double all = 0;
  for (const tokens t : made.lengths) all += static_cast<double>(t.value);
  for (std::size_t stage = 0; stage < made.work.rates.size(); ++stage) {
    const memory_rates& r = made.work.rates[stage];
    const double kept = made.work.kept(stage, made.work.times.packs(pass::forward), 0);
    most = std::max(most, std::max(r.in_forward(all, all, all, all * all), r.in_backward(all, all, all, all * all)) +
                              r.weight_token * all + kept);
  }
  return most;
}

/// Checks one answer. Returns the largest peak over the stages, if there were programs to run.
template <class Schedule>
std::optional<double> check_answer(report& r, const Schedule& schedule, const random_replica& made, bool must_fit) {
  const shape& on = made.work.shape;
  const result<std::vector<program>> answer = schedule.programs(made.work);
  if (!answer) {
    r.check(3, answer.error().code == errc::out_of_memory && !must_fit,
            must_fit ? "a workload that any order fits is not refused" : "the only refusal is errc::out_of_memory",
            answer.error().detail);
    return std::nullopt;
  }
  const std::vector<program>& programs = answer.value();
  const workload work = settled(made.work, programs);
  const std::vector<std::uint8_t>& apart = work.times.apart.flags;
  r.check(1, std::is_sorted(apart.begin(), apart.end()),
          "from the first backward pack with weight gradients apart, all have them apart");
  bool sound = programs.size() == static_cast<std::size_t>(on.stages);
  r.check(1, sound, "there is one program per stage", programs.size(), "for", on.stages);
  for (std::size_t stage = 0; stage < programs.size(); ++stage) {
    const std::optional<std::string> wrong = naive::miscount(programs[stage], made.packs, on, work.times.apart.flags);
    r.check(1, !wrong, "each stage runs each pack once per chunk, in run order", "stage", stage, wrong.value_or(""));
    sound = sound && !wrong;
  }
  if (!sound) return std::nullopt;
  const naive::running one{&made.packs, programs};
  const std::optional<std::string> stuck = naive::run(std::span(&one, 1), {}, on).front().stuck;
  r.check(2, !stuck, "the programs are free of deadlock", "on", on.stages, "stages of", on.chunks,
          "chunks, stuck:", stuck.value_or(""));
  simulators::task_graph graph;
  const result<void> built = graph.assign(work, programs);
  r.check(2, built.has_value(), "the task graph is acyclic", built ? std::string{} : built.error().detail);
  if (!built) return std::nullopt;
  if constexpr (slimpack::detail::tells_makespan<Schedule>) {
    std::vector<seconds> start;
    const seconds makespan = graph.sweep(start);
    const result<timed_programs> told = schedule.timed(made.work);
    r.check(4, told && told.value() == timed_programs{programs, makespan},
            "programs come with their makespan in the task graph", told ? told.value().makespan.value : 0.0, "for",
            makespan.value);
  }
  double most = 0;
  for (std::size_t stage = 0; stage < programs.size(); ++stage) {
    const double peak = naive::peak_memory(made.packs, programs[stage], made.work.rates[stage], on,
                                           static_cast<int>(stage), made.scores, work.times.apart.flags);
    most = std::max(most, peak);
    if (on.memory)
      r.check(3, naive::at_most(peak, on.memory->amount), "the memory limit holds", "stage", stage, "holds", peak, "of",
              on.memory->amount);
  }
  return most;
}

}  // namespace detail

/// Checks the laws of slimpack::schedule_for on random replicas: without a memory limit, with one that any order fits,
/// with one that is just what the schedule used when it was free, and with tighter ones. Programs are run, and memory
/// counted, by slow code that knows slices and not packs' turns (testing/naive.hpp).
/// `{.chunks = n}` tries up to n virtual stages, for schedules that take them.
/// Returns   a report, which converts to bool; a test has to assert it: EXPECT_TRUE(found) << found
///           (testing/report.hpp)
/// Errors    none: what the schedule throws passes through            Complexity  O(cases) calls of the schedule
template <schedule_for Schedule>
[[nodiscard]] report schedule_laws(const Schedule& schedule, options o = {}) {
  report r("schedule laws", o.seed);
  generator random(o.seed);
  for (int i = 0; i < o.cases; ++i) {
    random_replica made = any_replica(o, random);
    if constexpr (weight_gradients_of<Schedule> == weight_gradients::apart) {
      offer_weights(made, random);
      if (random.once_in(2)) keep_for_weights(made, random);
    }
    if (random.once_in(2)) keep_scores(made, random);
    if (random.once_in(2)) hold_pairs(made, random);
    const std::optional<double> used = detail::check_answer(r, schedule, made, true);
    const double enough = detail::enough_memory(made);
    made.work.shape.memory = memory_limit{memory_unit::byte, enough};
    detail::check_answer(r, schedule, made, true);
    if (!used) continue;
    for (const double share : {1.0, 0.5 + 0.5 * random.ratio(), random.ratio()}) {
      made.work.shape.memory->amount = std::floor(*used * share);
      detail::check_answer(r, schedule, made, false);
    }
  }
  return r;
}

}  // namespace slimpack::testing

#endif
