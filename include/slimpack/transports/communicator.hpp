#ifndef SLIMPACK_TRANSPORTS_COMMUNICATOR_HPP
#define SLIMPACK_TRANSPORTS_COMMUNICATOR_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/devices/streams.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace slimpack {

namespace detail {
template <class P, class Device>
concept communicates_on = std::copyable<P> && std::copyable<typename P::communicator> &&
    std::is_trivially_copyable_v<typename P::identity> && std::default_initializable<typename P::identity> &&
    requires(P& p, const typename P::identity& id, const typename P::communicator& over,
             const typename Device::stream& on, int peer, std::span<const std::byte> out, std::span<std::byte> in,
             std::span<float> singles, std::span<double> doubles, std::span<const typename P::communicator> all) {
  { p.make_identity() } -> std::same_as<result<typename P::identity>>;
  { p.join(id, peer, peer) } -> std::same_as<result<typename P::communicator>>;
  { p.is_ready(over) } -> std::same_as<result<bool>>;
  { p.send(over, on, peer, out) } -> std::same_as<result<void>>;
  { p.receive(over, on, peer, in) } -> std::same_as<result<void>>;
  { p.sum(over, on, singles) } -> std::same_as<result<void>>;
  { p.sum(over, on, doubles) } -> std::same_as<result<void>>;
  { p.keeps_launch_order() } -> std::same_as<bool>;
  p.abort(all);
};
}  // namespace detail

/// The calls that transports::nccl makes of NCCL, or of a library like it, for devices of one type.
///  1. make_identity gives what ranks must know to join one communicator; join(identity, rank, size) makes it, and
///     returns before the others have joined
///  2. is_ready says whether the last call on a communicator has come through; errors of the communicator come to light
///     here
///  3. send, receive and sum issue work on a stream; between two ranks the k-th send meets the k-th receive. sum gives
///     all the same bits
///  4. abort ends what is under way on this rank, on all communicators given at once; nothing more moves
///  5. keeps_launch_order says whether operations of several communicators run in the order in which a host issued them
/// tests/transports/nccl_test.cpp checks them by the laws of the transport.
/// Shipped   communicators::nccl; communicators::host between stand-in devices
template <class P, class Device>
concept communicator_for = streams<Device> &&
    (detail::communicates_on<P, Device> ||
     detail::unmet<
         "a communicator policy offers types communicator, identity, and make_identity(), join(identity, rank, size), "
         "is_ready(communicator), send(communicator, stream, peer, bytes), receive(likewise), sum(communicator, "
         "stream, span of float or double), keeps_launch_order(), abort(span of communicators)">());

}  // namespace slimpack

#endif
