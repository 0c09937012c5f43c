#ifndef SLIMPACK_SLICERS_CUT_BUDGET_HPP
#define SLIMPACK_SLICERS_CUT_BUDGET_HPP

#include <slimpack/core/units.hpp>

namespace slimpack {

/// What the open pack can still take: the question a solver asks a slicer.
struct cut_budget {
  seconds time;         ///< left, as the cost model counts on `part`
  tokens size;          ///< left; never exceeded
  tokens quantum{128};  ///< cuts fall on its multiples, counted from the sequence's first token
  int part{};           ///< the part whose time is balanced: the busiest
  bool empty{};         ///< the pack holds nothing yet: some slice must be taken, were it over `time`
};

}  // namespace slimpack

#endif
