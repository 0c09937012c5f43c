#ifndef SLIMPACK_SOLVERS_PACK_REFILL_HPP
#define SLIMPACK_SOLVERS_PACK_REFILL_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>

#include <cstddef>
#include <span>

namespace slimpack::detail {

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
