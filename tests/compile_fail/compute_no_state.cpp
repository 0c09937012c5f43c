#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>

// A stage compute whose forward gives no state, although it names the type of one.
struct no_state {
  using state = int;
  slimpack::message_format format() const;
#ifdef SLIMPACK_REPAIRED
  slimpack::result<state> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#else
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#endif
  slimpack::result<void> backward(const slimpack::piece&, state, std::span<const std::byte> in,
                                  slimpack::outgoing& out);
  void discard(const slimpack::piece&, state);
};

// most-lines: 19
// expected-diagnostic: with a type state, forward is public, given (const piece&, span<const std::byte> in, outgoing&
// out) and gives state
inline auto step(const slimpack::plan& p, no_state& c, slimpack::transports::threads::port& t) {
  return slimpack::executors::packflow{}.execute(p, c, t).value().loss_sum;
}
