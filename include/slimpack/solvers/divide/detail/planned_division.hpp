#ifndef SLIMPACK_SOLVERS_DIVIDE_DETAIL_PLANNED_DIVISION_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DETAIL_PLANNED_DIVISION_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <vector>

namespace slimpack::detail {

/// A division with its plan, and when each of its units ends.
struct planned_division {
  division units;
  std::vector<seconds> ends;
  solution solved;
  [[nodiscard]] seconds end() const { return *std::max_element(ends.begin(), ends.end()); }
};

}  // namespace slimpack::detail

#endif
