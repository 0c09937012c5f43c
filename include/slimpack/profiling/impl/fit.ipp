#ifndef SLIMPACK_PROFILING_IMPL_FIT_IPP
#define SLIMPACK_PROFILING_IMPL_FIT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/median.hpp>
#include <slimpack/profiling/detail/pack_kinds.hpp>
#include <slimpack/profiling/detail/rate_fit.hpp>
#include <slimpack/profiling/fit.hpp>
#include <slimpack/profiling/observation.hpp>
#include <slimpack/profiling/pack_rates.hpp>
#include <slimpack/profiling/pack_sums.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::profiling {

namespace detail {

/// What the rates say that a slice takes, its pack's own time apart.
[[nodiscard]] inline double work_of(const pack_rates& r, std::int64_t queries, std::int64_t prefix) noexcept {
  return r.growth()(static_cast<double>(queries), static_cast<double>(prefix));
}

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
      std::vector<rate_row> counts;
      std::vector<double> times;
      for (const observation& o : own) counts.push_back(counts_of(o.pack)), times.push_back(o.time.value);
      const fitted_rates found = rates_fitted(counts, times);
      const pack_rates r = pack_rates::of(found.rates);
      made.of(p).push_back(r);
      if (found.spread) made.spread[p].push_back(*found.spread);
      for (const observation& o : own) add_samples(o, r, made.samples);
    }
  for (const pass p : both_passes)
    if (made.spread[p].size() < made.of(p).size()) made.spread[p].clear();
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
  made.value().check = {off.size(), slimpack::detail::median(off), *std::max_element(off.begin(), off.end()),
                        sums_of(cost.value(), left)};
  return made;
}

SLIMPACK_DECL drift drift_of(const costs::profiled& cost, std::span<const observation> all) {
  std::vector<double> ratios;
  for (const observation& o : all)
    if (!o.weights && o.part < cost.parts()) ratios.push_back(o.time / cost.time(o.pack, o.pass, o.part));
  if (ratios.empty()) return {};
  std::vector<double> off = detail::errors_of(cost, all);
  return {ratios.size(), slimpack::detail::median(ratios), slimpack::detail::median(off), sums_of(cost, all)};
}

}  // namespace slimpack::profiling

#endif
