#include <slimpack/concepts.hpp>

// An autograd graph per forward piece cannot run backward over half a piece.
struct autograd {
  using state = int;
#ifndef SLIMPACK_REPAIRED
  static constexpr slimpack::backward_cuts cuts = slimpack::backward_cuts::any;
#endif
  slimpack::message_format format() const;
  slimpack::result<state> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, state, std::span<const std::byte> in,
                                  slimpack::outgoing& out);
  void discard(const slimpack::piece&, state);
};

template <slimpack::stage_compute Compute>
struct stage {};

// own-lines: 18
// expected-diagnostic: a stage compute that cuts backward anywhere keeps its own state
using wrong = stage<autograd>;
