#ifndef SLIMPACK_COSTS_MODEL_MIXER_HPP
#define SLIMPACK_COSTS_MODEL_MIXER_HPP

#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstdint>

namespace slimpack::costs {

/// How a layer mixes the tokens of a sequence.
enum class mixing : unsigned char {
  full,       ///< attention of each token to itself and all before it
  window,     ///< attention to itself and those right before it, `reach` together
  chunks,     ///< attention to itself and those before it inside each `reach` tokens of the sequence
  top_k,      ///< attention to the `reach` keys that an indexer chooses
  sampled,    ///< attention to a share of the pairs, chosen as the layer runs (SampleAttention, arXiv:2406.15486)
  selective,  ///< a selective state space, channel by channel (Mamba, arXiv:2312.00752)
  dual,       ///< a state space with a scalar decay for each head (Mamba-2, arXiv:2405.21060)
  delta,      ///< linear attention by the gated delta rule (arXiv:2412.06464)
  lightning,  ///< linear attention with a fixed decay for each head (Lightning Attention, arXiv:2401.04658)
  none        ///< not at all: the layer is an MLP alone
};

/// Whether queries attend to keys.
[[nodiscard]] constexpr bool attends(mixing how) noexcept { return how <= mixing::sampled; }
/// Whether a state runs along the sequence instead of keys and values.
[[nodiscard]] constexpr bool has_state(mixing how) noexcept {
  return how == mixing::selective || how == mixing::dual || how == mixing::delta || how == mixing::lightning;
}

/// Which keys the queries of a layer attend to.
struct attention_span {
  mixing how{mixing::full};
  std::int64_t reach{};  ///< of a window, a chunk, or of the chosen keys, in tokens; 0: nothing limits it
  double density{1};     ///< of sampled attention: the share of pairs, in the mean over heads

  /// Pairs of a query of a slice and a key that it attends to.
  /// Formula   with S(e) those of the first e tokens, S(b + n) - S(b) for the slice [b, b + n). Full: e (e + 1) / 2; a
  ///           window W, or the best W keys: W (W + 1) / 2 + (e - W) W for e > W; chunks C: those of e / C whole ones
  ///           and of the rest; sampled: density times full; a state: none
  [[nodiscard]] constexpr double pairs(const slice& s) const noexcept {
    if (how == mixing::full) return s.pairs();
    if (how == mixing::sampled) return density * s.pairs();
    if (!attends(how)) return 0;
    if (s.end().value <= reach) return s.pairs();
    return how == mixing::chunks ? in_chunks(s) : in_window(s);
  }
  /// Calls visit(count, queries, prefix) for what a slice is to layers with chunks: the rest of the chunk in which it
  /// begins, whole chunks, and the beginning of the one in which it ends.
  template <class Visit>
  constexpr void each_chunk(tokens queries, tokens prefix, Visit&& visit) const {
    const tokens before{prefix.value % reach}, first = std::min(queries, tokens{reach} - before);
    visit(1.0, first, before);
    const std::int64_t rest = (queries - first).value;
    if (rest >= reach) visit(static_cast<double>(rest / reach), tokens{reach}, tokens{});
    if (rest % reach > 0) visit(1.0, tokens{rest % reach}, tokens{});
  }
  /// Whether time may fall where the prefix of a slice grows: behind the border of a chunk.
  [[nodiscard]] constexpr bool has_borders() const noexcept { return how == mixing::chunks; }
  /// How many tokens before a slice it attends to, at most.
  [[nodiscard]] constexpr tokens seen_before(const slice& s) const noexcept {
    if (!attends(how)) return tokens{};
    if (how == mixing::window) return std::min(s.begin, tokens{reach - 1});
    if (how == mixing::chunks) return tokens{s.begin.value % reach};
    return s.begin;
  }
  friend constexpr bool operator==(const attention_span&, const attention_span&) = default;

 private:
  [[nodiscard]] constexpr double in_window(const slice& s) const noexcept {
    const slice rising{s.sequence, s.begin, std::max(tokens{}, tokens{reach} - s.begin)};
    return rising.pairs() + static_cast<double>((s.length - rising.length).value) * static_cast<double>(reach);
  }
  [[nodiscard]] constexpr double in_chunks(const slice& s) const noexcept {
    const auto before = [&](std::int64_t end) {
      const slice whole{{}, {}, {reach}}, rest{{}, {}, {end % reach}};
      return static_cast<double>(end / reach) * whole.pairs() + rest.pairs();
    };
    return before(s.end().value) - before(s.begin.value);
  }
};

/// The mixer of a layer: attention over some span, or a state.
/// Units     counts and widths in elements
struct mixer {
  attention_span span{};
  int heads{};                 ///< query heads; of a state its heads, H
  int kv_heads{};              ///< key and value heads; of a state its groups of keys, G
  std::int64_t head_dim{};     ///< query and key width of a head; of a state its size along keys, N
  std::int64_t value_dim{};    ///< value width of a head, P of a state
  bool output_gate{};          ///< attention's output is multiplied with a gate of its width
  int index_heads{};           ///< of an indexer, which chooses keys
  std::int64_t index_width{};  ///< of its heads
  std::int64_t in{};           ///< of a state: width of all projections of the hidden states
  std::int64_t inner{};        ///< of the matrices between them and the state: their elements
  std::int64_t out{};          ///< of a state: what the output projection reads
  std::int64_t scan{256};      ///< of a state: tokens of a chunk in kernels that scan by chunks, Q
  int taps{};                  ///< of the convolution before a state; 0: there is none
  std::int64_t convolved{};    ///< its width
  double state_element{4};     ///< bytes, as the state is kept and passed on

  [[nodiscard]] constexpr bool attends() const noexcept { return costs::attends(span.how); }
  [[nodiscard]] constexpr bool has_state() const noexcept { return costs::has_state(span.how); }

  /// What forward takes of a token for its state, as the recurrence has it: what utilisation counts.
  /// Formula   multiply-adds count 2. Mamba 4 P N of each channel, of which there are H P; Mamba-2 4 H P N: the state's
  ///           update k v and the output q S; gated delta rule 6 H P N: S k besides; Lightning 4 H P N
  /// Source    derived from the recurrences of the papers at mixing
  [[nodiscard]] constexpr double recurrent_flops() const noexcept {
    if (!has_state()) return 0;
    return (span.how == mixing::delta ? 6.0 : 4.0) * state_size();
  }
  /// What kernels that scan by chunks of Q tokens take besides, of a token.
  /// Formula   half of the pairs of a chunk, Q / 2 for each token: Mamba-2 Q (G N + H P), scores of each group and
  ///           weighted values of each head; Lightning Q H (N + P); gated delta rule Q H (3 N + 2 P) + H Q^2 / 3:
  ///           scores of keys with keys and queries, the inverse of a triangular matrix, its products with keys and
  ///           values, and weighted values. Mamba runs no matrix products: none
  /// Source    derived from the chunked forms of the papers at mixing
  [[nodiscard]] constexpr double chunk_flops() const noexcept {
    const auto q = static_cast<double>(scan), h = static_cast<double>(heads), n = static_cast<double>(head_dim),
               p = static_cast<double>(value_dim);
    if (span.how == mixing::dual) return q * (kv_heads * n + h * p);
    if (span.how == mixing::lightning) return q * h * (n + p);
    if (span.how == mixing::delta) return q * h * (3 * n + 2 * p) + h * q * q / 3;
    return 0;
  }
  /// Elements of a state: H P N.
  [[nodiscard]] constexpr double state_size() const noexcept {
    return has_state() ? static_cast<double>(heads) * static_cast<double>(value_dim) * static_cast<double>(head_dim)
                       : 0;
  }
  /// What a slice hands to the next one of its sequence: the state, and the last inputs of the convolution, in 2 bytes.
  /// Units     bytes
  [[nodiscard]] constexpr double state_bytes() const noexcept {
    const double last = taps > 0 ? 2 * (taps - 1.0) * static_cast<double>(convolved) : 0;
    return state_element * state_size() + last;
  }
  friend constexpr bool operator==(const mixer&, const mixer&) = default;
};

}  // namespace slimpack::costs

#endif
