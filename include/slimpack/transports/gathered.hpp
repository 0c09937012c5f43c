#ifndef SLIMPACK_TRANSPORTS_GATHERED_HPP
#define SLIMPACK_TRANSPORTS_GATHERED_HPP

#include <slimpack/transports/hooks.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack {

/// Every rank's values on all ranks, in order of rank: size() times own.size() of them. Every rank calls it, with as
/// many values.
/// Errors    those of the transport, which has then been aborted here: until a rank aborts, others may still read and
///           write the memory of a gather that failed (law 4 of transports), and this one's is gone when the call
///           returns
template <class T, class Transport>
[[nodiscard]] result<std::vector<T>> gathered(Transport& transport, std::span<const T> own) {
  static_assert(std::is_trivially_copyable_v<T>, "what is gathered is copied byte by byte");
  std::vector<T> all(own.size() * static_cast<std::size_t>(transport.size()));
  if (result<void> told = all_gather(transport, std::as_bytes(own), std::as_writable_bytes(std::span(all))); !told) {
    transport.abort(told.error().detail);
    return std::move(told).error();
  }
  return all;
}

/// The same of one value.
template <class T, class Transport>
[[nodiscard]] result<std::vector<T>> gathered(Transport& transport, const T& own) {
  return gathered(transport, std::span<const T>(&own, 1));
}

}  // namespace slimpack

#endif
