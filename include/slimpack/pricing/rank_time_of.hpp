#ifndef SLIMPACK_PRICING_RANK_TIME_OF_HPP
#define SLIMPACK_PRICING_RANK_TIME_OF_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/timings.hpp>
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
    for (const instruction& i : r.programs[stage]) busy[stage] += time_of(r.times, i, stage, on);
  return busy;
}

/// A time that is not negative but for sums of the same numbers in different orders, up to `of`: below 0 by no more
/// than that it is 0.
[[nodiscard]] constexpr seconds without_rounding(seconds t, seconds of) noexcept {
  return t < seconds{} && t > of * -1e-12 ? seconds{} : t;
}

}  // namespace detail

/// What the batch of a plan takes on the stages, summed over them, however it is cut and packed.
/// Units     seconds of stages
struct batch_work {
  seconds work{};           ///< each token once (cost model hook `useful`), and its calls for a spread vocabulary
  seconds collectives{};    ///< of work, what the ranks of a stage wait for each other; of the vocabulary's calls it is
                            ///< not known
  seconds recomputation{};  ///< what backward computes again: least - useful, where that is positive
};

/// Requires  a plan of this cost model            Complexity  O(sequences * parts)
template <class Cost>
[[nodiscard]] batch_work batch_work_of(const plan& p, const Cost& cost) {
  batch_work sum;
  const bool forward_only = is_forward_only(p);
  for (std::uint32_t i = 0; i < p.lengths.size(); ++i)
    for (int part = 0; part < p.shape.parts(); ++part)
      for (const pass direction : {pass::forward, pass::backward}) {
        if (direction == pass::backward && forward_only) continue;
        const slice whole{{i}, {0}, p.lengths[i]};
        const seconds useful = useful_time(cost, whole, direction, part);
        sum.work += useful;
        sum.collectives += collective_time(cost, whole, direction, part);
        sum.recomputation += std::max(seconds{}, least_time(cost, whole, direction, part) - useful);
      }
  if (p.shape.vocabulary == vocabulary::spread)
    for (const tokens length : p.lengths)
      for (int stage = 0; stage < p.shape.stages; ++stage)
        for (const time_column c : time_columns)
          if (c.is_call() && c.each() == places::stages)
            sum.work += vocabulary_time(cost, length, c.call(), stage) - vocabulary_time(cost, {0}, c.call(), stage);
  return sum;
}

/// Splits the time of a plan's stages into what is useful and what is not.
/// Formula   with b_r the time that stage r of a replica is busy without w_r, in which it waits for weights, B the
///           largest b_r, and idle_r = step - reduction - b_r - w_r:
///             imbalance     = sum over replicas and stages of min(B - b_r, idle_r)
///             waiting       = sum over replicas and stages of idle_r, less the imbalance
///             packs         = sum of all b_r less work of the batch, recomputation and exchanges
///             useful        = work of the batch less collectives
///           What a stage waits for its weights is communication; that others idle meanwhile is waiting.
/// Requires  a plan with its step time, and what its batch takes            Complexity  O(instructions)
[[nodiscard]] inline rank_time rank_time_of(const plan& p, const batch_work& done) {
  rank_time spent{
      .useful = done.work - done.collectives, .recomputation = done.recomputation, .collectives = done.collectives};
  seconds busy{};
  seconds inside{};  // packs: exchanges, and waiting for weights
  for (const replica_plan& r : p.replicas) {
    const std::vector<seconds> all = detail::busy_of(r, p.shape);
    const auto worked = [&](std::size_t stage) {
      return all[stage] - (r.times.weight_waits.empty() ? seconds{} : r.times.weight_waits[stage]);
    };
    seconds most{};
    for (std::size_t stage = 0; stage < all.size(); ++stage) most = std::max(most, worked(stage));
    for (std::size_t stage = 0; stage < all.size(); ++stage) {
      const seconds idle = detail::without_rounding(p.step_time - p.reduce_time - all[stage], p.step_time);
      const seconds imbalance = std::min(most - worked(stage), idle);
      spent.imbalance += imbalance, spent.waiting += idle - imbalance;
      busy += all[stage];
    }
    inside += r.times.communication;
  }
  spent.communication = inside + p.reduce_time * (static_cast<double>(p.shape.stages) * p.shape.replicas);
  spent.packs = detail::without_rounding(busy - done.work - done.recomputation - inside, busy);
  return spent;
}
/// The same of a plan with its step time, of this cost model.            Complexity  O(sequences * parts +
/// instructions)
template <class Cost>
[[nodiscard]] rank_time rank_time_of(const plan& p, const Cost& cost) {
  return rank_time_of(p, batch_work_of(p, cost));
}

}  // namespace slimpack

#endif
