#ifndef SLIMPACK_SCHEDULES_IMPL_LOCK_STEP_CALLS_IPP
#define SLIMPACK_SCHEDULES_IMPL_LOCK_STEP_CALLS_IPP

#include <slimpack/schedules/detail/lock_step_calls.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

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

  const auto stages = static_cast<std::uint32_t>(work.shape.stages), last_chunk = static_cast<std::uint32_t>(work.shape.chunks - 1);
  std::vector<std::vector<seconds>> starts(stages);  // of each stage's instructions, in program order
  using call = std::pair<seconds, instruction>;      // and its instant
  std::vector<call> calls{{{}, {pass::forward, {0}, 0, false, model_end::embedding}}};
  for (std::size_t n = 0; n < graph.value().size(); ++n) {
    const simulators::task& t = graph.value().tasks()[n];
    if (!t.is_instruction()) continue;
    starts[t.stage].push_back(start[n]);
    const auto add = [&](seconds at, std::uint32_t of, bool weights, model_end which) { calls.push_back({at, {t.what.pass, {of}, 0, weights, which}}); };
    const seconds end = start[n] + t.duration;
    const std::uint32_t pack = t.what.pack.value;
    const bool forward = t.what.pass == pass::forward, is_first = t.stage == 0 && t.what.chunk == 0, has_next = pack + 1 < work.forward.size();
    if (forward && is_first && has_next) add(start[n], pack + 1, false, model_end::embedding);
    if (!forward && is_first && !t.what.weights_only) add(end, pack, false, model_end::embedding);
    if (!forward || t.stage + 1 < stages || t.what.chunk < last_chunk) continue;
    if (pack > 0) add(end, pack - 1, true, model_end::output);
    add(end, pack, false, model_end::output);
    if (!has_next) add(end, pack, true, model_end::output);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const call& a, const call& b) { return a.first < b.first; });

  std::vector<program> all(stages);
  for (std::uint32_t r = 0; r < stages; ++r) {
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
