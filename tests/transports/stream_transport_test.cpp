#include "stream_transport.hpp"

#include "on_ranks.hpp"

#include <slimpack/concepts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace slimpack::stream_transport_test {
namespace {

static_assert(transport<stream_transport>);

TEST(StreamTransport, ObeysTheLaws) {
  for (const int ranks : {1, 2, 4}) {
    stream_world world(ranks, {.seed = 3, .time_out = {1}});
    for (const testing::report& r : laws_on_ranks(world, {.seed = 3, .cases = 5, .time_out = {1}})) EXPECT_TRUE(r) << r;
  }
}

/// Two ranks pass numbers round while compute lags behind: what they issue is in order, what they see is not there yet.
TEST(StreamTransport, RunsBehindTheHost) {
  stream_world world(2);
  std::atomic<bool> gate{false};
  std::vector<std::byte> sent(8, std::byte{1}), got(8), copy(8);
  bool early = true;
  on_ranks(world, [&](stream_transport& t) {
    if (t.rank() == 0) {
      t.stream().enqueue([&] {
        while (!gate) std::this_thread::yield();
        std::fill(sent.begin(), sent.end(), std::byte{2});
      });
      auto h = t.send(1, 0, sent).value();
      early = t.test(h).value();
      t.wait(h).value();  // returns, although the kernel has not begun
      gate = true;
    } else {
      auto h = t.receive(0, 0, got).value();
      t.wait(h).value();
      t.stream().enqueue([&] { copy = got; });
    }
    t.finish().value();
  });
  EXPECT_FALSE(early);
  EXPECT_EQ(copy, std::vector<std::byte>(8, std::byte{2}));  // not the 1 that was there when send was called
}

TEST(StreamTransport, ReceivesAfterTheWorkIssuedBefore) {
  stream_world world(2);
  std::vector<std::byte> buffer(4, std::byte{1}), kept(4);
  on_ranks(world, [&](stream_transport& t) {
    const std::vector<std::byte> out(4, std::byte{9});
    if (t.rank() == 1) {
      auto h = t.send(0, 0, out).value();
      t.wait(h).value();
    } else {
      t.stream().enqueue([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        kept = buffer;
      });
      auto h = t.receive(1, 0, buffer).value();
      t.wait(h).value();
    }
    t.finish().value();
  });
  EXPECT_EQ(kept, std::vector<std::byte>(4, std::byte{1}));
  EXPECT_EQ(buffer, std::vector<std::byte>(4, std::byte{9}));
}

TEST(StreamTransport, TellsErrorsOfStreamsAtFinish) {
  stream_world world(2);
  result<void> told = slimpack::success();
  on_ranks(world, [&](stream_transport& t) {
    std::vector<std::byte> bytes(t.rank() == 0 ? 3 : 4);
    if (t.rank() == 0) {
      t.send(1, 2, bytes).value();
      t.finish().value();
    } else {
      auto h = t.receive(0, 2, bytes).value();
      t.wait(h).value();
      told = t.finish();
    }
  });
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::wrong_message);
  EXPECT_EQ(told.error().detail, "rank 1 expected 4 bytes on channel 2, rank 0 sent 3");
}

}  // namespace
}  // namespace slimpack::stream_transport_test
