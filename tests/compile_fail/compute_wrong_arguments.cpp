#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>

// A stage compute whose backward is written for another order of arguments.
struct wrong_arguments {
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#ifdef SLIMPACK_REPAIRED
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#else
  slimpack::result<void> backward(std::span<const std::byte> in, const slimpack::piece&, slimpack::outgoing& out);
#endif
  void discard(const slimpack::piece&);
};

// most-lines: 17
// expected-diagnostic: without a type state, backward is public, given (const piece&, span<const std::byte> in,
// outgoing& out)
inline auto step(const slimpack::plan& p, wrong_arguments& c, slimpack::transports::threads::port& t) {
  return slimpack::executors::packflow{}.execute(p, c, t).value().loss_sum;
}
