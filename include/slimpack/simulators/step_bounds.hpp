#ifndef SLIMPACK_SIMULATORS_STEP_BOUNDS_HPP
#define SLIMPACK_SIMULATORS_STEP_BOUNDS_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/reduction_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::simulators {

/// What the reduction of gradients adds to every bound on the work of a step.
/// Proof     where it follows the work: all of it. Where it runs beside the work, no part begins before part 0 has run
///           its first pack, which ends no earlier than the gather of its first bucket and then its own time. Whatever
///           instruction of a part computes its last weight gradients, the first bucket of that part is final at its
///           end, so that at least the shortest sum of a first bucket follows the last work.
///           Stage 0 gathers its share of the words before, where all stages have one.
/// Complexity O(parts)
template <class Cost>
[[nodiscard]] seconds least_reduction(const Cost& cost, const shape& on) {
  if (!on.has_copies()) return {};
  const auto first_of = [&](int part) {
    const std::span<const gradient_bucket> own = gradient_buckets_of(cost, part);
    return own.empty() ? gradient_bucket{} : own.front();
  };
  seconds last = first_of(0).scatter;
  for (int part = 1; part < on.reduced_parts(); ++part) last = std::min(last, first_of(part).scatter);
  const seconds words = on.reduced_parts() > on.parts() ? first_of(on.parts()).gather : seconds{};
  return words + first_of(0).gather + last + reduce_time_of(cost);
}

/// How much later than its first bucket a later stage gets its first pack, because part 0 waits for all its weights.
/// Proof     the first pack of part 0 takes t and leaves it no earlier than max_k G_k + (1 - a_k) t (wait_for_weights).
///           That does not fall as t grows, since no a_k is above 1, and t is no less than that of the shortest first
///           slice. stage_bound has t itself, and least_reduction the first bucket.
/// Complexity O(sequences + buckets)
template <class Cost>
[[nodiscard]] seconds late_weights(const Cost& cost, const shape& on, std::span<const sequence> batch) {
  const std::span<const gradient_bucket> buckets = gradient_buckets_of(cost, 0);
  if (buckets.empty()) return {};
  const sequence& shortest = *std::min_element(
      batch.begin(), batch.end(), [](const sequence& a, const sequence& b) { return a.length < b.length; });
  const seconds t =
      pack_overhead(cost, pass::forward, 0) + cost.time(first_slice(shortest, on.quantum), pass::forward, 0);
  seconds gathered{}, wait{};
  for (const gradient_bucket& b : buckets) {
    gathered += b.gather;
    wait = std::max(wait, gathered - t * b.at);
  }
  return wait - buckets.front().gather;
}

/// Every bound of a batch's step: lower_bounds and least_reduction; beside the work also late weights, and each stage's
/// stream.
/// Proof     of the stream: it carries a stage's gathers and sums one after the other, all in one step
/// Errors    none; an empty batch has no bounds            Complexity  O(sequences * parts + buckets)
template <class Cost>
[[nodiscard]] std::vector<bound> step_bounds(const Cost& cost, const shape& on, std::span<const sequence> batch,
                                             std::span<const memory_rates> rates) {
  std::vector<bound> bounds = lower_bounds(cost, on, batch, rates);
  const seconds besides = least_reduction(cost, on);
  for (bound& b : bounds) b.time += besides;
  const std::optional<gradient_reduction> reduction = batch.empty() ? std::nullopt : reduction_of(cost, on);
  if (!reduction) return bounds;
  const seconds late = late_weights(cost, on, batch);
  for (int stage = 1; stage < on.stages; ++stage) bounds[static_cast<std::size_t>(stage)].time += late;
  for (int stage = 0; stage < on.stages; ++stage) {
    seconds all = reduction->after;
    for (int part = stage; part < on.reduced_parts(); part += on.stages)
      for (const gradient_bucket& b : reduction->parts[static_cast<std::size_t>(part)]) all += b.gather + b.scatter;
    bounds.push_back({"stage " + std::to_string(stage) + ": weights and gradients", all});
  }
  return bounds;
}

}  // namespace slimpack::simulators

#endif
