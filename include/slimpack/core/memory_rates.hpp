#ifndef SLIMPACK_CORE_MEMORY_RATES_HPP
#define SLIMPACK_CORE_MEMORY_RATES_HPP

namespace slimpack {

/// What one stage holds, as amounts of the memory limit's unit (bytes of one GPU, or tokens).
/// Formula   fixed + live_token * (tokens forwarded, not yet backwarded; where forward packs run alone, of sequences
///           that have not ended on their chunk)
///           + gradient_token * (prefix tokens of sequences whose backward is under way)
///           + forward_token * (tokens of the running forward pack), or backward_token * (of the running backward pack)
///           + what the pieces forwarded, not yet backwarded, keep beside their tokens (hook `kept` in costs/hooks.hpp)
///           + other_token * (tokens of shared sequences that other replicas run, from their row's forward to its
///           backward, if a token of this replica comes after them). Their gradients count as gradient_token
///           + weight_token * (tokens whose backward has begun, and whose weight gradients run apart and have not run)
///           + logit_token * (tokens from their V to the end of their U)
///           + turned_token * (tokens whose V has run on the last stage and whose B on the last part has not)
///           + lent_token * (keys that other stages lend the running instruction), twice backward
///           prefix_token is a part of live_token: of a sequence that is not cut nothing comes later that reads it. It
///           is counted of all tokens, since rates do not tell them apart; bounds leave it out (least_token)
/// Source    derived: it depends on the order of a stage's instructions, never on their times;
///           accumulators of dK and dV live from the first backward slice of a sequence to its last
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

  /// What a token of any sequence keeps at least.
  [[nodiscard]] constexpr double least_token() const noexcept { return live_token - prefix_token; }
  /// Held while a forward pack of `running` tokens runs; `live` counts them.
  [[nodiscard]] constexpr double in_forward(double live, double gradient, double running) const noexcept {
    return fixed + live_token * live + gradient_token * gradient + forward_token * running;
  }
  /// Held while a backward pack of `running` tokens runs; `live` counts them still.
  [[nodiscard]] constexpr double in_backward(double live, double gradient, double running) const noexcept {
    return fixed + live_token * live + gradient_token * gradient + backward_token * running;
  }
  friend constexpr bool operator==(const memory_rates&, const memory_rates&) = default;
};

/// All of them, in order.
inline constexpr double memory_rates::*memory_rate_columns[]{
    &memory_rates::fixed,         &memory_rates::live_token,     &memory_rates::gradient_token,
    &memory_rates::forward_token, &memory_rates::backward_token, &memory_rates::other_token,
    &memory_rates::weight_token,  &memory_rates::logit_token,    &memory_rates::turned_token,
    &memory_rates::lent_token,    &memory_rates::prefix_token};

}  // namespace slimpack

#endif
