#ifndef SLIMPACK_COSTS_QUADRATIC_HPP
#define SLIMPACK_COSTS_QUADRATIC_HPP

#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>

#include <iosfwd>
#include <span>

namespace slimpack {
struct loan;  // core/lending/loan.hpp
}

namespace slimpack::costs {

/// A slice under causal attention, in closed form and equal on every part: the model to learn and to test with.
/// Source    linear and attention terms of SlimPack's problem statement (arXiv:2509.26246); closed form derived
/// Shapes    n query tokens that start at b in their sequence; n (2 b + n + 1) / 2 (query, key) pairs
/// Units     tokens in, seconds out
/// Formula   forward = linear n + attention pairs
///           backward = backward_linear linear n + backward_attention attention pairs
///           a pack costs `per_pack` more in each pass, and `per_call` for each of its slices; a message takes `hop`,
///           and a row that replicas share one hop for each other sharer, which with joins_rows the pack's attention to
///           other sequences covers; of attention that a stage lends another, contexts, queries and results a hop each
/// Law       cutting a sequence keeps the sum of its times: pairs telescope, n adds up
/// Requires  every coefficient >= 0 and finite
/// Errors    none            Complexity  O(1)
struct quadratic {
  using has_equal_parts = quadratic;  ///< of no model that inherits from it, whose parts may differ

  double linear{1e-6};             ///< seconds per query token
  double attention{4.069e-11};     ///< seconds per attended pair; as much as `linear` over 49152 tokens
  double backward_linear{2.0};     ///< backward over forward, linear layers
  double backward_attention{2.5};  ///< backward over forward, flash attention by operation count
  seconds per_pack{0.0};           ///< launch and framework time of a pack, forward and backward alike
  seconds hop{0.0};                ///< a message between neighbouring stages
  seconds per_call{0.0};           ///< of each slice besides, where the compute is called piece by piece
  bool joins_rows{false};          ///< the compute is called with whole packs (executors/joined/joined_row.hpp)

  [[nodiscard]] constexpr seconds time(const slice& s, pass p, int /*part*/) const noexcept {
    const double lin = linear * static_cast<double>(s.length.value);
    const double att = attention * s.pairs();
    return p == pass::forward ? seconds{lin + att} : seconds{backward_linear * lin + backward_attention * att};
  }
  [[nodiscard]] constexpr seconds overhead(pass, int /*part*/) const noexcept { return per_pack; }
  [[nodiscard]] constexpr seconds call_overhead(pass, int /*part*/) const noexcept { return per_call; }
  [[nodiscard]] constexpr seconds message(tokens, pass, int /*part*/) const noexcept { return hop; }
  [[nodiscard]] seconds exchange(const shared_row& row, std::span<const slice>, pass, int /*part*/) const noexcept {
    return hop * static_cast<double>(row.sharers.size() - 1);
  }
  [[nodiscard]] constexpr seconds token_time(tokens size, pass p, int /*part*/) const noexcept {
    return {(p == pass::forward ? linear : backward_linear * linear) * static_cast<double>(size.value)};
  }
  [[nodiscard]] constexpr seconds covers(const slice& s, pass p, int /*part*/) const noexcept {
    if (!joins_rows) return {};
    return {(p == pass::forward ? attention : backward_attention * attention) * s.pairs()};
  }
  [[nodiscard]] constexpr loan_messages lending(const loan&, int /*part*/) const noexcept { return {1, hop, hop, hop}; }
  /// Half of the linear backward: input and weight gradient are one product each; attention has no weights.
  [[nodiscard]] constexpr seconds weight_time(const slice& s, int /*part*/) const noexcept {
    return {0.5 * (backward_linear * (linear * static_cast<double>(s.length.value)))};
  }

  friend constexpr bool operator==(const quadratic&, const quadratic&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const quadratic& q) {
    return out << "costs::quadratic{.linear = " << q.linear << ", .attention = " << q.attention
               << ", .backward_linear = " << q.backward_linear << ", .backward_attention = " << q.backward_attention
               << ", .per_pack = {" << q.per_pack.value << "}, .hop = {" << q.hop.value << "}, .per_call = {"
               << q.per_call.value << (q.joins_rows ? "}, .joins_rows = true}" : "}}");
  }
};

}  // namespace slimpack::costs

#endif
