#ifndef SLIMPACK_PROFILING_DETAIL_NONNEGATIVE_HPP
#define SLIMPACK_PROFILING_DETAIL_NONNEGATIVE_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

/// Linear equations in N unknowns that are not negative.
template <std::size_t N>
class nonnegative {
 public:
  using row = std::array<double, N>;

  [[nodiscard]] static double product(const row& a, const row& b) noexcept {
    double sum = 0;
    for (std::size_t k = 0; k < N; ++k) sum += a[k] * b[k];
    return sum;
  }

  void push(const row& factors, double value) { factors_.push_back(factors), values_.push_back(value); }

  /// The unknowns with the least squares of errors, each divided by its value, or by a hundredth of the largest value
  /// where that is more: of all sets of unknowns, the best of those that are not negative. Unknowns that the equations
  /// do not tell apart are 0 as far as others explain them.
  /// Source    derived: the least squares under such limits are free ones of some set of unknowns
  /// Complexity O(rows * N^2 + 2^N (N^3 + rows))
  [[nodiscard]] row solved() const {
    double largest = 0;
    for (const double y : values_) largest = std::max(largest, std::abs(y));
    row best{};
    if (!(largest > 0)) return best;
    std::vector<double> scale;
    for (const double y : values_) scale.push_back(std::max(std::abs(y), largest / 100));
    double least = error(best, scale);
    for (unsigned mask = 1; mask < 1u << N; ++mask) {
      const std::optional<row> x = free(mask, scale);
      if (!x || std::any_of(x->begin(), x->end(), [](double one) { return one < 0; })) continue;
      // More unknowns fit better by rounding alone.
      if (const double off = error(*x, scale); off < least * (1 - 1e-9) - 1e-18) least = off, best = *x;
    }
    return best;
  }

 private:
  [[nodiscard]] double error(const row& x, const std::vector<double>& scale) const {
    double sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double off = (product(factors_[i], x) - values_[i]) / scale[i];
      sum += off * off;
    }
    return sum;
  }

  /// Least squares of the unknowns in `mask`, the others 0, by Cholesky's method. Columns are scaled to length 1, since
  /// pairs are millions. None where they are not independent.
  [[nodiscard]] std::optional<row> free(unsigned mask, const std::vector<double>& scale) const {
    std::array<row, N> normal{};
    row right{}, length{};
    for (std::size_t i = 0; i < values_.size(); ++i)
      for (std::size_t k = 0; k < N; ++k) {
        const double x = factors_[i][k] / (scale[i] * scale[i]);
        right[k] += x * values_[i];
        for (std::size_t j = 0; j < N; ++j) normal[k][j] += x * factors_[i][j];
      }
    std::vector<std::size_t> used;
    for (std::size_t k = 0; k < N; ++k) {
      if (!(mask >> k & 1u)) continue;
      if (!(normal[k][k] > 0)) return std::nullopt;
      length[k] = std::sqrt(normal[k][k]);
      used.push_back(k);
    }
    std::array<row, N> lower{};
    row y{}, x{};
    for (std::size_t i = 0; i < used.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double rest = normal[used[i]][used[j]] / (length[used[i]] * length[used[j]]);
        for (std::size_t k = 0; k < j; ++k) rest -= lower[i][k] * lower[j][k];
        if (i == j && rest < 1e-9) return std::nullopt;
        lower[i][j] = i == j ? std::sqrt(rest) : rest / lower[j][j];
      }
      double rest = right[used[i]] / length[used[i]];
      for (std::size_t k = 0; k < i; ++k) rest -= lower[i][k] * y[k];
      y[i] = rest / lower[i][i];
    }
    for (std::size_t i = used.size(); i-- > 0;) {
      double rest = y[i];
      for (std::size_t k = i + 1; k < used.size(); ++k) rest -= lower[k][i] * x[used[k]] * length[used[k]];
      x[used[i]] = rest / lower[i][i] / length[used[i]];
    }
    return x;
  }

  std::vector<row> factors_;
  std::vector<double> values_;
};

}  // namespace slimpack::profiling::detail

#endif
