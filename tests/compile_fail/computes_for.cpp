#include <slimpack/concepts.hpp>

struct layers {
#ifdef SLIMPACK_REPAIRED
  static constexpr bool splits_weight_gradients = true;
  void weights(const slimpack::piece&);
#endif
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  void discard(const slimpack::piece&);
};

// A schedule that fills bubbles with weight gradients, for layers that compute both gradients at once.
struct zero_bubble {
  static constexpr bool splits_weight_gradients = true;
};

template <class Schedule, slimpack::computes_for<Schedule> Compute>
struct trainer {};

// own-lines: 18
// expected-diagnostic: this schedule runs weight gradients apart from input gradients
using wrong = trainer<zero_bubble, layers>;
