#ifndef SLIMPACK_SCHEDULES_IMPL_SPREAD_VOCABULARY_IPP
#define SLIMPACK_SCHEDULES_IMPL_SPREAD_VOCABULARY_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/lock_step_calls.hpp>
#include <slimpack/schedules/detail/vocabulary_fill.hpp>
#include <slimpack/schedules/spread_vocabulary.hpp>
#include <slimpack/simulators/graph/detail/walk.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
    layers.shape.vocabulary = vocabulary::last;
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
