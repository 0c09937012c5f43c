#include <slimpack/concepts.hpp>

#include <memory>

// A stage compute that would copy the activations which it cannot copy: backward must take its state by value.
struct keeps_activations {
  using state = std::unique_ptr<float[]>;
  slimpack::result<state> forward(const slimpack::piece&, std::span<const std::byte> in, std::span<std::byte> out);
#ifdef SLIMPACK_REPAIRED
  slimpack::result<void> backward(const slimpack::piece&, state, std::span<const std::byte> in,
                                  std::span<std::byte> out);
#else
  slimpack::result<void> backward(const slimpack::piece&, state&, std::span<const std::byte> in,
                                  std::span<std::byte> out);
#endif
  void discard(const slimpack::piece&, state);
};

template <slimpack::stage_compute Compute>
struct stage {};

// expected-diagnostic: a stage compute offers a type state, forward(piece, in, out)
using wrong = stage<keeps_activations>;
