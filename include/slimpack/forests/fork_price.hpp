#ifndef SLIMPACK_FORESTS_FORK_PRICE_HPP
#define SLIMPACK_FORESTS_FORK_PRICE_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <cstdint>

namespace slimpack::forests {

/// What a fork behind the first `size` tokens of a path adds to the time of a step: the slice there ends, and what goes
/// on is a slice of its own. That is the loss of cutting them, a call, and a pack, since the slice may need one more.
/// Shapes    parts: of the model, all of which run the slice; rest: tokens of the path behind the fork
/// Source    derived
template <class Cost>
[[nodiscard]] seconds fork_price(const Cost& cost, tokens size, tokens rest, int parts) {
  const slice cut[]{{{}, {}, size}, {{}, size, rest}}, whole[]{{{}, {}, size + rest}};
  seconds sum{};
  for (int part = 0; part < parts; ++part)
    for (const pass p : both_passes)
      sum += pack_overhead(cost, p, part) +
             std::max(seconds{}, pack_time(cost, cut, p, part) - pack_time(cost, whole, p, part));
  return sum;
}

/// The fewest tokens that a fork must save to take less time than it costs, as `from_tokens` is to know: the work of
/// so many tokens at the beginning of a path, which is the least that so many have, against fork_price.
/// Rule      found by halving, as what is saved grows by each token, and the price is bounded; as many as
///           longest_supported where no fork pays
/// Requires  rest >= 1, parts >= 1
/// Errors    none            Complexity  O(parts), some dozens of times
template <class Cost>
[[nodiscard]] tokens least_shared(const Cost& cost, int parts, tokens rest = {4096}) {
  const auto pays = [&](tokens size) {
    seconds saved{};
    for (int part = 0; part < parts; ++part)
      for (const pass p : both_passes) saved += cost.time({{}, {}, size}, p, part);
    return saved >= fork_price(cost, size, rest, parts);
  };
  tokens high{1};
  while (!pays(high)) {
    if (high >= tokens{std::int64_t{1} << 20}) return longest_supported;
    high = high * 2;
  }
  tokens low{high.value / 2};  // does not pay, or is none
  while (high - low > tokens{1}) {
    const tokens middle{(low.value + high.value) / 2};
    (pays(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace slimpack::forests

#endif
