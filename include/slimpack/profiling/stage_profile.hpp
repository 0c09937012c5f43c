#ifndef SLIMPACK_PROFILING_STAGE_PROFILE_HPP
#define SLIMPACK_PROFILING_STAGE_PROFILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/profiled.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// How far a fit is off packs that it has not seen: every fifth kind of pack was left out, and predicted by a fit of
/// the others.
struct fit_check {
  std::size_t kinds{};  ///< of packs that were left out
  double median{};      ///< of |predicted / measured - 1|; 0 where none were
  double worst{};
  friend bool operator==(const fit_check&, const fit_check&) = default;
};

/// What a pack takes on a part of the model in a pass, as it was fitted.
/// Formula   pack + slices * slice + tokens * token + pairs * pair, where a slice of q tokens behind a prefix p has
///           q p + q (q + 1) / 2 pairs
struct pack_rates {
  seconds pack, slice, token, pair;
  friend bool operator==(const pack_rates&, const pack_rates&) = default;
};

/// Times of a trainer's own slices on every part, measured by itself: what costs::profiled is made of, and how good it
/// is. io/stage_profile.hpp writes and reads it.
struct stage_profile {
  std::vector<costs::profiled::sample> samples;
  std::vector<pack_rates> forward, backward;  ///< by part: backward with weight gradients
  std::vector<seconds> weight_token{};        ///< by part, where weight gradients were seen apart; else empty
  seconds message{};                          ///< end on a part to arrival at the next, of an empty message: a hop
  seconds message_token{};                    ///< and for each of its tokens
  seconds reduce{};                           ///< of gradients over replicas, after a step
  fit_check check{};

  [[nodiscard]] std::vector<pack_rates>& of(pass p) noexcept { return p == pass::forward ? forward : backward; }

  /// The cost model. beside: what is known besides, such as memory; overheads, weight gradients, messages and, without
  /// buckets, the reduction are the profile's
  /// Errors    those of costs::profiled::make
  [[nodiscard]] result<costs::profiled> cost(costs::profiled::extras beside = {}) const {
    beside.forward_overhead.clear(), beside.backward_overhead.clear();
    for (const pack_rates& r : forward) beside.forward_overhead.push_back(r.pack);
    for (const pack_rates& r : backward) beside.backward_overhead.push_back(r.pack);
    beside.weight_token = weight_token;
    beside.message = message, beside.message_token = message_token;
    if (beside.buckets.empty()) beside.reduce = reduce;
    return costs::profiled::make(samples, std::move(beside));
  }
};

}  // namespace slimpack::profiling

#endif
