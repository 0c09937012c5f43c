#ifndef SLIMPACK_TESTS_TRANSPORTS_MESSAGE_CHECKS_HPP
#define SLIMPACK_TESTS_TRANSPORTS_MESSAGE_CHECKS_HPP

#include <slimpack/core/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// What transports of host memory whose messages wait in a mailbox have in common: each is called on every rank.
namespace slimpack {

/// What a wait for what was posted says, the error of either.
template <class Transport, class Posted>
result<void> waited(Transport& t, Posted posted) {
  if (!posted) return posted.error();
  return t.wait(posted.value());
}

/// With sends that wait for their receivers all ranks would stand in the first send for ever.
template <class Transport>
void send_to_all_before_any_receive(Transport& t) {
  const std::vector<int> out(1 << 18, t.rank());
  std::vector<int> in(out.size());
  for (const int channel : {2, 1})
    for (int peer = 0; peer < t.size(); ++peer)
      ASSERT_TRUE(t.send(peer, channel, std::as_bytes(std::span(out))).has_value());
  for (const int channel : {1, 2})
    for (int peer = t.size(); peer-- > 0;) {
      ASSERT_TRUE(waited(t, t.receive(peer, channel, std::as_writable_bytes(std::span(in)))).has_value());
      EXPECT_EQ(in, std::vector<int>(out.size(), peer));
    }
}

/// Of two ranks.
template <class Transport>
void receive_another_size(Transport& t) {
  std::array<std::byte, 8> message{};
  ASSERT_TRUE(t.send(1 - t.rank(), 5, std::span(message).first(7)).has_value());
  const result<void> r = waited(t, t.receive(1 - t.rank(), 5, message));
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, errc::wrong_message);
  EXPECT_EQ(r.error().detail,
            "a message of 7 bytes from rank " + std::to_string(1 - t.rank()) + " on channel 5, where 8 were expected");
}

/// Rank 0 of two aborts two steps while rank 1 is still in the first; its message of the third is kept until rank 1 is
/// there.
template <class Transport>
void abort_two_steps_ahead(Transport& t, std::barrier<>& aborted) {
  int number = 3;
  if (t.rank() == 0) {
    for (int step = 1; step <= 2; ++step) {
      ASSERT_TRUE(t.send(1, 1, std::as_bytes(std::span(&step, 1))).has_value());
      t.abort("step " + std::to_string(step));
    }
    const auto third = t.send(1, 1, std::as_bytes(std::span(&number, 1)));
    aborted.arrive_and_wait();
    EXPECT_TRUE(waited(t, third).has_value());
  } else {
    aborted.arrive_and_wait();
    t.abort("the first");
    t.abort("the second");
    number = 0;
    ASSERT_TRUE(waited(t, t.receive(0, 1, std::as_writable_bytes(std::span(&number, 1)))).has_value());
    EXPECT_EQ(number, 3);
  }
}

}  // namespace slimpack

#endif
