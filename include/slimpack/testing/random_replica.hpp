#ifndef SLIMPACK_TESTING_RANDOM_REPLICA_HPP
#define SLIMPACK_TESTING_RANDOM_REPLICA_HPP

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::testing {

/// What dense attention keeps of a piece: its scores, a number of bytes for each query and key.
struct dense_scores {
  double per_score{};  ///< bytes on stage 0; others keep more

  [[nodiscard]] constexpr bytes operator()(const slice& piece, int stage, tokens /*first*/ = {}) const noexcept {
    return {per_score * (1 + stage) * static_cast<double>(piece.length.value) * static_cast<double>(piece.end().value)};
  }
};

/// A quadratic cost model of a trainer with dense attention.
struct dense_cost : costs::quadratic {
  dense_scores scores;

  [[nodiscard]] constexpr std::optional<memory_rates> memory(int /*stage*/) const noexcept { return memory_rates{}; }
  [[nodiscard]] constexpr bytes kept(const slice& piece, int stage) const noexcept { return scores(piece, stage); }
};

/// One replica's packs and what they cost: what a schedule is asked, and what the laws count again.
struct random_replica {
  std::vector<tokens> lengths;
  partition packs;
  workload work;
  dense_scores scores{};  ///< of the pieces: none, unless keep_scores has been called
};

/// Any order in which a pass may run whole sequences that go on behind each other: a parent before its children
/// forward, and after them backward.
[[nodiscard]] inline std::vector<sequence> any_order(std::vector<sequence> all, pass p, generator& random) {
  std::vector<sequence> order;
  random.shuffle(all);
  const auto waits = [&](const sequence& s) {
    return std::any_of(all.begin(), all.end(), [&](const sequence& other) {
      return p == pass::forward ? s.parent == other.id : other.parent == s.id;
    });
  };
  while (!all.empty()) {
    const auto next = std::find_if_not(all.begin(), all.end(), waits);
    order.push_back(*next);
    all.erase(next);
  }
  return order;
}

/// Random packs of a batch, its sequences in random orders, cut by a random slicer under random budgets, forward and
/// backward apart.
[[nodiscard]] inline partition random_partition(const batch_view& batch, tokens quantum, const costs::quadratic& cost,
                                                generator& random) {
  std::vector<sequence> order = batch.sequences();
  double work[2] = {0, 0};
  for (const sequence& s : order)
    for (const pass p : {pass::forward, pass::backward}) work[p == pass::backward] += cost.time(s.whole(), p, 0).value;
  partition packs;
  for (const pass p : {pass::forward, pass::backward}) {
    if (batch.shares_prefixes())
      order = any_order(batch.sequences(), p, random);
    else if (random.once_in(2))
      random.shuffle(order);
    const double share = work[p == pass::backward] / static_cast<double>(random.between(1, 24));
    const auto budget = [&](seconds) { return seconds{share * (0.25 + random.ratio())}; };
    const bool apart = random.once_in(4);
    const auto turns_alone = [&](const sequence&) { return apart; };
    const cut_budget base{{}, {std::numeric_limits<std::int64_t>::max()}, quantum, 0, true};
    micropacks& side = packs.of(p);
    // No token cap, so that filling cannot fail.
    if (random.once_in(2))
      (void)slimpack::detail::fill(side, order, p, slicers::equal_cost{}, cost, base, budget, turns_alone);
    else
      (void)slimpack::detail::fill(side, order, p, slicers::uniform{quantum * random.between(1, 64)}, cost, base,
                                   budget, turns_alone);
  }
  return packs;
}

/// A replica of up to 6 stages and 10 sequences. In half of them, packs and messages take small whole numbers of
/// seconds, zero among them, so that ties are common; memory rates are whole numbers, so that sums are exact.
[[nodiscard]] inline random_replica any_replica(const options& o, generator& random) {
  random_replica made;
  for (std::int64_t n = random.between(1, 10); n > 0; --n) made.lengths.push_back(random.length(o.longest));
  const costs::quadratic cost{.attention = 4e-11 * static_cast<double>(random.between(0, 3)),
                              .per_pack = {1e-4 * random.ratio()},
                              .hop = {1e-3 * static_cast<double>(random.between(0, 2))}};
  made.packs = random_partition(made.lengths, o.quantum, cost, random);
  shape on;
  on.stages = static_cast<int>(random.between(1, 6));
  on.chunks = static_cast<int>(random.between(1, o.chunks));
  on.quantum = o.quantum;
  std::vector<memory_rates> rates(static_cast<std::size_t>(on.stages));
  if (random.once_in(2))
    for (memory_rates& r : rates)
      for (double memory_rates::*rate : {&memory_rates::fixed, &memory_rates::live_token, &memory_rates::gradient_token,
                                         &memory_rates::forward_token, &memory_rates::backward_token})
        r.*rate = static_cast<double>(random.between(0, 5));
  made.work = price(made.packs, cost, on, std::move(rates));
  if (random.once_in(2))
    for (const pass p : both_passes)
      for (std::vector<seconds>* times : {&made.work.times.calls[p], &made.work.times.messages[p]})
        for (seconds& s : *times) s = {static_cast<double>(random.between(0, 4))};
  return made;
}

/// Takes the weight gradients of some packs, or all, out of their backward, in some share of its time.
inline void split_weights(random_replica& made, generator& random) {
  workload& work = made.work;
  const auto parts = static_cast<std::size_t>(work.shape.parts());
  const bool all = random.once_in(2);
  const double share = 0.25 * static_cast<double>(random.between(0, 4));
  std::vector<seconds>& inputs = work.times.calls[pass::backward];
  std::vector<seconds>& weights = work.times.calls[instruction_kind::weights];
  weights.assign(inputs.size(), seconds{});
  for (std::size_t pack = 0; pack < work.times.packs(pass::backward); ++pack) {
    work.times.apart.flags.push_back(all || random.once_in(2) ? 1 : 0);
    if (!work.times.apart.splits(pack)) continue;
    for (std::size_t cell = pack * parts; cell < (pack + 1) * parts; ++cell) {
      weights[cell] = inputs[cell] * share;
      inputs[cell] = inputs[cell] * (1 - share);
    }
  }
}

/// Lets a schedule take the weight gradients of packs out of their backward, in some share of its time; for the same
/// time in all or, half of the time, for a launch more.
inline void offer_weights(random_replica& made, generator& random) {
  workload& work = made.work;
  const double share = 0.25 * static_cast<double>(random.between(0, 4));
  const double launch = random.once_in(2) ? 0 : 0.05;
  for (const seconds whole : work.times.calls[pass::backward]) {
    work.split.inputs.push_back(whole * (1 - share));
    work.split.weights.push_back(whole * (share + launch));
  }
}

/// Makes weight gradients that run apart need something beside activations, on some stages.
inline void keep_for_weights(random_replica& made, generator& random) {
  for (memory_rates& r : made.work.rates) r.weight_token = static_cast<double>(random.between(0, 3));
}

/// Spreads the vocabulary of a replica over its stages: calls and messages of its ends take small whole numbers of
/// seconds, or none.
/// Requires  2 stages or more
inline void spread_vocabulary(random_replica& made, generator& random) {
  workload& work = made.work;
  work.shape.vocabulary = vocabulary::spread;
  const auto stages = static_cast<std::size_t>(work.shape.stages), parts = static_cast<std::size_t>(work.shape.parts());
  const std::int64_t most = random.between(0, 4);
  const auto some = [&] { return seconds{static_cast<double>(random.between(0, most))}; };
  for (const time_column c : time_columns) {
    if (c.each() == places::parts) continue;
    work.times[c].resize(work.times.packs(c.pass()) * stages);
    for (seconds& s : work.times[c]) s = some();
  }
  for (std::size_t i = 0; i < work.times.packs(pass::backward); ++i)
    work.times.messages[pass::backward][i * parts] = some();  // to G on the last
                                                              // stage
  for (memory_rates& r : work.rates)
    r.logit_token = static_cast<double>(random.between(0, 5)),
    r.turned_token = static_cast<double>(random.between(0, 5));
}

/// Makes running packs hold something for each of their dense pairs, on some stages.
inline void hold_pairs(random_replica& made, generator& random) {
  for (memory_rates& r : made.work.rates)
    r.forward_pair = static_cast<double>(random.between(0, 2)),
    r.backward_pair = static_cast<double>(random.between(0, 2));
}

/// Makes the pieces of a replica keep the scores of dense attention.
inline void keep_scores(random_replica& made, generator& random) {
  made.scores.per_score = 0.25 * static_cast<double>(random.between(1, 8));
  slimpack::detail::follow_kept(made.packs, dense_cost{{}, made.scores}, {}, made.work);
}

}  // namespace slimpack::testing

#endif
