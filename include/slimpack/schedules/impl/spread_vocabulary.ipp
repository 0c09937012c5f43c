#ifndef SLIMPACK_SCHEDULES_IMPL_SPREAD_VOCABULARY_IPP
#define SLIMPACK_SCHEDULES_IMPL_SPREAD_VOCABULARY_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/vocabulary_fill.hpp>
#include <slimpack/schedules/spread_vocabulary.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

[[nodiscard]] inline error takes_no_time(const simulators::task& t, const shape& on) {
  return {errc::invalid_input, std::string("where stages ") + what_ties +
                                   " and the vocabulary is spread, its calls stand between layers that take some "
                                   "time, and " +
                                   name_of(t.what, on.chunks) + " takes none on stage " + std::to_string(t.stage) +
                                   ": choose a cost model that gives it some, or " + without_ties};
}

/// Programs of layers of one replica, whose stages run packs together, with E, V, U and G put between them at
/// one instant of the layers' run on all stages: V of a pack when its last F ends, and on the last stage, which waits
/// for all others, with the V that follows, or before a B that needs it; U two packs after its V; E when the F before
/// it begins on part 0, and G when its last B ends. So no stage waits, through a lock step, for a call that another has
/// behind it.
/// Source    SlimPipe (arXiv:2504.14519), whose passes of the embedding and of the output layer are in lock step, too;
///           the instants are derived
/// Proof     of that nobody waits for ever: a call's instant is no earlier than what it waits for begins, and what
///           waits for it begins no earlier than that instant; calls stand before what begins then
/// Errors    invalid_input: a pass of a pack that takes no time, whose begin and end are one instant; those of
///           joint_graph
/// Complexity that of joint_graph, and O(calls log calls * stages)
[[nodiscard]] inline result<std::vector<program>> lock_step_calls(const workload& work,
                                                                  std::span<const program> layers) {
  workload alone = work;
  alone.shape = with_whole_vocabulary(std::move(alone.shape));
  const std::uint32_t only = 0;
  const result<simulators::task_graph> graph = simulators::joint_graph(
      std::span(&only, 1), [&](std::uint32_t) -> const workload& { return alone; },
      [&](std::uint32_t) -> std::span<const program> { return layers; }, std::span<const merge>{});
  if (!graph) return graph.error();
  std::vector<seconds> start;
  graph.value().sweep(start);

  const auto stages = static_cast<std::uint32_t>(work.shape.stages),
             last_chunk = static_cast<std::uint32_t>(work.shape.chunks - 1);
  std::vector<std::vector<seconds>> starts(stages);  // of each stage's instructions, in program order
  std::vector<seconds> ends, gathered;               // of each forward pack, when its V begins; and on the last stage
  using call = std::pair<seconds, instruction>;      // and its instant
  std::vector<call> calls{{{}, {instruction_kind::embed, {0}}}};
  const auto add = [&](seconds at, instruction_kind kind, std::size_t of) {
    calls.push_back({at, {kind, {static_cast<std::uint32_t>(of)}}});
  };
  for (std::size_t n = 0; n < graph.value().size(); ++n) {
    const simulators::task& t = graph.value().tasks()[n];
    if (!t.is_instruction()) continue;
    starts[t.stage].push_back(start[n]);
    const seconds end = start[n] + t.duration;
    if (end <= start[n] && !t.what.is_weights()) return takes_no_time(t, work.shape);
    const bool forward = t.what.pass() == pass::forward, is_first = t.stage == 0 && t.what.chunk == 0,
               is_last = t.stage + 1 == stages && t.what.chunk == last_chunk;
    if (forward && is_first && t.what.pack.value + 1 < work.times.packs(pass::forward))
      add(start[n], instruction_kind::embed, t.what.pack.value + 1);
    if (!forward && is_first && !t.what.is_weights()) add(end, instruction_kind::embed_gradients, t.what.pack.value);
    if (forward && is_last) ends.push_back(end);
    // The last stage puts a pack together with the V that follows, or where its B begins before.
    if (is_last && !t.what.is_weights())
      while (gathered.size() < ends.size() &&
             (forward ? gathered.size() + 1 < ends.size() : gathered.size() <= work.turn[t.what.pack.value]))
        gathered.push_back(forward ? end : start[n]);
  }
  for (std::size_t i = 0; i < ends.size() + 2; ++i) {
    if (i > 1) add(i < ends.size() ? ends[i] : gathered.back(), instruction_kind::output_weights, i - 2);
    if (i < ends.size()) add(ends[i], instruction_kind::output, i);
  }
  std::vector<program> all(stages);
  for (std::uint32_t r = 0; r < stages; ++r) {
    for (call& c : calls)
      if (r + 1 == stages && c.second.kind == instruction_kind::output) c.first = gathered[c.second.pack.value];
    std::stable_sort(calls.begin(), calls.end(), [](const call& x, const call& y) { return x.first < y.first; });
    auto next = calls.begin();
    for (std::size_t i = 0; i < layers[r].size(); ++i) {
      for (; next != calls.end() && next->first <= starts[r][i]; ++next) all[r].push_back(next->second);
      all[r].push_back(layers[r][i]);
    }
    for (; next != calls.end(); ++next) all[r].push_back(next->second);
  }
  return all;
}

}  // namespace slimpack::detail

namespace slimpack::schedules {

SLIMPACK_DECL result<std::vector<std::vector<program>>> spread_vocabulary(
    std::span<const std::uint32_t> group, std::span<const workload> works,
    std::span<const std::vector<program>> programs, std::span<const merge> merges, seconds to_beat) {
  if (std::any_of(works.begin(), works.end(), [](const workload& w) { return ties_stages(w); })) {
    std::vector<std::vector<program>> in_lock_step;
    for (std::size_t g = 0; g < works.size(); ++g) {
      result<std::vector<program>> made = detail::lock_step_calls(works[g], programs[g]);
      if (!made) return std::move(made).error();
      in_lock_step.push_back(std::move(made).value());
    }
    return in_lock_step;
  }
  for (std::size_t g = 0; g < works.size(); ++g) {
    workload layers = works[g];
    layers.shape = with_whole_vocabulary(std::move(layers.shape));
    if (result<void> sound = slimpack::detail::walk(wiring(layers.shape), layers, programs[g],
                                                    [](const slimpack::detail::step_of_walk&) {});
        !sound)
      return std::move(sound).error();
  }
  const std::optional<memory_limit>& limit = works.front().shape.memory;
  std::vector<std::vector<program>> best;
  std::pair<double, seconds> least;  // over the limit, and makespan
  bool too_much = false;             // for the memory
  for (const std::uint32_t late : {8u, 0u, 3u, 1u}) {
    if (late != 8 && late != 0 && !too_much) continue;
    const bool fits = !best.empty() && least.first == 0;
    slimpack::detail::vocabulary_fill fill(group, works, programs, merges, late,
                                           fits ? std::min(to_beat, least.second) : to_beat);
    result<std::vector<std::vector<program>>> made = fill.programs();
    if (!made && made.error().code == errc::not_faster) {
      too_much = too_much || (limit && best.empty());  // it may be: it was left before that was known
      continue;
    }
    if (!made) return made;
    double over = 0;
    for (std::size_t g = 0; limit && g < works.size(); ++g)
      for (const double peak : simulators::peak_memory(works[g], made.value()[g]))
        over = std::max(over, peak - limit->amount);
    too_much = too_much || over > 0;
    const std::pair now{over, fill.makespan()};
    if (!best.empty() && now >= least) continue;
    least = now, best = std::move(made).value();
  }
  if (best.empty())
    return error{errc::not_faster, "with the calls of its vocabulary a step takes no less than what it has to beat"};
  return best;
}

}  // namespace slimpack::schedules

#endif
