#include <slimpack/executors/outgoing.hpp>

// A trainer's tensor, whose bytes are told by a function in another namespace than its own.
namespace trainer {
struct tensor {
  std::span<const std::byte> bytes() const;
};
#ifdef SLIMPACK_REPAIRED
std::span<const std::byte> as_span(const tensor& t);
#endif
}  // namespace trainer

#ifndef SLIMPACK_REPAIRED
std::span<const std::byte> as_span(const trainer::tensor& t);
#endif

// expected-diagnostic: for put, std::span<const std::byte> as_span(const T&) stands in the namespace of the tensor
// type T
inline bool put(slimpack::outgoing& out, const trainer::tensor& t) { return out.put(t).has_value(); }
