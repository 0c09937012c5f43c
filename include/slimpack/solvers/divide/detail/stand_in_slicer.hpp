#ifndef SLIMPACK_SOLVERS_DIVIDE_DETAIL_STAND_IN_SLICER_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DETAIL_STAND_IN_SLICER_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/detail/any_cost.hpp>
#include <slimpack/solvers/detail/any_slicer.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/exchange_set.hpp>

namespace slimpack::detail {

/// Cuts the stand-ins of slimpack::detail::sharing_group as another slicer does, but for shared sequences that may only
/// go round in a ring: they are for one row.
class stand_in_slicer final : public any_slicer {
 public:
  /// Requires  slicer and group outlive it
  stand_in_slicer(const any_slicer& slicer, const sharing_group& of, const exchange_set& exchanges)
      : slicer_(&slicer), group_(&of), one_row_(exchanges == exchange_set::only(exchange::ring)) {}

  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left,
                           const any_cost& cost) const override {
    if (one_row_ && group_->is_shared({s.id, {0}, s.length})) return slicers::whole{}.next(s, at, p, left, cost);
    return slicer_->next(s, at, p, left, cost);
  }

 private:
  const any_slicer* slicer_;
  const sharing_group* group_;
  bool one_row_;
};

}  // namespace slimpack::detail

#endif
