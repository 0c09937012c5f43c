#ifndef SLIMPACK_COSTS_KERNELS_PRODUCT_TABLE_HPP
#define SLIMPACK_COSTS_KERNELS_PRODUCT_TABLE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/detail/kernel_faults.hpp>
#include <slimpack/costs/kernels/detail/measured_times.hpp>
#include <slimpack/costs/kernels/detail/scatter.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Times of matrix products as measured on one GPU, by m, n and k, in costs::attention_table's way: log(measured / wave
/// model) is interpolated in their logarithms, where k counts 0.7 since tiles do not depend on it; outside, the nearest
/// points give the level and the wave model the growth.
///
/// Source    derived. Leaving out each point, or every second, of the published tables: 4 % to 5 % off on average
/// Law       exact at points, which do not fall with m: those that do are replaced by the mean of the largest before
///           and the smallest after. Between points time may fall, as it does between kernels of a library
/// Shapes    any points; of several times at a point the median counts
/// Complexity  O(log points) a question, most often
class product_table {
 public:
  struct answer {
    seconds time;
    origin source;
  };

  /// Errors    invalid_input: no times; sizes below 1, times that are not above 0. The detail names which
  /// Complexity  O(samples log samples)
  [[nodiscard]] static result<product_table> make(wave_model model, std::span<const product_sample> samples) {
    std::map<place, std::vector<double>> measured;
    for (const product_sample& s : samples) {
      if (std::optional<error> wrong = slimpack::detail::fault_of(s)) return std::move(*wrong);
      measured[{s.m, s.n, s.k}].push_back(s.time.value);
    }
    if (measured.empty()) return error{errc::invalid_input, "no times of matrix products"};
    std::vector<place> places;
    std::vector<double> times;
    for (const auto& [at, all] : measured) {
      places.push_back(at);
      times.push_back(slimpack::detail::median(all));
    }
    std::vector<slimpack::detail::rising_place> rising;
    for (const auto& [m, n, k] : places) rising.push_back({{n, k}, m, 0});
    const double largest_change = slimpack::detail::make_monotone(times, rising);
    std::vector<scatter::point> points;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& [m, n, k] = places[i];
      points.push_back({logs_of(places[i]), std::log(times[i] / model.product(m, n, k).value), 0});
    }
    return product_table(std::move(model), std::move(points), largest_change);
  }

  /// Requires  m, n, k >= 1
  [[nodiscard]] answer operator()(std::int64_t m, std::int64_t n, std::int64_t k) const noexcept {
    const scatter::answer known = logs_(logs_of({m, n, k}));
    return {model_.product(m, n, k) * std::exp(known.value), known.source};
  }

  /// The most by which a measured time was changed so that none falls with m, as a ratio of it.
  [[nodiscard]] double largest_change() const noexcept { return largest_change_; }

 private:
  using place = std::array<std::int64_t, 3>;
  using scatter = slimpack::detail::scatter<3>;
  static constexpr double nearer = 0.7;  // a doubling of k, which changes no tiles, against one of m or n

  product_table(wave_model model, std::vector<scatter::point> points, double largest_change)
      : model_(std::move(model)), largest_change_(largest_change), logs_(std::move(points)) {}

  static scatter::place logs_of(const place& at) noexcept {
    const auto log = [](std::int64_t size) { return std::log2(static_cast<double>(size)); };
    return {log(at[0]), log(at[1]), nearer * log(at[2])};
  }

  wave_model model_;
  double largest_change_;
  scatter logs_;
};

}  // namespace slimpack::costs

#endif
