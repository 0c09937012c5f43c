#ifndef SLIMPACK_PROFILING_STAGE_PROFILE_HPP
#define SLIMPACK_PROFILING_STAGE_PROFILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/profiled.hpp>
#include <slimpack/profiling/pack_rates.hpp>
#include <slimpack/profiling/pack_sums.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// How far a fit is off packs that it has not seen: every fifth kind of pack was left out, and predicted by a fit of
/// the others.
struct fit_check {
  std::size_t kinds{};  ///< of packs that were left out
  double median{};      ///< of |predicted / measured - 1|; 0 where none were
  double worst{};
  std::vector<pack_sum> sums{};  ///< of those that were left out
  friend bool operator==(const fit_check&, const fit_check&) = default;
};

/// Times of a trainer's own slices on every part, measured by itself: what costs::profiled is made of, and how good it
/// is. io/stage_profile.hpp writes and reads it.
struct stage_profile {
  std::vector<costs::profiled::sample> samples;
  std::vector<pack_rates> forward, backward;   ///< by part: backward with weight gradients
  by_pass<std::vector<rate_spread>> spread{};  ///< of these rates, by part; empty: not known
  std::vector<seconds> weight_token{};         ///< by part, where weight gradients were seen apart; else empty
  seconds message{};                           ///< end on a part to arrival at the next, of an empty message: a hop
  seconds message_token{};                     ///< and for each of its tokens
  seconds reduce{};                            ///< of gradients over replicas, after a step
  fit_check check{};

  [[nodiscard]] std::vector<pack_rates>& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const std::vector<pack_rates>& of(pass p) const noexcept {
    return p == pass::forward ? forward : backward;
  }

  /// How far the expected time of these packs together may be off, as a ratio of it: its standard error, by the rates.
  /// A single run is off by its noise besides (rate_spread::noise).
  /// Formula   sqrt(x.C x) / x.rates, of counts x and covariance C
  /// Errors    none: nothing where the spread is not known, or without time
  [[nodiscard]] std::optional<double> uncertainty(const rate_row& counts, pass p, int part) const noexcept {
    const auto at = static_cast<std::size_t>(part);
    if (at >= spread[p].size() || at >= of(p).size()) return std::nullopt;
    const double time = product(counts, of(p)[at].row());
    if (!(time > 0)) return std::nullopt;
    return std::sqrt(spread[p][at].variance(counts)) / time;
  }
  [[nodiscard]] std::optional<double> uncertainty(std::span<const slice> pack, pass p, int part) const noexcept {
    return uncertainty(counts_of(pack), p, part);
  }

  /// The same of what a step computes, on the rank that computes longest. Errors of a part and pass are those of all
  /// its packs; other parts' are independent of them.
  /// Requires  a plan of the profile's parts            Complexity  O(slices * stages)
  [[nodiscard]] std::optional<double> uncertainty(const plan& step) const;

  /// The cost model. beside: what is known besides, such as memory; overheads, growth, weight gradients, messages and,
  /// without buckets, the reduction are the profile's
  /// Errors    those of costs::profiled::make
  [[nodiscard]] result<costs::profiled> cost(costs::profiled::extras beside = {}) const {
    beside.forward_overhead.clear(), beside.backward_overhead.clear();
    for (const pack_rates& r : forward) beside.forward_overhead.push_back(r.pack);
    for (const pack_rates& r : backward) beside.backward_overhead.push_back(r.pack);
    for (const pass p : both_passes) {
      beside.growth[p].clear();
      for (const pack_rates& r : of(p)) beside.growth[p].push_back(r.growth());
    }
    beside.weight_token = weight_token;
    beside.message = message, beside.message_token = message_token;
    if (beside.buckets.empty()) beside.reduce = reduce;
    return costs::profiled::make(samples, std::move(beside));
  }
};

inline std::optional<double> stage_profile::uncertainty(const plan& step) const {
  seconds longest{};
  std::optional<double> found;
  const int stages = step.shape.stages;
  for (const replica_plan& r : step.replicas)
    for (int stage = 0; stage < stages; ++stage) {
      seconds time{};
      double variance = 0;
      for (const pass p : both_passes)
        for (int part = stage; part < step.shape.parts(); part += stages) {
          const auto at = static_cast<std::size_t>(part);
          if (at >= spread[p].size() || at >= of(p).size()) return std::nullopt;
          rate_row counts{};
          const micropacks& packs = r.partition.of(p);
          for (std::size_t i = 0; i < packs.size(); ++i) {
            const rate_row one = counts_of(packs[i]);
            for (std::size_t k = 0; k < rate_count; ++k) counts[k] += one[k];
          }
          time += seconds{product(counts, of(p)[at].row())};
          variance += spread[p][at].variance(counts);
        }
      if (time > longest) longest = time, found = std::sqrt(variance) / time.value;
    }
  return found;
}

}  // namespace slimpack::profiling

#endif
