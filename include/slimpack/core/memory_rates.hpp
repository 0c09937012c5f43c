#ifndef SLIMPACK_CORE_MEMORY_RATES_HPP
#define SLIMPACK_CORE_MEMORY_RATES_HPP

namespace slimpack {

/// What one stage holds, as amounts of the memory limit's unit (bytes of one GPU, or tokens).
/// Formula   fixed + live_token * (tokens forwarded, not yet backwarded; where forward packs run alone, of sequences
///           that have not ended on their chunk)
///           + gradient_token * (prefix tokens of sequences whose backward is under way)
///           + forward_token * (tokens of the running forward pack), or backward_token * (of the running backward pack)
///           + forward_pair * (dense pairs of the running forward pack), or backward_pair * (of the running backward
///           pack): the sum over its slices of queries times all keys up to the slice's end (slice::dense_pairs); of a
///           backward pack that runs call by call, those of the call
///           + what the pieces forwarded, not yet backwarded, keep beside their tokens (hook `kept` in costs/hooks.hpp)
///           + other_token * (tokens of shared sequences that other replicas run, from their row's forward to its
///           backward, if a token of this replica comes after them). Their gradients count as gradient_token
///           + weight_token * (tokens whose backward has begun, and whose weight gradients run apart and have not run)
///           + logit_token * (tokens from their V to the end of their U)
///           + turned_token * (tokens whose V has run on the last stage and whose B on the last part has not)
///           + lent_token * (keys that other stages lend the running instruction), twice backward; the pairs of lent
///           queries and keys count as the instruction's own
///           prefix_token is a part of live_token: of a sequence that is not cut nothing comes later that reads it. It
///           is counted of all tokens, since rates do not tell them apart; bounds leave it out (least_token)
/// Source    derived: it depends on the order of a stage's instructions, never on their times;
///           accumulators of dK and dV live from the first backward slice of a sequence to its last.
///           Pairs, derived: what attention makes of every query and key is there while a layer attends, and no longer
///           (what waits for the backward is kept, hook `kept`). A compute that runs a pack in one call, or computes a
///           layer of the pack again, has them of all slices at once: the sum. One that loops over sequences or pieces
///           has the largest at most, which is no more; of a pack of one slice both are the same. In packs of T tokens
///           whose longest slice reads L keys the sum is at most T L, so that packs no longer than the longest sequence
///           never need more than that sequence alone. A slice that the compute is called with in pieces, a lender's
///           pairs that a helper computes, and a ring that comes with keys part by part have fewer pairs, too: the
///           count is safe for all of them
struct memory_rates {
  double fixed{};           ///< weights, gradients, optimizer states
  double live_token{1};     ///< activations of a token, K and V included
  double gradient_token{};  ///< dK and dV accumulators of a token
  double forward_token{};   ///< held only while a forward pack runs
  double backward_token{};  ///< held only while a backward pack runs: the recomputed layer, the logits' gradient
  double other_token{};     ///< K and V kept of a token that another sharer runs; counted in whole bytes
  double weight_token{};    ///< what a token's weight gradients need beside live_token, where they run apart: from B to
                            ///< W
  double logit_token{};     ///< a token's logits and hidden row on a stage, from V to U
  double turned_token{};    ///< the gradient of a token's hidden row, which waits on the last stage from V to B
  double lent_token{};      ///< K and V of a lent token in two layers, of which one is on its way; backward gradients
                            ///< as large
  double prefix_token{};    ///< of live_token: what is kept only because slices that come later read it
  double forward_pair{};    ///< held only while a forward pack runs: scores of dense attention
  double backward_pair{};   ///< held only while a backward pack runs: scores computed again, and their gradients

  /// What a token of any sequence keeps at least.
  [[nodiscard]] constexpr double least_token() const noexcept { return live_token - prefix_token; }
  /// Held while a forward pack of `running` tokens and so many dense pairs runs; `live` counts its tokens.
  [[nodiscard]] constexpr double in_forward(double live, double gradient, double running,
                                            double pairs = 0) const noexcept {
    return fixed + live_token * live + gradient_token * gradient + forward_token * running + forward_pair * pairs;
  }
  /// Held while a backward pack of `running` tokens and so many dense pairs runs; `live` counts its tokens still.
  [[nodiscard]] constexpr double in_backward(double live, double gradient, double running,
                                             double pairs = 0) const noexcept {
    return fixed + live_token * live + gradient_token * gradient + backward_token * running + backward_pair * pairs;
  }
  /// Whether a running pack holds anything for its pairs.
  [[nodiscard]] constexpr bool counts_pairs() const noexcept { return forward_pair > 0 || backward_pair > 0; }
  friend constexpr bool operator==(const memory_rates&, const memory_rates&) = default;
};

/// All of them, in order.
inline constexpr double memory_rates::*memory_rate_columns[]{
    &memory_rates::fixed,         &memory_rates::live_token,     &memory_rates::gradient_token,
    &memory_rates::forward_token, &memory_rates::backward_token, &memory_rates::other_token,
    &memory_rates::weight_token,  &memory_rates::logit_token,    &memory_rates::turned_token,
    &memory_rates::lent_token,    &memory_rates::prefix_token,   &memory_rates::forward_pair,
    &memory_rates::backward_pair};

}  // namespace slimpack

#endif
