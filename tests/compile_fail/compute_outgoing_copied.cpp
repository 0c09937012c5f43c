#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>

// A stage compute that takes a copy of what it should write to: nothing would be written.
struct outgoing_copied {
  slimpack::message_format format() const;
#ifdef SLIMPACK_REPAIRED
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#else
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing out);
#endif
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  void discard(const slimpack::piece&);
};

// most-lines: 17
// expected-diagnostic: without a type state, forward is public, given (const piece&, span<const std::byte> in,
// outgoing& out)
inline auto step(const slimpack::plan& p, outgoing_copied& c, slimpack::transports::threads::port& t) {
  return slimpack::executors::packflow{}.execute(p, c, t).value().loss_sum;
}
