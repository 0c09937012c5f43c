#ifndef SLIMPACK_SIMULATORS_BOUNDS_FORWARD_BOUNDS_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_FORWARD_BOUNDS_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

/// Least times that no plan of forward packs alone can beat. They rest on what lower_bounds.hpp rests on, of one pass.
namespace slimpack::simulators {

/// The least that any plan can run last of a sequence, as if nothing came before it: the tokens after the last possible
/// cut.
[[nodiscard]] constexpr slice last_slice(const sequence& s, tokens quantum) noexcept {
  return {s.id, {0}, tokens{(s.length.value - 1) % quantum.value + 1}};
}

/// Time after `part` has run the last forward of the sequence: its last slice through the parts behind.
/// Proof     (b), (c) of lower_bounds.hpp: that slice leaves parts part + 1, part + 2, ... in some pack, which takes no
///           less than the slice alone, and that no less than the same tokens without a prefix (law 3).
template <class Cost>
[[nodiscard]] seconds leave_time(const Cost& cost, const shape& shape, const sequence& s, int part) {
  const slice last = last_slice(s, shape.quantum);
  seconds sum{};
  for (int q = part + 1; q < shape.parts(); ++q)
    sum += message_time(cost, last.length, pass::forward, q - 1) + pack_overhead(cost, pass::forward, q) +
           cost.time(last, pass::forward, q);
  return sum;
}

/// What the busiest replica's stage must do, between the least fill and the least way out.
/// Proof     Some replica has at least the mean work of stage r, and at least one pack on each chunk. The stage cannot
///           start before some sequence's first slice arrives (fill_time). What it runs last is the last pack on its
///           last chunk, since that comes after the same pack on every chunk, and each of these after all packs before
///           it. With it some sequence ends, whose last slice then leaves through the parts behind.
template <class Cost>
[[nodiscard]] seconds forward_stage_bound(const Cost& cost, const shape& shape, std::span<const sequence> batch,
                                          int stage) {
  seconds all{};
  seconds overhead{};
  for (int part = stage; part < shape.parts(); part += shape.stages) {
    for (const sequence& s : batch) all += least_time(cost, {s.id, {0}, s.length}, pass::forward, part);
    overhead += pack_overhead(cost, pass::forward, part);
  }
  const sequence& shortest = *std::min_element(
      batch.begin(), batch.end(), [](const sequence& a, const sequence& b) { return a.length < b.length; });
  const sequence& least = *std::min_element(batch.begin(), batch.end(), [&](const sequence& a, const sequence& b) {
    return last_slice(a, shape.quantum).length < last_slice(b, shape.quantum).length;
  });
  return fill_time(cost, shape, shortest, stage) + overhead + all * (1.0 / shape.replicas) +
         leave_time(cost, shape, least, shape.parts() - shape.stages + stage);
}

/// One sequence's own way: to the part that takes it longest, all its forward there, and out.
/// Proof     its slices run on that part one after the other, or in the rows of a merge, each at least its share of the
///           row's work; the first comes through the parts before, the last leaves through those behind. So it is of
///           any part.
/// Shapes    sharers: the most replicas that may share the sequence            Complexity  O(parts)
template <class Cost>
[[nodiscard]] seconds way_bound(const Cost& cost, const shape& shape, const sequence& s, int sharers = 1) {
  seconds longest{};
  int at = 0;
  for (int part = 0; part < shape.parts(); ++part)
    if (const seconds work = least_time(cost, {s.id, {0}, s.length}, pass::forward, part); work > longest)
      longest = work, at = part;
  return fill_time(cost, shape, s, at) + pack_overhead(cost, pass::forward, at) + longest * (1.0 / sharers) +
         leave_time(cost, shape, s, at);
}

/// Every bound of a batch that runs forward alone, named.
/// Shapes    one per stage, and the sequence whose own way is longest
/// Requires  no E, V, U or G            Errors    none; an empty batch has no bounds
/// Complexity O(sequences * parts)
template <class Cost>
[[nodiscard]] std::vector<bound> forward_bounds(const Cost& cost, const shape& shape, std::span<const sequence> batch) {
  std::vector<bound> bounds;
  if (batch.empty()) return bounds;
  for (int r = 0; r < shape.stages; ++r)
    bounds.push_back(
        {"stage " + std::to_string(r) + ": fill + work + way out", forward_stage_bound(cost, shape, batch, r)});
  seconds longest{};
  sequence_id of = batch.front().id;
  for (const sequence& s : batch)
    if (const seconds t = way_bound(cost, shape, s, shape.replicas); t > longest) longest = t, of = s.id;
  bounds.push_back({"sequence " + std::to_string(of.value) + ": its own way", longest});
  return bounds;
}

}  // namespace slimpack::simulators

#endif
