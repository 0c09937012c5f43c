#ifndef SLIMPACK_SIMULATORS_BOUNDS_FORWARD_BOUNDS_HPP
#define SLIMPACK_SIMULATORS_BOUNDS_FORWARD_BOUNDS_HPP

#include <slimpack/core/order/detail/local_ids.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// Least times that no plan of forward packs alone can beat. They rest on what lower_bounds.hpp rests on, of one pass.
namespace slimpack::simulators {

/// The least that any plan can run last of a sequence, as if nothing came before it: the tokens after the last possible
/// cut. Where samples share beginnings it is one token: a copy of a path moves the first token of a sequence, and with
/// it the cuts (core/forest/forest_cut.hpp).
[[nodiscard]] constexpr slice last_slice(const sequence& s, tokens quantum, bool may_move = false) noexcept {
  return {s.id, {0}, tokens{may_move ? 1 : (s.length.value - 1) % quantum.value + 1}};
}

/// Time after `part` has run the last forward of a sequence: its last slice through the parts behind.
/// Proof     (b), (c) of lower_bounds.hpp: that slice leaves parts part + 1, part + 2, ... in some pack, which takes no
///           less than the slice alone, and that no less than the same tokens without a prefix (law 3).
template <class Cost>
[[nodiscard]] seconds leave_time(const Cost& cost, const shape& shape, const slice& last, int part) {
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
///           it. With it some sequence ends, whose last slice then leaves through the parts behind. No first slice is
///           faster than that of the shortest root.
template <class Cost>
[[nodiscard]] seconds forward_stage_bound(const Cost& cost, const shape& shape, std::span<const sequence> batch,
                                          int stage) {
  seconds all{};
  seconds overhead{};
  for (int part = stage; part < shape.parts(); part += shape.stages) {
    for (const sequence& s : batch) all += least_time(cost, s.whole(), pass::forward, part);
    overhead += pack_overhead(cost, pass::forward, part);
  }
  const sequence& shortest = *std::min_element(batch.begin(), batch.end(), [](const sequence& a, const sequence& b) {
    return a.is_root() != b.is_root() ? a.is_root() : a.length < b.length;
  });
  const bool forks = std::any_of(batch.begin(), batch.end(), [](const sequence& s) { return !s.is_root(); });
  const auto last = [&](const sequence& s) { return last_slice(s, shape.quantum, forks); };
  const sequence& least = *std::min_element(batch.begin(), batch.end(), [&](const sequence& a, const sequence& b) {
    return last(a).length < last(b).length;
  });
  return fill_time(cost, shape, shortest, stage) + overhead + all * (1.0 / shape.replicas) +
         leave_time(cost, shape, last(least), shape.parts() - shape.stages + stage);
}

/// The own way of a path: to the part that takes it longest, all its forward there, and out.
/// Proof     its slices run on that part one after the other, or in the rows of a merge, each at least its share of the
///           row's work; the first comes through the parts before, the last leaves through those behind. So it is of
///           any part. A replica that runs the end of a path runs all of it, or has a copy
/// Shapes    root: of the path; work: of all the path on each part; last: what runs last of it; sharers: the most
///           replicas that may share a sequence            Complexity  O(parts)
template <class Cost>
[[nodiscard]] seconds way_bound(const Cost& cost, const shape& shape, const sequence& root,
                                std::span<const seconds> work, const slice& last, int sharers) {
  seconds longest{};
  int at = 0;
  for (int part = 0; part < shape.parts(); ++part)
    if (const seconds here = work[static_cast<std::size_t>(part)]; here > longest) longest = here, at = part;
  return fill_time(cost, shape, root, at) + pack_overhead(cost, pass::forward, at) + longest * (1.0 / sharers) +
         leave_time(cost, shape, last, at);
}
/// The own way of a sequence that is a path by itself.
template <class Cost>
[[nodiscard]] seconds way_bound(const Cost& cost, const shape& shape, const sequence& s, int sharers = 1) {
  std::vector<seconds> work;
  for (int part = 0; part < shape.parts(); ++part) work.push_back(least_time(cost, s.whole(), pass::forward, part));
  return way_bound(cost, shape, s, work, last_slice(s, shape.quantum), sharers);
}

/// The largest way_bound of a batch, whose sequences all replicas may share; where samples share beginnings, of their
/// paths.
/// Requires  a sequence at least; parents before their children
/// Complexity O(sequences * parts); where samples share beginnings, O(n log n) more
template <class Cost>
[[nodiscard]] bound longest_way(const Cost& cost, const shape& shape, std::span<const sequence> batch) {
  const std::vector<sequence_id> parents = detail::parents_of(detail::under_local_ids(batch));
  const auto parts = static_cast<std::size_t>(shape.parts());
  std::vector<seconds> work(batch.size() * parts);  // of each one's path
  std::vector<std::size_t> root(batch.size());
  seconds longest{};
  std::size_t of = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const sequence& s = batch[i];
    const std::span<seconds> own = std::span(work).subspan(i * parts, parts);
    for (std::size_t part = 0; part < parts; ++part) {
      own[part] = least_time(cost, s.whole(), pass::forward, static_cast<int>(part));
      if (!s.is_root()) own[part] += work[parents[i].value * parts + part];
    }
    root[i] = s.is_root() ? i : root[parents[i].value];
    const seconds t =
        way_bound(cost, shape, batch[root[i]], own, last_slice(s, shape.quantum, !parents.empty()), shape.replicas);
    if (t > longest) longest = t, of = i;
  }
  return {
      (batch[of].is_root() ? "sequence " : "path of sequence ") + std::to_string(batch[of].id.value) + ": its own way",
      longest};
}

/// Every bound of a batch that runs forward alone, named.
/// Shapes    one per stage, and the sequence or path whose own way is longest
/// Requires  no E, V, U or G; parents before their children            Errors    none; an empty batch has no bounds
/// Complexity that of longest_way
template <class Cost>
[[nodiscard]] std::vector<bound> forward_bounds(const Cost& cost, const shape& shape, std::span<const sequence> batch) {
  std::vector<bound> bounds;
  if (batch.empty()) return bounds;
  for (int r = 0; r < shape.stages; ++r)
    bounds.push_back(
        {"stage " + std::to_string(r) + ": fill + work + way out", forward_stage_bound(cost, shape, batch, r)});
  bounds.push_back(longest_way(cost, shape, batch));
  return bounds;
}

}  // namespace slimpack::simulators

#endif
