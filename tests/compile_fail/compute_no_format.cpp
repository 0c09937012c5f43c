#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>

// A stage compute that says nothing of its messages.
struct no_format {
#ifdef SLIMPACK_REPAIRED
  slimpack::message_format format() const;
#endif
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  void discard(const slimpack::piece&);
};

// most-lines: 15
// expected-diagnostic: this one has no member format
inline auto step(const slimpack::plan& p, no_format& c, slimpack::transports::threads::port& t) {
  return slimpack::executors::packflow{}.execute(p, c, t).value().loss_sum;
}
