#ifndef SLIMPACK_SOLVERS_DETAIL_PIECE_SLICER_HPP
#define SLIMPACK_SOLVERS_DETAIL_PIECE_SLICER_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/any_cost.hpp>
#include <slimpack/solvers/detail/any_slicer.hpp>

#include <cmath>
#include <limits>

namespace slimpack::detail {

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
