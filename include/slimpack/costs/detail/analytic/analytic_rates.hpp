#ifndef SLIMPACK_COSTS_DETAIL_ANALYTIC_ANALYTIC_RATES_HPP
#define SLIMPACK_COSTS_DETAIL_ANALYTIC_ANALYTIC_RATES_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/model/layer.hpp>
#include <slimpack/costs/model/mixer.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace slimpack::detail {

/// Seconds of a pack of n tokens: pack + token n.
struct line {
  double pack{};
  double token{};

  /// Through packs of 16384 and 65536 tokens; what it has at 0 tokens is at least nothing.
  template <class Time>
  [[nodiscard]] static line through(const Time& time) {
    const tokens few{16384}, many{65536};
    const double a = time(few).value, b = time(many).value;
    const double token = (b - a) / static_cast<double>((many - few).value);
    return {std::max(0.0, a - token * static_cast<double>(few.value)), token};
  }
};

/// Keys and values, or queries and outputs, on their way round context-parallel ranks.
struct ring_rates {
  double key{};      ///< seconds that all hops take for a token of the slice or its prefix, where keys travel
  double query{};    ///< and for a token of the slice, where queries do
  double covered{};  ///< seconds of attention that run meanwhile, for a pair
  friend constexpr bool operator==(const ring_rates&, const ring_rates&) = default;

  /// Counts the layers of a rank that attend so: bytes over `bandwidth`, with `ranks` on the ring. Backward keys and
  /// values travel with their gradients, queries twice and with the gradients of outputs.
  [[nodiscard]] static ring_rates of(std::span<const costs::layer> own, const costs::attention_span& span, pass p,
                                     double pair, int ranks, double bandwidth) {
    double keys = 0, queries = 0, outputs = 0;
    for (const costs::layer& l : own)
      if (l.span == span) keys += l.kv_elements, queries += l.query, outputs += l.output;
    const double hops = ranks - 1.0;
    const double element = hops / ranks * 2 / bandwidth;
    const double times = p == pass::forward ? 1 : 2;
    return {times * element * keys, element * (times * queries + outputs), hops / ranks * pair};
  }
};

/// What layers take that attend to a span of keys.
struct span_rates {
  costs::attention_span span{};
  double pair{};
  std::array<ring_rates, 2> rings{};  ///< of the pass, and of what it computes again
  friend constexpr bool operator==(const span_rates&, const span_rates&) = default;

  [[nodiscard]] seconds attended(const slice& s) const noexcept { return {pair * span.pairs(s)}; }
  /// What is waited for of keys and values, or of queries, on their way round the context-parallel ranks.
  [[nodiscard]] seconds exchanged(const slice& s) const noexcept {
    seconds sum{};
    for (const ring_rates& own : rings)
      if (own.query > 0)  // there is a ring
        sum += {std::max(0.0, std::min(own.key * static_cast<double>((span.seen_before(s) + s.length).value),
                                       own.query * static_cast<double>(s.length.value)) -
                                  own.covered * span.pairs(s))};
    return sum;
  }
};

/// What a part takes in one pass: straight lines through tokens and (query, key) pairs.
/// Units     seconds            Errors    none            Complexity  O(spans)
struct pass_rates {
  double token{};
  span_rates full{};                ///< of full attention, and of indexers
  std::vector<span_rates> spans{};  ///< of layers that attend otherwise
  seconds overhead{};               ///< of a pack
  seconds call{};                   ///< of a slice besides, for states
  seconds floor{};                  ///< least time of a pack's slices together
  double collectives{};             ///< of `token`, what a stage's ranks wait for each other
  friend bool operator==(const pass_rates&, const pass_rates&) = default;

  [[nodiscard]] seconds attended(std::span<const slice> all) const noexcept {
    double pairs = 0;
    for (const slice& s : all) pairs += s.pairs();
    seconds sum{full.pair * pairs};
    for (const span_rates& other : spans)
      for (const slice& s : all) sum += other.attended(s);
    return sum;
  }
  [[nodiscard]] seconds priced(const slice& s) const noexcept {
    seconds sum{token * static_cast<double>(s.length.value) + full.pair * s.pairs()};
    for (const span_rates& other : spans) sum += other.attended(s);
    return sum;
  }
  [[nodiscard]] seconds exchanged(const slice& s) const noexcept {
    seconds sum = full.exchanged(s);
    for (const span_rates& other : spans) sum += other.exchanged(s);
    return sum;
  }
  [[nodiscard]] bool has_borders() const noexcept {
    return std::any_of(spans.begin(), spans.end(), [](const span_rates& one) { return one.span.has_borders(); });
  }
};

/// Those of both passes.
struct part_rates {
  pass_rates forward{};
  pass_rates backward{};
  pass_rates useful_backward{};  ///< without what is computed again
  double weight_token{};         ///< of backward, a token's weight gradients
  friend bool operator==(const part_rates&, const part_rates&) = default;
  [[nodiscard]] const pass_rates& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const pass_rates& useful(pass p) const noexcept {
    return p == pass::forward ? forward : useful_backward;
  }
};

}  // namespace slimpack::detail

#endif
