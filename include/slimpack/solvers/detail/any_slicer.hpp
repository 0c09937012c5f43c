#ifndef SLIMPACK_SOLVERS_DETAIL_ANY_SLICER_HPP
#define SLIMPACK_SOLVERS_DETAIL_ANY_SLICER_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/any_cost.hpp>

#include <cmath>
#include <limits>

namespace slimpack::detail {

/// A slicer behind a virtual call, so that a search is compiled once for all of them.
class any_slicer {
 public:
  [[nodiscard]] virtual slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                                   const any_cost& cost) const = 0;

 protected:
  any_slicer() = default;
  any_slicer(const any_slicer&) = default;
  any_slicer& operator=(const any_slicer&) = default;
  ~any_slicer() = default;
};

/// That of a slicer. Where it cuts by the model that it was made with, as it nearly always does, it asks it itself.
template <class Slicer, class Cost>
class slicer_behind final : public any_slicer {
 public:
  /// Requires  both outlive it
  slicer_behind(const Slicer& slicer, const cost_behind<Cost>& cost) noexcept : slicer_(slicer), cost_(cost) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    if (&cost == &cost_) return slicer_.next(s, at, p, left, cost_.model());
    return slicer_.next(s, at, p, left, cost);
  }

 private:
  const Slicer& slicer_;
  const cost_behind<Cost>& cost_;
};

/// Cuts between given pieces alone, where that comes nearest to the pack's time: packs that are cut anew then change no
/// piece of the other pass.
class piece_slicer final : public any_slicer {
 public:
  /// Requires  it outlives this
  explicit piece_slicer(const common_cuts& cuts) noexcept : cuts_(&cuts) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    const slice rest = p == pass::forward ? slice{s.id, at, s.length - at} : slice{s.id, {0}, at};
    slice best{s.id, at, {0}};
    double off = left.empty ? std::numeric_limits<double>::infinity() : left.time.value;
    slice grown = best;
    cuts_->each_piece_while(rest, p, [&](const slice& piece) {
      if (p == pass::backward) grown.begin = piece.begin;
      grown.length += piece.length;
      if (grown.length > left.size) return false;
      const double over = cost.time(grown, p, left.part).value - left.time.value;
      if (std::abs(over) <= off) best = grown, off = std::abs(over);
      return over <= 0;  // further pieces are further off
    });
    return best;
  }

 private:
  const common_cuts* cuts_;
};

}  // namespace slimpack::detail

#endif
