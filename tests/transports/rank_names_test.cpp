#include <slimpack/core/rank_names.hpp>

#include "../support/sanitizers.hpp"
#include "local_group.hpp"
#include "socket_link.hpp"

#include <slimpack/testing/generator.hpp>
#include <slimpack/transports/blocking.hpp>
#include <slimpack/transports/detail/any_transport.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#ifdef SLIMPACK_TESTS_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::transport_rank_names_test {
namespace {

constexpr std::uint64_t seed = 53;

/// The trainer's numbers of 3 ranks: any.
std::vector<int> drawn_numbers(testing::generator& random) {
  std::vector<int> number{100, 2, 51};
  for (std::size_t r = 2; r > 0; --r)
    std::swap(number[r], number[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(r)))]);
  return number;
}

std::function<int(int)> of(const std::vector<int>& number) {
  return [&number](int r) { return number[static_cast<std::size_t>(r)]; };
}

template <class Transport>
std::string failure_of(Transport& t, const std::vector<int>& number, bool sends, int peer, std::size_t size = 1) {
  detail::transport_behind<Transport> port(t, of(number));
  std::vector<std::byte> bytes(size);
  auto on = sends ? port.send(peer, 7, bytes) : port.receive(peer, 7, bytes);
  if (!on) return on.error().detail;
  const result<void> through = port.wait(on.value());
  const std::string told = through ? "" : through.error().detail;
  t.abort("over");
  return told;
}

TEST(TransportRankNames, OfThreadsAreTheTrainers) {
  testing::generator random(seed);
  for (int n = 0; n < 6; ++n) {
    const std::vector<int> number = drawn_numbers(random);
    const auto name = [&](int r) { return "rank " + std::to_string(of(number)(r)); };
    transports::threads world(3, {.time_out = seconds{.005}});
    auto one = world.endpoint(1), two = world.endpoint(2), zero = world.endpoint(0);
    EXPECT_EQ(failure_of(one, number, false, 2),
              name(1) + " waited 0.005 s for a message from " + name(2) + " on channel 7")
        << "seed " << seed;
    EXPECT_EQ(failure_of(one, number, true, 0),
              name(1) + " waited 0.005 s for " + name(0) + " to leave the step that was aborted");
    zero.abort("over"), two.abort("over");
    EXPECT_EQ(failure_of(one, number, true, 0),
              name(1) + " waited 0.005 s for " + name(0) + " to take a message on channel 7");
    zero.abort("over"), two.abort("over");
    const std::array<std::byte, 3> three{};
    auto sent = two.send(1, 7, three);
    ASSERT_TRUE(sent);
    EXPECT_EQ(failure_of(one, number, false, 2),
              name(2) + " sent 3 bytes on channel 7 where " + name(1) + " expected 1");
    zero.abort("over"), two.abort("over");
  }
}

TEST(TransportRankNames, OfGroupsAreTheTrainers) {
  testing::generator random(seed + 1);
  for (int n = 0; n < 6; ++n) {
    const std::vector<int> number = drawn_numbers(random);
    const auto name = [&](int r) { return "rank " + std::to_string(of(number)(r)); };
    group_world<local_group> world(3, .05);
#ifdef SLIMPACK_TESTS_ADDRESS_SANITIZER
    const __lsan::ScopedDisabler meant;  // what cannot end is left to the group, with its memory
#endif
    auto zero = world.endpoint(0), one = world.endpoint(1);
    EXPECT_EQ(failure_of(one, number, false, 0), "no message from " + name(0) + " on channel 7 in 50 ms")
        << "seed " << seed + 1;
    world.at.lose(2);
    EXPECT_EQ(failure_of(one, number, false, 0), name(2) + " cannot be reached: the cable is out");
  }
}

TEST(TransportRankNames, OfLinksAreTheTrainers) {
  testing::generator random(seed + 2);
  for (int n = 0; n < 6; ++n) {
    const std::vector<int> number = drawn_numbers(random);
    const auto name = [&](int r) { return "rank " + std::to_string(of(number)(r)); };
    over_sockets world(3);
    transports::blocking<socket_link> zero(world.link(0), 0, 3, {.time_out = {5}});
    world.close(1);  // as a process that is killed
    EXPECT_EQ(failure_of(zero, number, false, 2), name(1) + " is gone") << "seed " << seed + 2;
    world.close(2);
  }
}

}  // namespace
}  // namespace slimpack::transport_rank_names_test
