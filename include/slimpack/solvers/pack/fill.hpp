#ifndef SLIMPACK_SOLVERS_PACK_FILL_HPP
#define SLIMPACK_SOLVERS_PACK_FILL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/cost_questions.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace slimpack::detail {

/// Fills packs from sequences taken one after the other, each cut by the slicer where a pack is full.
/// `base` gives quantum, part and the token cap of a pack; `budget(done)` the next pack's time, `done` being the work
/// in the packs before it. A pack that has used up its time takes no more, even from a slicer that ignores time.
/// Nor is a pack closed for time before its slices take `worth_overheads`, two, times what it costs besides them:
/// launches, and, where slices are thin or have a long prefix, a device that they do not fill. Smaller ones lose more
/// than they can gain; only where `budget` asks for no time at all, since the least memory is wanted, packs are as
/// small as can be. A sequence runs front to back forward and back to front backward, so every order of sequences is a
/// legal run order in which parents come before their children forward, and after them backward. Where
/// `apart(sequence)`, no other sequence shares a pack with its turn: the last forward and the first backward pack of it
/// hold no later and no earlier sequence.
/// Errors    out_of_memory: a slice that the slicer insists on exceeds the token cap
template <class Slicer, class Cost, class Budget, class Apart>
result<void> fill(micropacks& packs, std::span<const sequence> order, pass p, const Slicer& slicer, const Cost& cost,
                  const cut_budget& base, Budget&& budget, const Apart& apart,
                  double worth_overheads = solvers::default_search_options.tuning.worth_overheads) {
  const seconds call = call_overhead_of(cost, p, base.part);
  seconds done{};
  seconds used{};  // calls of slices included
  tokens held{};
  seconds room = budget(done);
  bool smallest = room <= seconds{};
  bool empty = true;
  const auto worth = [&] {
    if (smallest) return seconds{};
    if (has_pack_times(cost)) return (pack_time(cost, packs.open(), p, base.part) - used) * worth_overheads;
    return (pack_overhead(cost, p, base.part) + call) * worth_overheads;
  };
  const auto close = [&] {
    packs.close();
    done += used;
    used = {}, held = {}, empty = true;
    room = budget(done);
    smallest = room <= seconds{};
  };
  for (const sequence& s : order) {
    tokens left = s.length;
    const bool alone = apart(s);
    if (alone && p == pass::backward && !empty) close();
    while (left > tokens{0}) {
      if (used > room) {
        room = worth();
        if (used >= room) close();
      }
      const tokens at = p == pass::forward ? s.end() - left : s.begin + left;
      const slice next =
          slicer.next(s, at, p, {room - used - call, base.size - held, base.quantum, base.part, empty}, cost);
      if (next.length == tokens{0}) {
        if (empty)
          return error{errc::out_of_memory, "a slice of sequence " + std::to_string(s.id.value) + " (" +
                                                std::to_string(s.length.value) + " tokens) exceeds the pack limit of " +
                                                std::to_string(base.size.value) + " tokens"};
        if (const seconds least = worth(); room < least)
          room = least;
        else
          close();
        continue;
      }
      packs.push(next);
      used += cost.time(next, p, base.part) + call;
      held += next.length;
      left -= next.length;
      empty = false;
    }
    if (alone && p == pass::forward) close();
  }
  packs.close();
  return success();
}

/// Cuts what packs hold anew, into packs of these times; the last takes what is left, and further ones what a pack may
/// not hold. False where a slice does not fit, or the slicer would cut beyond a run.
/// Shapes    runs: in run order of a pass, each of its sequence in one; sequences: indexed by sequence_id; times:
///           seconds on base.part, one at least            Errors  none
/// Complexity O(slices * log(quanta))
template <class Slicer, class Cost>
[[nodiscard]] bool refill(micropacks& packs, std::span<const slice> runs, pass p, std::span<const double> times,
                          std::span<const sequence> sequences, const Slicer& slicer, const Cost& cost,
                          const cut_budget& base) {
  packs.clear();
  std::size_t pack = 0;
  double left = times[0];
  tokens held{};
  bool empty = true;
  const auto close = [&] {
    packs.close();
    if (pack + 1 < times.size()) ++pack;
    left = times[pack];
    held = {}, empty = true;
  };
  for (const slice& run : runs) {
    const sequence& whole = sequences[run.sequence.value];
    for (tokens rest = run.length; rest > tokens{0};) {
      const bool last = pack + 1 == times.size();
      const double rounding = 1e-9 * times[pack];
      if (!last && !empty && left <= rounding) {
        close();
        continue;
      }
      const bool forward = p == pass::forward;
      const slice all{run.sequence, forward ? run.end() - rest : run.begin, rest};
      const double budget = last ? cost.time(all, p, base.part).value * (1 + 1e-9) : left + rounding;
      const slice next = slicer.next(whole, forward ? all.begin : all.end(), p,
                                     {{budget}, base.size - held, base.quantum, base.part, empty}, cost);
      if (next.length > rest || (next.length == tokens{0} && empty)) return false;
      if (next.length == tokens{0}) {
        close();
        continue;
      }
      packs.push(next);
      left -= cost.time(next, p, base.part).value;
      held += next.length;
      rest -= next.length;
      empty = false;
    }
  }
  packs.close();
  return true;
}

}  // namespace slimpack::detail

#endif
