#include <slimpack/concepts.hpp>

#include <memory>

// A stage compute that would copy the activations which it cannot copy: backward must take its state by value.
struct keeps_activations {
  using state = std::unique_ptr<float[]>;
  slimpack::message_format format() const;
  slimpack::result<state> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#ifdef SLIMPACK_REPAIRED
  slimpack::result<void> backward(const slimpack::piece&, state, std::span<const std::byte> in, slimpack::outgoing& out);
#else
  slimpack::result<void> backward(const slimpack::piece&, state&, std::span<const std::byte> in, slimpack::outgoing& out);
#endif
  void discard(const slimpack::piece&, state);
};

template <slimpack::stage_compute Compute>
struct stage {};

// expected-diagnostic: a type state, forward(piece, in, out), backward(piece, state, in, out), discard(piece, state)
using wrong = stage<keeps_activations>;
