#include <slimpack/devices/host.hpp>
#include <slimpack/devices/streams.hpp>
#include <slimpack/transports/communicator.hpp>

// A device that cannot wait for an event, and a communicator policy that cannot be aborted.
struct device : slimpack::devices::host {
  explicit device(slimpack::devices::host one) : host(std::move(one)) {}
#ifndef SLIMPACK_REPAIRED
  slimpack::result<void> wait(const stream&);
#endif
};

// expected-diagnostic: a device offers types stream, event, memory, and make_stream(), record(stream), wait(stream,
// event)
static_assert(slimpack::streams<device>);

struct wires {
  struct communicator {};
  using identity = int;
  slimpack::result<int> make_identity();
  slimpack::result<communicator> join(int, int, int);
  slimpack::result<bool> is_ready(const communicator&);
  slimpack::result<void> send(const communicator&, const slimpack::devices::host::stream&, int,
                              std::span<const std::byte>);
  slimpack::result<void> receive(const communicator&, const slimpack::devices::host::stream&, int,
                                 std::span<std::byte>);
  template <class T>
  slimpack::result<void> sum(const communicator&, const slimpack::devices::host::stream&, std::span<T>);
  bool keeps_launch_order() const;
#ifdef SLIMPACK_REPAIRED
  void abort(std::span<const communicator>);
#endif
};

// expected-diagnostic: a communicator policy offers types communicator, identity, and make_identity()
static_assert(slimpack::communicator_for<wires, slimpack::devices::host>);
