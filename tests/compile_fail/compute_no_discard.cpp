#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>

// A stage compute that cannot give back what a failed step leaves.
struct no_discard {
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#ifdef SLIMPACK_REPAIRED
  void discard(const slimpack::piece&);
#endif
};

// most-lines: 17
// expected-diagnostic: this one has no member discard
inline auto step(const slimpack::plan& p, no_discard& c, slimpack::transports::threads::port& t) {
  return slimpack::executors::packflow{}.execute(p, c, t).value().loss_sum;
}
