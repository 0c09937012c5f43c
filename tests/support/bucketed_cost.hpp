#ifndef SLIMPACK_TESTS_SUPPORT_BUCKETED_COST_HPP
#define SLIMPACK_TESTS_SUPPORT_BUCKETED_COST_HPP

#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/testing/generator.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack::tests {

/// A quadratic cost whose gradients are reduced beside the work.
struct bucketed_cost : costs::quadratic {
  std::vector<std::vector<gradient_bucket>> buckets{};
  seconds after{};

  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int part) const {
    return buckets[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] seconds reduce_time() const { return after; }
};

/// A number from 0 to `most`.
[[nodiscard]] inline double share(double most, testing::generator& random) {
  return most * static_cast<double>(random.between(0, 1000)) / 1000;
}

/// From no bucket to five a part, each a little of what `work` takes.
[[nodiscard]] inline bucketed_cost any_buckets(costs::quadratic of, const shape& on, seconds work,
                                               testing::generator& random) {
  bucketed_cost cost{of, {}, work * share(0.1, random)};
  for (int part = 0; part < on.reduced_parts(); ++part) {
    std::vector<gradient_bucket>& own = cost.buckets.emplace_back();
    for (std::int64_t k = random.between(0, 5); k > 0; --k)
      own.push_back({share(1, random), work * share(0.2, random), work * share(0.2, random)});
    std::sort(own.begin(), own.end(), [](const gradient_bucket& a, const gradient_bucket& b) { return a.at < b.at; });
    if (!own.empty()) own.front().at = 0;
  }
  return cost;
}

}  // namespace slimpack::tests

#endif
