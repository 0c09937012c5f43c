#include <slimpack/concepts.hpp>

#include <memory>

// A stage compute that would copy the activations which it cannot copy: backward must take its state by value.
struct keeps_activations {
  using state = std::unique_ptr<float[]>;
  slimpack::message_format format() const;
  slimpack::result<state> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#ifdef SLIMPACK_REPAIRED
  slimpack::result<void> backward(const slimpack::piece&, state, std::span<const std::byte> in,
                                  slimpack::outgoing& out);
#else
  slimpack::result<void> backward(const slimpack::piece&, state&, std::span<const std::byte> in,
                                  slimpack::outgoing& out);
#endif
  void discard(const slimpack::piece&, state);
};

// One that says it shares rows, and has no call for them.
struct shares_in_words {
  static constexpr bool shares_rows = true;
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  void discard(const slimpack::piece&);
#ifdef SLIMPACK_REPAIRED
  slimpack::row_format rows(std::uint32_t chunk) const;
  slimpack::result<void> forward(std::span<const slimpack::piece>, std::span<const std::byte> in,
                                 slimpack::outgoing& out, slimpack::sharing&);
  slimpack::result<void> backward(std::span<const slimpack::piece>, std::span<const std::byte> in,
                                  slimpack::outgoing& out, slimpack::sharing&);
#endif
};

template <slimpack::stage_compute Compute>
struct stage {};

// own-lines: 45
// expected-diagnostic: with a type state, backward is public, given (const piece&, state, span<const std::byte> in,
// outgoing& out), or (span<const piece>, span<state>, in, out), and gives void or result<void>; a state by value
using wrong = stage<keeps_activations>;
// expected-diagnostic: a stage compute that shares rows offers row_format rows(std::uint32_t chunk) const, forward(span
// of pieces, in, out, sharing&)
using words = stage<shares_in_words>;
