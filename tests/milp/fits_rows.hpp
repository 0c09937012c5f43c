#ifndef SLIMPACK_TESTS_MILP_FITS_ROWS_HPP
#define SLIMPACK_TESTS_MILP_FITS_ROWS_HPP

#include <slimpack/solvers/milp/model.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::tests {

/// Whether values are a solution of a model: each in its column's range, whole where it must be, and every row met.
[[nodiscard]] inline ::testing::AssertionResult fits_rows(const detail::milp_model& model,
                                                          const std::vector<double>& values) {
  constexpr double rounding = 1e-9;
  if (values.size() != model.columns().size())
    return ::testing::AssertionFailure() << values.size() << " values of " << model.columns().size() << " columns";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const detail::milp_model::column& c = model.columns()[i];
    if (!(values[i] >= c.low - rounding && values[i] <= c.high + rounding) ||
        (c.integer && values[i] != 0 && values[i] != 1))
      return ::testing::AssertionFailure()
             << "column " << i << " is " << values[i] << ", of " << c.low << " to " << c.high;
  }
  for (std::size_t i = 0; i < model.rows().size(); ++i) {
    double sum = 0;
    for (const detail::linear_sum::term& t : model.rows()[i].terms)
      sum += t.factor * values[static_cast<std::size_t>(t.variable)];
    if (!(sum >= model.rows()[i].low - rounding))
      return ::testing::AssertionFailure() << "row " << i << " is " << sum << ", less than " << model.rows()[i].low;
  }
  return ::testing::AssertionSuccess();
}

/// What values cost.
[[nodiscard]] inline double objective_of(const detail::milp_model& model, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += model.columns()[i].cost * values[i];
  return sum;
}

}  // namespace slimpack::tests

#endif
