#ifndef SLIMPACK_SIMULATORS_BOUNDS_LOWER_BOUNDS_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_LOWER_BOUNDS_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/order/detail/local_ids.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/simulators/bounds/residence.hpp>
#include <slimpack/simulators/bounds/stage_loss.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Least step times that no plan of a batch can beat, whatever its assignment to replicas, cuts, packs, orders,
/// merges or split of weight gradients. Each is a function with its proof; `lower_bounds` lists them all.
/// They rest on cost_model laws 3 (what grows, and what has no prefix) and 4 (cutting conserves time; hook `least`), and
/// on these facts of a plan:
///   (a) the first slice of a path holds its tokens [0, min(quantum, length of its root)), and runs first forward, last
///       backward; a longer one grows at its end;
///   (b) a pack costs at least its overhead and the least times of its slices; and its overhead and all of the time of
///       any one, also with the weight gradients of both left out (cost_model law 2);
///   (c) parts are passed one after the other, a message apart, by all packs of a pass in one order;
///   (d) weight gradients run with their pack's backward on all stages, or apart on all;
///   (e) in a merge, the packs of a row start and end together, and a token runs backward where it ran forward.
namespace slimpack::simulators {

/// The least that any plan can run first of a path.            Shapes  s: its root, also below
[[nodiscard]] constexpr slice first_slice(const sequence& s, tokens quantum) noexcept {
  return {s.id, {0}, std::min(quantum, s.length)};
}

/// Time before `part` can run anything of the sequence: its first slice through the parts before.
/// Proof     (a), (b), (c): the first slice must leave part 0, 1, ..., part - 1, each in some pack, which takes no less
///           than that slice alone. Nothing adds up here, so `time` serves, and not `least`.
template <class Cost>
[[nodiscard]] seconds fill_time(const Cost& cost, const shape& shape, const sequence& s, int part) {
  const slice first = first_slice(s, shape.quantum);
  seconds sum{};
  // Where the vocabulary is spread, all stages embed some token first.
  if (shape.vocabulary == vocabulary::spread)
    for (int stage = 0; stage < shape.stages; ++stage)
      sum += vocabulary_time(cost, {1}, instruction_kind::embed, stage) +
             vocabulary_message(cost, {1}, message_kind::embedded, stage);
  for (int q = 0; q < part; ++q)
    sum += pack_overhead(cost, pass::forward, q) + cost.time(first, pass::forward, q) +
           message_time(cost, first.length, pass::forward, q);
  return sum;
}

/// Time after `part` has run its last backward of the sequence: the first slice through the parts before, weight
/// gradients left out, since a plan may delay them past the last message.
/// Proof     (a), (b), (c): the sequence's first slice is the last to leave each part backward, as in fill_time; what
///           is left of its backward beside weight gradients does not fall if the plan cuts it longer (law 3).
template <class Cost>
[[nodiscard]] seconds drain_time(const Cost& cost, const shape& shape, const sequence& s, int part) {
  const slice first = first_slice(s, shape.quantum);
  seconds sum{};
  for (int q = part - 1; q >= 0; --q)
    sum += message_time(cost, first.length, pass::backward, q + 1) + pack_overhead(cost, pass::backward, q) +
           cost.time(first, pass::backward, q) - weight_time(cost, first, q);
  return sum;
}

/// What the busiest replica's stage must do, between the least fill and the least drain.
/// Proof     Some replica has at least the mean work of stage r, and at least one forward and one backward pack on
///           each chunk. The stage cannot start before some sequence's first slice arrives (fill), and no first slice
///           is faster than that of the shortest root (law 3). It ends with everything done: fill + F + B + W.
///           And after the last backward that feeds the stage before, which comes after all its F and B, a drain
///           must follow: fill + F + B + drain. Its first forward and its last backward are of chunk 0, part r.
///           Of a spread vocabulary, what the stage embeds may fall into the fill, and what U and G do after its last
///           backward, as weight gradients. V does not: no token runs backward on any stage before its V.
template <class Cost>
[[nodiscard]] seconds stage_bound(const Cost& cost, const shape& shape, std::span<const sequence> batch, int stage) {
  seconds all{};
  seconds weights{};
  seconds overhead{};
  for (int part = stage; part < shape.parts(); part += shape.stages) {
    for (const sequence& s : batch) {
      const slice whole = s.whole();
      all += least_time(cost, whole, pass::forward, part) + least_time(cost, whole, pass::backward, part);
      weights += least_weight_time(cost, whole, part);
    }
    overhead += pack_overhead(cost, pass::forward, part) + pack_overhead(cost, pass::backward, part);
  }
  if (shape.vocabulary == vocabulary::spread) {
    tokens size{};
    for (const sequence& s : batch) size += s.length;
    const seconds late = vocabulary_time(cost, size, instruction_kind::output_weights, stage) +
                         vocabulary_time(cost, size, instruction_kind::embed_gradients, stage);
    all += vocabulary_time(cost, size, instruction_kind::output, stage) + late;
    weights += late;
  }
  const sequence& shortest = *std::min_element(batch.begin(), batch.end(), [](const sequence& a, const sequence& b) {
    return a.is_root() != b.is_root() ? a.is_root() : a.length < b.length;
  });
  const double share = 1.0 / shape.replicas;
  return fill_time(cost, shape, shortest, stage) + overhead +
         std::max(all * share, (all - weights) * share + drain_time(cost, shape, shortest, stage));
}

/// The mean of the stages' bounds: what holds where they are tied (core/ensemble/stage_ties.hpp), which moves work from
/// one to another.
/// Proof     the sum of what all stages of a replica do is what it was, and some replica has at least the mean of it.
///           In each stage's bound its own work counts as before; what it does for others comes on top, and what others
///           do for it is taken off. Fill and drain are of first slices, whose work stays, as no token lies before
///           them. Messages only add to all this
template <class Cost>
[[nodiscard]] bound mean_stage_bound(const Cost& cost, const shape& shape, std::span<const sequence> batch) {
  seconds sum{};
  for (int r = 0; r < shape.stages; ++r) sum += stage_bound(cost, shape, batch, r);
  return {"all stages, in the mean: fill + work + drain", sum * (1.0 / shape.stages)};
}

/// What a sequence takes before and after its work on the last part: the way there and back of its first slice, on
/// which alone it depends.
struct chain_ends {
  seconds there{};
  seconds back{};
};
template <class Cost>
[[nodiscard]] chain_ends chain_ends_of(const Cost& cost, const shape& shape, const sequence& s) {
  const int last = shape.parts() - 1;
  seconds turn{};  // of a spread vocabulary: the slowest way of a part to the last stage, and V there
  if (shape.vocabulary == vocabulary::spread) {
    for (int stage = 0; stage + 1 < shape.stages; ++stage)
      turn = std::max(turn, vocabulary_message(cost, {1}, message_kind::hidden, stage) +
                                vocabulary_time(cost, {1}, instruction_kind::output, stage) +
                                vocabulary_message(cost, {1}, message_kind::partial, stage));
    turn += vocabulary_time(cost, {1}, instruction_kind::output, shape.stages - 1);
  }
  return {fill_time(cost, shape, s, last) + turn + pack_overhead(cost, pass::forward, last) +
              pack_overhead(cost, pass::backward, last),
          drain_time(cost, shape, s, last)};
}

/// Its work on the last part.            Shapes  sharers: the most replicas that may share the sequence
template <class Cost>
[[nodiscard]] seconds chain_work(const Cost& cost, const shape& shape, const sequence& s, int sharers) {
  const int last = shape.parts() - 1;
  const slice whole = s.whole();
  const seconds there = least_time(cost, whole, pass::forward, last);
  const seconds back = least_time(cost, whole, pass::backward, last) - least_weight_time(cost, whole, last);
  return (there + back) * (1.0 / sharers);
}

/// One sequence's own way: to the last part, all its forward there, then all its backward there, and back.
/// Proof     On the last part every backward of a sequence follows all its forwards, since its last tokens come first.
///           They run on one stage, one after the other, or in the rows of a merge, each at least its share of the
///           row's work.
/// Shapes    sharers: the most replicas that may share the sequence
template <class Cost>
[[nodiscard]] seconds chain_bound(const Cost& cost, const shape& shape, const sequence& s, int sharers = 1) {
  const chain_ends ends = chain_ends_of(cost, shape, s);
  return ends.there + chain_work(cost, shape, s, sharers) + ends.back;
}

/// The largest chain_bound of a batch, whose sequences all replicas may share; of its first where nothing takes time.
/// Of samples that share beginnings, that of a path: its tokens are forwarded from the root down, each after those that
/// it reads, and their backwards come in the other order.
/// Requires  a sequence at least; parents before their children
/// Complexity O(sequences), and O(parts) for the quantum, with which most begin, and for each root that is shorter;
///           where samples share beginnings, O(n log n)
template <class Cost>
[[nodiscard]] bound longest_chain(const Cost& cost, const shape& shape, std::span<const sequence> batch) {
  std::optional<chain_ends> of_quantum;
  seconds longest{};
  std::size_t of = 0;
  const std::vector<sequence_id> parents = detail::parents_of(detail::under_local_ids(batch));
  std::vector<chain_ends> ends(batch.size());  // of each one's path
  std::vector<seconds> work(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const sequence& s = batch[i];
    work[i] = chain_work(cost, shape, s, shape.replicas);
    if (s.is_root()) {
      const bool is_short = s.length < shape.quantum;
      if (!is_short && !of_quantum) of_quantum = chain_ends_of(cost, shape, s);
      ends[i] = is_short ? chain_ends_of(cost, shape, s) : *of_quantum;
    } else {
      ends[i] = ends[parents[i].value];
      work[i] += work[parents[i].value];
    }
    const seconds t = ends[i].there + work[i] + ends[i].back;
    if (t > longest) longest = t, of = i;
  }
  return {(batch[of].is_root() ? "sequence " : "path of sequence ") + std::to_string(batch[of].id.value) +
              ": there, turn and back",
          longest};
}

/// Every bound of a batch on its pipelines, named; gradient reduction comes on top, the same for every plan.
/// Shapes    rates: one per stage, from rates_of; bounds: one per stage, one with its packs for the stage that takes
///           longest by these where there is more than one, and the largest chain
/// Borders   no bound with packs where samples share beginnings that end between two multiples of the quantum, on
///           several replicas, under a model with borders: a copy of a path moves cuts (core/forest/forest_cut.hpp), and
///           of the tokens behind its last one may lie right behind a border
/// Errors    none; an empty batch has no bounds            Complexity  O(sequences * parts)
template <class Cost>
[[nodiscard]] std::vector<bound> lower_bounds(const Cost& cost, const shape& shape, std::span<const sequence> batch,
                                              std::span<const memory_rates> rates) {
  std::vector<bound> bounds;
  if (batch.empty()) return bounds;
  int busiest = 0;
  for (int r = 0; r < shape.stages; ++r) {
    bounds.push_back({"stage " + std::to_string(r) + ": fill + work + drain", stage_bound(cost, shape, batch, r)});
    if (bounds.back().time > bounds[static_cast<std::size_t>(busiest)].time) busiest = r;
  }
  // Calls of a spread vocabulary can fill what packs would lose.
  if (shape.stages > 1 && shape.vocabulary == vocabulary::last) {
    const seconds least = bounds[static_cast<std::size_t>(busiest)].time;
    const batch_quanta all(batch, shape.quantum);
    if (const bool may_move = shape.replicas > 1 && all.has_between(); !may_move || !has_borders(cost)) {
      const residence memory(cost, shape, batch, all, rates);
      const stage_loss packs(cost, shape, batch, all, busiest, memory, memory.tightest(least));
      bounds.push_back({"stage " + std::to_string(busiest) + ": fill + work + packs + drain", packs.bound(least)});
    }
  }
  bounds.push_back(longest_chain(cost, shape, batch));
  return bounds;
}

}  // namespace slimpack::simulators

#endif
