#ifndef SLIMPACK_DEVICES_STREAMS_HPP
#define SLIMPACK_DEVICES_STREAMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/unmet.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace slimpack {

namespace detail {

template <class M>
concept owns_bytes = std::movable<M> && requires(M& m) {
  { as_span(m) } -> std::same_as<std::span<std::byte>>;
};

template <class D>
concept runs_streams = std::copyable<D> && std::copyable<typename D::stream> && std::copyable<typename D::event> &&
    owns_bytes<typename D::memory> &&
    requires(D& d, const typename D::stream& on, const typename D::event& at, std::span<std::byte> to,
             std::span<const std::byte> from, std::size_t size, std::function<void()> work) {
  { d.make_stream() } -> std::same_as<result<typename D::stream>>;
  { d.record(on) } -> std::same_as<result<typename D::event>>;
  { d.wait(on, at) } -> std::same_as<result<void>>;
  { d.query(at) } -> std::same_as<result<bool>>;
  { d.elapsed(at, at) } -> std::same_as<result<seconds>>;
  { d.copy(on, to, from) } -> std::same_as<result<void>>;
  { d.run(on, std::move(work)) } -> std::same_as<result<void>>;
  { d.synchronize(on) } -> std::same_as<result<void>>;
  { d.allocate(size) } -> std::same_as<result<typename D::memory>>;
  { d.allocate_pinned(size) } -> std::same_as<result<typename D::memory>>;
};

}  // namespace detail

/// A device runs work beside the host, in streams. The handles that it gives (device, stream, event) are copied freely.
///  1. what is issued on a stream runs in the order of issue; what is issued on two has no order but that of events
///  2. record gives an event that is reached when all issued on the stream before it has run; wait lets what is issued
///     on a stream from then on come after an event, of another device, too. Neither holds up the host
///  3. query says whether an event is reached; elapsed tells the time between two that are
///  4. copy moves bytes between any two memories of the process; run calls a function of the host, which calls no
///     device
///  5. synchronize returns when all issued on the stream has run. It and the two allocations are the calls at which a
///     host may wait for a device: a runtime makes none of them in the middle of a step
///  6. memory frees itself; as_span(memory&) gives its bytes
/// tests/devices checks them. Calls may come from several threads.
/// Shipped   devices::cuda, a GPU by the CUDA runtime; devices::host, a stand-in on threads, which tests what is
///           written for one
template <class D>
concept streams = detail::runs_streams<D> || detail::unmet<
    "a device offers types stream, event, memory, and make_stream(), record(stream), wait(stream, event), "
    "query(event), elapsed(event, event), copy(stream, to, from), run(stream, function), synchronize(stream), "
    "allocate(size), allocate_pinned(size), each giving a result">();

}  // namespace slimpack

#endif
