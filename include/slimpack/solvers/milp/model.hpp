#ifndef SLIMPACK_SOLVERS_MILP_MODEL_HPP
#define SLIMPACK_SOLVERS_MILP_MODEL_HPP

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// A constant and multiples of variables.
struct linear_sum {
  struct term {
    int variable{};
    double factor{};
  };

  std::vector<term> terms;
  double constant{};

  linear_sum() = default;
  linear_sum(double value) : constant(value) {}  // NOLINT: a number is a sum

  linear_sum& add(const linear_sum& other, double factor = 1) {
    for (const term& t : other.terms) terms.push_back({t.variable, factor * t.factor});
    constant += factor * other.constant;
    return *this;
  }
  friend linear_sum operator+(linear_sum a, const linear_sum& b) { return std::move(a.add(b)); }
  friend linear_sum operator-(linear_sum a, const linear_sum& b) { return std::move(a.add(b, -1)); }
  friend linear_sum operator*(double factor, const linear_sum& a) { return std::move(linear_sum{}.add(a, factor)); }

  /// What it is worth under values of all variables.
  [[nodiscard]] double at(const std::vector<double>& values) const {
    double sum = constant;
    for (const term& t : terms) sum += t.factor * values[static_cast<std::size_t>(t.variable)];
    return sum;
  }
};

/// A mixed-integer linear program to minimise, in rows, without a solver: cbc.hpp hands it to one.
class milp_model {
 public:
  struct column {
    double low{};
    double high{};
    double cost{};
    bool integer{};
  };
  struct row {
    std::vector<linear_sum::term> terms;  // by variable, each once
    double low{};
  };

  linear_sum number(double low, double high, double cost = 0) { return variable({low, high, cost, false}); }
  linear_sum binary() { return variable({0, 1, 0, true}); }

  /// Demands greater >= smaller. Rows without variables are left out.
  void at_least(const linear_sum& greater, const linear_sum& smaller) {
    linear_sum difference = greater - smaller;
    std::vector<linear_sum::term>& terms = difference.terms;
    std::sort(terms.begin(), terms.end(),
              [](const linear_sum::term& a, const linear_sum::term& b) { return a.variable < b.variable; });
    row r{{}, -difference.constant};
    for (const linear_sum::term& t : terms) {
      if (!r.terms.empty() && r.terms.back().variable == t.variable)
        r.terms.back().factor += t.factor;
      else
        r.terms.push_back(t);
    }
    std::erase_if(r.terms, [](const linear_sum::term& t) { return t.factor == 0; });
    if (!r.terms.empty()) rows_.push_back(std::move(r));
  }

  [[nodiscard]] const std::vector<column>& columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<row>& rows() const noexcept { return rows_; }

 private:
  linear_sum variable(const column& c) {
    linear_sum self;
    self.terms.push_back({static_cast<int>(columns_.size()), 1});
    columns_.push_back(c);
    return self;
  }

  std::vector<column> columns_;
  std::vector<row> rows_;
};

}  // namespace slimpack::detail

#endif
