#ifndef SLIMPACK_PRICING_RANK_TIME_OF_HPP
#define SLIMPACK_PRICING_RANK_TIME_OF_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack {

namespace detail {

/// How long each stage of a replica is busy.
[[nodiscard]] inline std::vector<seconds> busy_of(const replica_plan& r, const shape& on) {
  std::vector<seconds> busy(static_cast<std::size_t>(on.stages));
  for (std::size_t stage = 0; stage < r.programs.size(); ++stage)
    for (const instruction& i : r.programs[stage]) busy[stage] += time_of(r, i, stage, on);
  return busy;
}

}  // namespace detail

/// Splits the time of a plan's stages into what is useful and what is not.
/// Formula   with b_r the time that stage r of a replica is busy without w_r, in which it waits for weights, B the largest b_r,
///           and idle_r = step - reduction - b_r - w_r:
///             imbalance     = sum over replicas and stages of min(B - b_r, idle_r)
///             waiting       = sum over replicas and stages of idle_r, less the imbalance
///             recomputation = sum over sequences, parts and passes of least - useful, where that is positive
///             packs         = sum of all b_r less useful work, recomputation and exchanges
///           What a stage waits for its weights is communication; that others idle meanwhile is waiting.
/// Requires  a plan with its step time, of this cost model            Complexity  O(sequences * parts + instructions)
template <class Cost>
[[nodiscard]] rank_time rank_time_of(const plan& p, const Cost& cost) {
  rank_time spent;
  const bool forward_only = is_forward_only(p);
  for (std::uint32_t i = 0; i < p.lengths.size(); ++i)
    for (int part = 0; part < p.shape.parts(); ++part)
      for (const pass direction : {pass::forward, pass::backward}) {
        if (direction == pass::backward && forward_only) continue;
        const slice whole{{i}, {0}, p.lengths[i]};
        const seconds useful = useful_time(cost, whole, direction, part);
        spent.useful += useful;
        spent.recomputation += std::max(seconds{}, least_time(cost, whole, direction, part) - useful);
      }
  if (p.shape.vocabulary == vocabulary::spread)
    for (const tokens length : p.lengths)
      for (int stage = 0; stage < p.shape.stages; ++stage)
        for (const vocabulary_call call : {vocabulary_call::embed, vocabulary_call::output, vocabulary_call::output_weights,
                                           vocabulary_call::embed_gradients})
          spent.useful += vocabulary_time(cost, length, call, stage) - vocabulary_time(cost, {0}, call, stage);
  seconds busy{};
  seconds inside{};  // packs: exchanges, and waiting for weights
  for (const replica_plan& r : p.replicas) {
    const std::vector<seconds> all = detail::busy_of(r, p.shape);
    const auto worked = [&](std::size_t stage) { return all[stage] - (r.weight_waits.empty() ? seconds{} : r.weight_waits[stage]); };
    seconds most{};
    for (std::size_t stage = 0; stage < all.size(); ++stage) most = std::max(most, worked(stage));
    for (std::size_t stage = 0; stage < all.size(); ++stage) {
      const seconds idle = p.step_time - p.reduce_time - all[stage];
      const seconds imbalance = std::min(most - worked(stage), idle);
      spent.imbalance += imbalance, spent.waiting += idle - imbalance;
      busy += all[stage];
    }
    inside += r.communication;
  }
  spent.communication = inside + p.reduce_time * (static_cast<double>(p.shape.stages) * p.shape.replicas);
  spent.packs = busy - spent.useful - spent.recomputation - inside;
  return spent;
}

}  // namespace slimpack

#endif
