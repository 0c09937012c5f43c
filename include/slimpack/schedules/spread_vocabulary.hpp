#ifndef SLIMPACK_SCHEDULES_SPREAD_VOCABULARY_HPP
#define SLIMPACK_SCHEDULES_SPREAD_VOCABULARY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace slimpack::schedules {

/// Programs of layers with the calls of a spread vocabulary put between them, for all replicas of a group.
///
/// Weight gradients that wait until a stage has nothing else to run mostly shorten the step, and hold logits. So this
/// tries limits on how many packs may be owed, eight and none, and some between where eight do not fit the memory. It
/// takes what ends first of what fits; where nothing does, what needs least. Where stages run packs together,
/// calls run in lock step with it (impl/spread_vocabulary.ipp).
/// Shapes    works: one per replica of the group, priced for a shape that spreads the vocabulary; programs: one per
///           stage each
/// to_beat: programs that take no less need not be found
/// Law       those of detail::vocabulary_fill
/// Errors    those of task_graph::assign about the programs of layers; cyclic_schedule: they wait for each other;
///           not_faster: they take no less than to_beat
/// Complexity that of detail::vocabulary_fill
[[nodiscard]] result<std::vector<std::vector<program>>> spread_vocabulary(
    std::span<const std::uint32_t> group, std::span<const workload> works,
    std::span<const std::vector<program>> programs, std::span<const merge> merges,
    seconds to_beat = seconds{std::numeric_limits<double>::infinity()});

}  // namespace slimpack::schedules

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/schedules/impl/spread_vocabulary.ipp>
#endif

#endif
