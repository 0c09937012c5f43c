#ifndef SLIMPACK_SOLVERS_DETAIL_ANY_SLICER_HPP
#define SLIMPACK_SOLVERS_DETAIL_ANY_SLICER_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/detail/any_cost.hpp>

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

}  // namespace slimpack::detail

#endif
