#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_KERNEL_FAULTS_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_KERNEL_FAULTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/kernel_samples.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace slimpack::detail {

[[nodiscard]] inline bool is_measured_time(seconds t) noexcept { return t > seconds{} && std::isfinite(t.value); }

/// Why a sample is no measurement, if it is none, naming it.
[[nodiscard]] inline std::optional<error> fault_of(const costs::attention_sample& s) {
  const auto says = [&](const char* what) {
    return error{errc::invalid_input,
                 "attention " + s.kernel + " on " + s.gpu + ", " + std::to_string(s.queries.value) + " queries, " +
                     std::to_string(s.keys.value) + " keys, " + std::to_string(s.heads) + " heads: " + what};
  };
  if (std::min({s.batch, s.heads, s.kv_heads, s.head_dim}) < 1 || s.queries < tokens{1})
    return says("batch, tokens, heads and head size are counted from 1");
  if (s.keys < s.queries) return says("keys are the prefix and the queries themselves, so no fewer than the queries");
  if (!is_measured_time(s.forward) || (s.backward && !is_measured_time(*s.backward)))
    return says("a time must be more than 0 and finite");
  return std::nullopt;
}

[[nodiscard]] inline std::optional<error> fault_of(const costs::product_sample& s) {
  const auto says = [&](const char* what) {
    return error{errc::invalid_input, "product of " + std::to_string(s.m) + " x " + std::to_string(s.k) + " and " +
                                          std::to_string(s.k) + " x " + std::to_string(s.n) + " on " + s.gpu + ": " +
                                          what};
  };
  if (std::min({s.m, s.n, s.k}) < 1) return says("sizes are counted from 1");
  if (!is_measured_time(s.time)) return says("a time must be more than 0 and finite");
  return std::nullopt;
}

}  // namespace slimpack::detail

#endif
