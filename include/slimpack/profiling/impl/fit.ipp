#ifndef SLIMPACK_PROFILING_IMPL_FIT_IPP
#define SLIMPACK_PROFILING_IMPL_FIT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/median.hpp>
#include <slimpack/profiling/detail/pack_kinds.hpp>
#include <slimpack/profiling/fit.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling::detail {

/// Attended pairs of a slice.
[[nodiscard]] inline double pairs_of(double queries, double prefix) noexcept {
  return queries * (prefix + (queries + 1) / 2);
}

/// What the rates say that a slice takes, its pack's own time apart.
[[nodiscard]] inline double work_of(const pack_rates& r, std::int64_t queries, std::int64_t prefix) noexcept {
  const auto q = static_cast<double>(queries);
  return r.slice.value + r.token.value * q + r.pair.value * pairs_of(q, static_cast<double>(prefix));
}

inline constexpr std::size_t rate_count = 4;
using rate_row = std::array<double, rate_count>;  // packs, slices, tokens, pairs; or what each takes

[[nodiscard]] inline rate_row row_of(const observation& o) {
  rate_row x{1, static_cast<double>(o.pack.size()), 0, 0};
  for (const slice& s : o.pack) {
    const auto q = static_cast<double>(s.length.value);
    x[2] += q, x[3] += pairs_of(q, static_cast<double>(s.begin.value));
  }
  return x;
}

[[nodiscard]] inline double product(const rate_row& a, const rate_row& b) noexcept {
  double sum = 0;
  for (std::size_t k = 0; k < rate_count; ++k) sum += a[k] * b[k];
  return sum;
}

/// Solves the normal equations of the columns in `mask` by elimination with pivots; others are 0. Columns are scaled by
/// their diagonal, since pairs are millions. None where they are not independent.
[[nodiscard]] inline std::optional<rate_row> solved(const std::array<rate_row, rate_count>& normal,
                                                    const rate_row& right, unsigned mask) {
  std::array<std::array<double, rate_count + 1>, rate_count> m{};
  std::vector<std::size_t> columns;
  for (std::size_t k = 0; k < rate_count; ++k)
    if (mask >> k & 1u) columns.push_back(k);
  const std::size_t n = columns.size();
  rate_row scale{};
  for (const std::size_t k : columns) {
    if (!(normal[k][k] > 0)) return std::nullopt;
    scale[k] = 1 / std::sqrt(normal[k][k]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      m[i][j] = normal[columns[i]][columns[j]] * scale[columns[i]] * scale[columns[j]];
    m[i][n] = right[columns[i]] * scale[columns[i]];
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t k = i + 1; k < n; ++k)
      if (std::abs(m[k][i]) > std::abs(m[pivot][i])) pivot = k;
    if (std::abs(m[pivot][i]) < 1e-9) return std::nullopt;
    std::swap(m[i], m[pivot]);
    for (std::size_t k = i + 1; k < n; ++k) {
      const double factor = m[k][i] / m[i][i];
      for (std::size_t j = i; j <= n; ++j) m[k][j] -= factor * m[i][j];
    }
  }
  rate_row x{};
  for (std::size_t i = n; i-- > 0;) {
    double sum = m[i][n];
    for (std::size_t j = i + 1; j < n; ++j) sum -= m[i][j] * x[columns[j]] / scale[columns[j]];
    x[columns[i]] = sum / m[i][i] * scale[columns[i]];
  }
  return x;
}

/// Least squares of relative errors over rates that are not negative: of all sets of rates that are, the best.
[[nodiscard]] inline rate_row least_squares(std::span<const rate_row> rows, std::span<const double> times) {
  std::array<rate_row, rate_count> normal{};
  rate_row right{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rate_count; ++k) {
      const double x = rows[i][k] / times[i];
      right[k] += x;
      for (std::size_t j = 0; j < rate_count; ++j) normal[k][j] += x * rows[i][j] / times[i];
    }
  rate_row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned mask = 1; mask < 1u << rate_count; ++mask) {
    const std::optional<rate_row> x = solved(normal, right, mask);
    if (!x || std::any_of(x->begin(), x->end(), [](double r) { return r < 0; })) continue;
    double error = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double off = product(rows[i], *x) / times[i] - 1;
      error += off * off;
    }
    // More rates fit better by rounding alone.
    if (error < least * (1 - 1e-9) - 1e-18) least = error, best = *x;
  }
  return best;
}

/// The rates of packs of one part and pass. Packs that are more than three times the median off a first fit, which
/// something else on the machine has held up, are left out of the second.
/// Requires  packs            Complexity  O(slices + packs log packs)
[[nodiscard]] inline pack_rates rates_fitted(std::span<const observation> all) {
  std::vector<rate_row> rows;
  std::vector<double> times, off;
  for (const observation& o : all) rows.push_back(row_of(o)), times.push_back(o.time.value);
  rate_row found = least_squares(rows, times);
  for (std::size_t i = 0; i < rows.size(); ++i) off.push_back(std::abs(product(rows[i], found) / times[i] - 1));
  std::vector<double> sorted = off;
  std::sort(sorted.begin(), sorted.end());
  const double limit = 3 * sorted[sorted.size() / 2] + 1e-6;
  std::vector<rate_row> kept;
  std::vector<double> kept_times;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (off[i] <= limit) kept.push_back(rows[i]), kept_times.push_back(times[i]);
  if (kept.size() < rows.size() && kept.size() >= rate_count) found = least_squares(kept, kept_times);
  return {{found[0]}, {found[1]}, {found[2]}, {found[3]}};
}

}  // namespace slimpack::profiling::detail

namespace slimpack::profiling {

namespace detail {

/// The nearest of 1, 2, 3, 4, 6, 8, 12, ...: places of a table, so that its size does not grow with what was seen. 0 is
/// one, too.
[[nodiscard]] inline std::int64_t place_near(std::int64_t n) noexcept {
  if (n < 2) return n;
  std::int64_t below = 2;
  while (below * 2 <= n) below *= 2;
  const std::int64_t between = below + below / 2;
  if (n < between) return n - below <= between - n ? below : between;
  return n - between < 2 * below - n ? between : 2 * below;
}

/// A pack's share of each of its slices, at the table's places. A place that is not the slice's own gets the time that
/// the rates say it would have taken.
inline void add_samples(const observation& o, const pack_rates& r, std::vector<costs::profiled::sample>& samples) {
  const auto weight = [&](std::int64_t queries, std::int64_t prefix) {
    const double w = work_of(r, queries, prefix);
    return w > 0 ? w : static_cast<double>(queries);
  };
  double all = 0;
  for (const slice& s : o.pack) all += weight(s.length.value, s.begin.value);
  const double slices = std::max((o.time - r.pack).value, 0.1 * o.time.value);
  for (const slice& s : o.pack) {
    const std::int64_t queries = std::max<std::int64_t>(1, place_near(s.length.value)),
                       prefix = place_near(s.begin.value);
    samples.push_back({o.pass, o.part, {queries}, {prefix + queries}, {slices * weight(queries, prefix) / all}});
  }
}

/// The rates and samples of packs of different kinds.
/// Errors    invalid_input: a part without any of a pass
[[nodiscard]] inline result<stage_profile> fitted(std::span<const observation> kinds, int parts) {
  stage_profile made;
  bool apart = false;
  std::vector<seconds> weights(static_cast<std::size_t>(parts), seconds{std::numeric_limits<double>::infinity()});
  for (const observation& o : kinds) {
    if (!o.weights) continue;
    std::int64_t size = 0;
    for (const slice& s : o.pack) size += s.length.value;
    seconds& least = weights[static_cast<std::size_t>(o.part)];
    least = std::min(least, o.time * (1 / static_cast<double>(size)));
    apart = true;
  }
  for (const pass p : {pass::forward, pass::backward})
    for (int part = 0; part < parts; ++part) {
      std::vector<observation> own;
      for (const observation& o : kinds)
        if (o.pass == p && o.part == part && !o.weights) own.push_back(o);
      if (own.empty())
        return error{errc::invalid_input, std::string("no ") + name_of(p) + " packs were seen on part " +
                                              std::to_string(part) + " of " + std::to_string(parts)};
      const pack_rates r = rates_fitted(own);
      made.of(p).push_back(r);
      for (const observation& o : own) add_samples(o, r, made.samples);
    }
  if (!apart) return made;
  // No more than 9 tenths of any backward, of which the rest has to be something.
  for (const costs::profiled::sample& s : made.samples)
    if (s.pass == pass::backward) {
      seconds& least = weights[static_cast<std::size_t>(s.part)];
      least = std::min(least, s.time * (0.9 / static_cast<double>(s.queries.value)));
    }
  made.weight_token = std::move(weights);
  return made;
}

/// |predicted / measured - 1| of each pack.
[[nodiscard]] inline std::vector<double> errors_of(const costs::profiled& cost, std::span<const observation> all) {
  std::vector<double> off;
  for (const observation& o : all)
    if (!o.weights && o.part < cost.parts()) off.push_back(std::abs(cost.time(o.pack, o.pass, o.part) / o.time - 1));
  return off;
}

}  // namespace detail

SLIMPACK_DECL result<stage_profile> fit(std::span<const observation> all, int parts) {
  for (const observation& o : all)
    if (o.part < 0 || o.part >= parts || o.pack.empty() || !(o.time > seconds{}) || !std::isfinite(o.time.value))
      return error{errc::invalid_input, "a pack of " + std::to_string(o.pack.size()) + " slices on part " +
                                            std::to_string(o.part) + " of " + std::to_string(parts) + " took " +
                                            std::to_string(o.time.value) + " s, which is no observation"};
  const std::vector<observation> kinds = detail::medians(all);
  result<stage_profile> made = detail::fitted(kinds, parts);
  if (!made) return made;
  std::vector<observation> kept, left;
  for (std::size_t i = 0; i < kinds.size(); ++i) (i % 5 == 2 && !kinds[i].weights ? left : kept).push_back(kinds[i]);
  const result<stage_profile> others = detail::fitted(kept, parts);
  if (!others) return made;  // too few kinds to leave any out
  const result<costs::profiled> cost = others.value().cost();
  if (!cost) return cost.error();
  std::vector<double> off = detail::errors_of(cost.value(), left);
  if (off.empty()) return made;
  made.value().check = {off.size(), slimpack::detail::median(off), *std::max_element(off.begin(), off.end())};
  return made;
}

SLIMPACK_DECL drift drift_of(const costs::profiled& cost, std::span<const observation> all) {
  std::vector<double> ratios;
  for (const observation& o : all)
    if (!o.weights && o.part < cost.parts()) ratios.push_back(o.time / cost.time(o.pack, o.pass, o.part));
  if (ratios.empty()) return {};
  std::vector<double> off = detail::errors_of(cost, all);
  return {ratios.size(), slimpack::detail::median(ratios), slimpack::detail::median(off)};
}

}  // namespace slimpack::profiling

#endif
