#include <slimpack/executors/packflow.hpp>
#include <slimpack/transports/threads.hpp>

// Layers that run forward alone, which nobody could train; nor does anyone let go of what they keep.
struct layers {
  slimpack::message_format format() const;
  slimpack::result<void> forward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
  slimpack::result<void> backward(const slimpack::piece&, std::span<const std::byte> in, slimpack::outgoing& out);
#ifdef SLIMPACK_REPAIRED
  void discard(const slimpack::piece&);
#endif
};

// expected-diagnostic: a stage compute offers discard(piece)
slimpack::result<slimpack::step_report> wrong(const slimpack::plan& plan, layers& compute,
                                              slimpack::transports::threads::port& transport) {
  return slimpack::executors::packflow{}.evaluate(plan, compute, transport);
}
