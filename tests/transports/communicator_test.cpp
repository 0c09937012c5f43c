#include <slimpack/devices/host.hpp>
#include <slimpack/transports/communicator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

/// What is decided at compile time: these tests pass by compiling. What communicators do is in nccl_test.cpp.
namespace slimpack::communicator_test {
namespace {

using device = devices::host;
using stream = device::stream;

/// A policy whose identities, and whose answers to some calls, are these.
template <class Identity = int, class Ready = result<bool>, class Launch = bool>
struct policy {
  struct communicator {};
  using identity = Identity;
  result<identity> make_identity();
  result<communicator> join(const identity&, int, int);
  Ready is_ready(const communicator&);
  result<void> send(const communicator&, const stream&, int, std::span<const std::byte>);
  result<void> receive(const communicator&, const stream&, int, std::span<std::byte>);
  result<void> sum(const communicator&, const stream&, std::span<float>);
  result<void> sum(const communicator&, const stream&, std::span<double>);
  Launch keeps_launch_order();
  void abort(std::span<const communicator>);
};

struct sums_floats_alone : policy<> {
  result<void> sum(const communicator&, const stream&, std::span<float>);
};
struct writes_what_it_sends : policy<> {
  result<void> send(const communicator&, const stream&, int, std::span<std::byte>);
};
struct aborts_one_by_one : policy<> {
  void abort(const communicator&);
};
struct in_one_place : policy<> {
  std::unique_ptr<int> library;
};

TEST(Communicator, OffersMessagesSumsAndAnAbort) {
  static_assert(detail::communicates_on<policy<>, device>);
  static_assert(communicator_for<policy<>, device>);
  static_assert(!detail::communicates_on<sums_floats_alone, device>);
  static_assert(!detail::communicates_on<writes_what_it_sends, device>);
  static_assert(!detail::communicates_on<aborts_one_by_one, device>);
  static_assert(!detail::communicates_on<in_one_place, device>);
}

// Ranks send each other the bytes of an identity.
TEST(Communicator, HasIdentitiesOfPlainBytes) {
  struct handle {
    std::byte bytes[128];
  };
  static_assert(detail::communicates_on<policy<handle>, device>);
  static_assert(!detail::communicates_on<policy<std::string>, device>);
}

TEST(Communicator, AnswersWhetherItIsReadyWithAResult) {
  static_assert(!detail::communicates_on<policy<int, bool>, device>);
  static_assert(!detail::communicates_on<policy<int, result<bool>, int>, device>);
}

}  // namespace
}  // namespace slimpack::communicator_test
