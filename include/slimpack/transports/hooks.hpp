#ifndef SLIMPACK_TRANSPORTS_HOOKS_HPP
#define SLIMPACK_TRANSPORTS_HOOKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/detail/over_messages.hpp>

#include <concepts>
#include <cstddef>
#include <span>

/// How the runtime asks a transport. The members of the concept (concepts.hpp) must be there; each other question has
/// a default, and a member of the same meaning replaces it:
///
///   member a transport may offer                           what it does                            default
///   result<void> all_gather(bytes own, span<byte> all)     every rank's few host bytes, by rank    over messages
///   result<void> all_reduce(span<T>, span<const int>)      sums over the ranks named, all equal    ring of messages
///   result<void> finish()                                  returns when every operation has ended  nothing
///
/// The defaults move host memory over channel 0, which is theirs. A transport of device memory offers its own.
namespace slimpack {

/// Gathers `own` from every rank into `all`, in order of rank: size() times own.size() bytes on each.
template <class Transport>
result<void> all_gather(Transport& transport, std::span<const std::byte> own, std::span<std::byte> all) {
  if constexpr (requires { { transport.all_gather(own, all) } -> std::same_as<result<void>>; })
    return transport.all_gather(own, all);
  else
    return detail::all_gather_over_messages(transport, own, all);
}

/// Adds `data` over `group`, ranks in rising order with this one among them; every member gets the same bits.
template <class T, class Transport>
result<void> all_reduce(Transport& transport, std::span<T> data, std::span<const int> group) {
  if (group.size() < 2) return success();
  if constexpr (requires { { transport.all_reduce(data, group) } -> std::same_as<result<void>>; })
    return transport.all_reduce(data, group);
  else
    return detail::all_reduce_over_messages(transport, data, group);
}

template <class Transport>
result<void> finish(Transport& transport) {
  if constexpr (requires { { transport.finish() } -> std::same_as<result<void>>; })
    return transport.finish();
  else
    return success();
}

}  // namespace slimpack

#endif
