#ifndef SLIMPACK_SCHEDULES_IMPL_LOCK_STEP_CALLS_IPP
#define SLIMPACK_SCHEDULES_IMPL_LOCK_STEP_CALLS_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/schedules/detail/lock_step_calls.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

SLIMPACK_DECL result<std::vector<program>> lock_step_calls(const workload& work, std::span<const program> layers) {
  workload alone = work;
  alone.shape.vocabulary = vocabulary::last;
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

#endif
