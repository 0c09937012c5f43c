#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_KERNEL_SCALES_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_KERNEL_SCALES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/kernels/detail/kernel_faults.hpp>
#include <slimpack/costs/kernels/detail/reference_kernel.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>
#include <slimpack/costs/kernels/wave_model.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

// What costs::calibrated needs to know of attention and of products: which samples count, and how the constants of a
// wave model become numbers that may take any value. `spread` is how far each of these numbers strays between the
// kernels of the published tables.

/// A constant at an end of its range begins just inside.
[[nodiscard]] inline double log_of(double size, double least = 1e-12) { return std::log(std::max(size, least)); }
[[nodiscard]] inline double odds_of(double part) { return log_of(part, 1e-3) - log_of(1 - part, 1e-3); }
[[nodiscard]] inline double part_of(double odds) { return 1 / (1 + std::exp(-odds)); }

struct attention_scales {
  using constants = costs::wave_model::attention_constants;
  using sample = costs::attention_sample;
  static constexpr const char* name = "attention";
  static constexpr std::array<double, 10> spread{0.6, 0.4, 1, 1.5, 1.5, 1.2, 1.5, 0.5, 0.3, 1};

  static constants of(const costs::wave_model& m) { return m.attention(); }

  static Eigen::VectorXd numbers(const constants& c) {
    return Eigen::VectorXd{{log_of(c.launch.value), log_of(c.share), log_of(c.tile_keys), odds_of(c.waves),
                            log_of(c.diagonal - 1, 1e-3), log_of(c.key_passes, 1e-2), log_of(c.head_passes, 1e-2),
                            log_of(c.backward_launch.value), log_of(c.backward_cost), log_of(c.backward_tile)}};
  }
  static costs::wave_model model(const costs::wave_model& start, const Eigen::VectorXd& x) {
    using std::exp;
    return {start.device(),
            {.launch = {exp(x[0])},
             .share = exp(x[1]),
             .tile_keys = exp(x[2]),
             .waves = part_of(x[3]),
             .diagonal = 1 + exp(x[4]),
             .key_passes = exp(x[5]),
             .head_passes = exp(x[6]),
             .backward_launch = {exp(x[7])},
             .backward_cost = exp(x[8]),
             .backward_tile = exp(x[9])},
            start.product()};
  }

  /// Causal samples of the reference kernel.
  static result<std::vector<sample>> usable(const costs::wave_model& start, std::span<const sample> samples) {
    const std::optional<kernel_key> reference = reference_kernel(samples, start.device().name);
    std::vector<sample> kept;
    for (const sample& s : samples) {
      if (std::optional<error> wrong = fault_of(s)) return std::move(*wrong);
      if (s.causal && kernel_key::of(s) == reference) kept.push_back(s);
    }
    return kept;
  }

  static seconds modelled(const costs::wave_model& m, const sample& s, pass p = pass::forward) {
    const std::int64_t batch = s.batch;
    return m.attention(p, s.queries, s.keys, batch * s.heads, batch * s.kv_heads, s.head_dim);
  }
  /// Log of the modelled over the measured time, of each time.
  static void misses(const costs::wave_model& m, const sample& s, std::vector<double>& all) {
    all.push_back(std::log(modelled(m, s) / s.forward));
    if (s.backward) all.push_back(std::log(modelled(m, s, pass::backward) / *s.backward));
  }
  /// Sizes in whose logarithms samples are more or less alike: those of costs::attention_table.
  static std::array<double, 6> likeness_sizes(const sample& s) {
    return {static_cast<double>(s.queries.value), static_cast<double>(s.keys.value), static_cast<double>(s.heads),
            static_cast<double>(s.kv_heads),      static_cast<double>(s.head_dim),   static_cast<double>(s.batch)};
  }
  /// One time, whatever it is.
  static void forget_times(sample& s) { s.forward = {1}, s.backward.reset(); }
};

struct product_scales {
  using constants = costs::wave_model::product_constants;
  using sample = costs::product_sample;
  static constexpr const char* name = "matrix products";
  static constexpr std::array<double, 5> spread{0.6, 0.15, 0.5, 1, 0.3};

  static constants of(const costs::wave_model& m) { return m.product(); }

  static Eigen::VectorXd numbers(const constants& c) {
    return Eigen::VectorXd{
        {log_of(c.launch.value), log_of(c.share), log_of(c.tile_depth), odds_of(c.waves), log_of(c.passes)}};
  }
  static costs::wave_model model(const costs::wave_model& start, const Eigen::VectorXd& x) {
    using std::exp;
    return {start.device(),
            start.attention(),
            {.launch = {exp(x[0])},
             .share = exp(x[1]),
             .tile_depth = exp(x[2]),
             .waves = part_of(x[3]),
             .passes = exp(x[4])}};
  }

  static result<std::vector<sample>> usable(const costs::wave_model&, std::span<const sample> samples) {
    for (const sample& s : samples)
      if (std::optional<error> wrong = fault_of(s)) return std::move(*wrong);
    return std::vector<sample>(samples.begin(), samples.end());
  }

  static seconds modelled(const costs::wave_model& m, const sample& s) { return m.product(s.m, s.n, s.k); }
  static void misses(const costs::wave_model& m, const sample& s, std::vector<double>& all) {
    all.push_back(std::log(modelled(m, s) / s.time));
  }
  /// Of k, which changes no tiles, a doubling counts 0.7, as in costs::product_table.
  static std::array<double, 3> likeness_sizes(const sample& s) {
    return {static_cast<double>(s.m), static_cast<double>(s.n), std::pow(static_cast<double>(s.k), 0.7)};
  }
  static void forget_times(sample& s) { s.time = {1}; }
};

}  // namespace slimpack::detail

#endif
