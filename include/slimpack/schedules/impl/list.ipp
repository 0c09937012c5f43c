#ifndef SLIMPACK_SCHEDULES_IMPL_LIST_IPP
#define SLIMPACK_SCHEDULES_IMPL_LIST_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/greedy.hpp>
#include <slimpack/schedules/detail/greedy_chunks.hpp>
#include <slimpack/schedules/detail/greedy_units.hpp>
#include <slimpack/schedules/detail/interleaved_order.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/memory_cap.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The cap adds shares of memory up in another order than who counts it, so what is full to the last byte may not fit.
[[nodiscard]] inline bool fits_memory(const workload& work, const std::vector<program>& made) {
  if (made.empty()) return false;
  if (!work.shape.memory) return true;
  const std::vector<double> peak = simulators::peak_memory(work, made);
  return *std::max_element(peak.begin(), peak.end()) <= work.shape.memory->amount;
}

}  // namespace slimpack::detail

namespace slimpack::schedules {

SLIMPACK_DECL result<std::vector<program>> list::programs(const workload& work) const {
  result<timed_programs> found = timed(work);
  if (!found) return std::move(found).error();
  return std::move(found.value().programs);
}

SLIMPACK_DECL result<timed_programs> list::timed(const workload& work) const {
  using namespace slimpack::detail;
  if (passes < 1) return error{errc::invalid_input, "list needs at least one pass, got " + std::to_string(passes)};
  if (work.shape.chunks > 1) return with_chunks(work);
  const memory_cap cap(work);
  if (result<void> fits = cap.check(work); !fits) return std::move(fits).error();
  const greedy::pipeline step = greedy::pipeline::of(work, cap);
  const greedy::pipeline image = passes > 1 ? step.mirrored() : greedy::pipeline{};
  const auto [best, of_image] = greedy::by_turns<greedy::order>(greedy::rule{}, step, image, passes);
  if (!of_image) return timed_programs{greedy::programs_of(step, best), {best.makespan}};
  // Here the times are those of the mirror image, as late as they may be.
  timed_programs turned{
      greedy::programs_of(step, greedy::mirrored(best, image.stages, image.down.packs(), image.up.packs())), {}};
  const result<seconds> makespan = simulators::makespan(work, turned.programs);
  if (!makespan) return makespan.error();
  turned.makespan = makespan.value();
  return turned;
}

/// With virtual stages: of all chunks' next packs what is ready first; where that does not fit the memory, the rule on
/// units, whose order on all stages is one; where neither does, 1F1B, which has the same units and leads less.
SLIMPACK_DECL result<timed_programs> list::with_chunks(const workload& work) const {
  std::vector<program> made = of_parts(work);
  if (!slimpack::detail::fits_memory(work, made)) made = of_units(work);
  if (!slimpack::detail::fits_memory(work, made)) {
    result<std::vector<program>> last = one_f_one_b{}.programs(work);
    if (!last) return std::move(last).error();
    made = std::move(last).value();
  }
  const result<seconds> makespan = simulators::makespan(work, made);
  if (!makespan) return makespan.error();
  return timed_programs{std::move(made), makespan.value()};
}

SLIMPACK_DECL std::vector<program> list::of_parts(const workload& work) const {
  using namespace slimpack::detail::greedy;
  const part_pipeline step = part_pipeline::of(work);
  const part_pipeline image = passes > 1 ? step.mirrored() : part_pipeline{};
  const auto [found, of_image] = by_turns<part_order>(part_rule{}, step, image, passes);
  return programs_of(of_image ? found.mirrored(image) : found);
}

/// Empty where the units themselves do not fit.
SLIMPACK_DECL std::vector<program> list::of_units(const workload& work) const {
  using namespace slimpack::detail;
  const auto stages = static_cast<std::size_t>(work.shape.stages);
  const std::vector<instruction> forward = interleaved_order(work, pass::forward, stages),
                                 backward = interleaved_order(work, pass::backward, stages);
  const std::vector<std::size_t> need = forwards_needed(work, forward, backward);
  const workload memory = greedy::memory_of_units(work, forward, backward, need);
  const memory_cap cap(memory);
  if (!cap.check(memory)) return {};
  const greedy::unit_pipeline step = greedy::unit_pipeline::of(work, forward, backward, need, cap);
  const greedy::unit_pipeline image = passes > 1 ? step.mirrored() : greedy::unit_pipeline{};
  const auto [found, of_image] = greedy::by_turns<greedy::order>(greedy::unit_rule{}, step, image, passes);
  return greedy::programs_of(forward, backward, stages,
                             of_image ? greedy::mirrored(found, stages, image.down.packs(), image.up.packs()) : found);
}

}  // namespace slimpack::schedules

#endif
