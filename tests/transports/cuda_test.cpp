#include <slimpack/concepts.hpp>
#include <slimpack/transports/cuda.hpp>

#include "device_world.hpp"
#include "on_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::cuda_transport_test {
namespace {

using port = device_world::port;
static_assert(transport<port>);

TEST(CudaTransport, ObeysTheLawsOverStandIns) {
  for (const auto& [ranks, in_order] : {std::pair{1, true}, {2, false}, {4, true}, {4, false}}) {
    device_world world(ranks, {.seed = 3, .in_issue_order = in_order}, {law_time_out});
    for (const testing::report& r :
         laws_on_ranks(world, {.seed = 3, .cases = law_cases(3), .time_out = {law_time_out}}))
      EXPECT_TRUE(r) << r;
  }
}

/// Compute lags behind: what ranks issue is in order, what they see is not there yet.
TEST(CudaTransport, RunsBehindTheHost) {
  device_world world(2, {.in_issue_order = false}, {30});
  std::atomic<bool> gate{false};
  std::vector<std::byte> sent(8, std::byte{1}), got(8), copy(8);
  bool early = true;
  on_ranks(world, [&](port& t) {
    if (t.rank() == 0) {
      t.device()
          .run(t.stream(),
               [&] {
                 while (!gate) std::this_thread::yield();
                 std::fill(sent.begin(), sent.end(), std::byte{2});
               })
          .value();
      auto h = t.send(1, 0, sent).value();
      early = t.test(h).value();
      t.wait(h).value();  // returns, although the work has not begun
      gate = true;
    } else {
      auto h = t.receive(0, 0, got).value();
      t.wait(h).value();
      t.device().run(t.stream(), [&] { copy = got; }).value();
    }
    t.finish().value();
  });
  EXPECT_FALSE(early);
  EXPECT_EQ(copy, std::vector<std::byte>(8, std::byte{2}));  // not the 1 that was there when send was called
}

TEST(CudaTransport, ReceivesAfterTheWorkIssuedBefore) {
  device_world world(2, {.in_issue_order = false}, {30});
  std::vector<std::byte> buffer(4, std::byte{1}), kept(4);
  on_ranks(world, [&](port& t) {
    const std::vector<std::byte> out(4, std::byte{9});
    if (t.rank() == 1) {
      auto h = t.send(0, 0, out).value();
      t.wait(h).value();
    } else {
      t.device()
          .run(t.stream(),
               [&] {
                 std::this_thread::sleep_for(std::chrono::milliseconds(20));
                 kept = buffer;
               })
          .value();
      auto h = t.receive(1, 0, buffer).value();
      t.wait(h).value();
    }
    t.finish().value();
  });
  EXPECT_EQ(kept, std::vector<std::byte>(4, std::byte{1}));
  EXPECT_EQ(buffer, std::vector<std::byte>(4, std::byte{9}));
}

TEST(CudaTransport, RefusesAMessageOfAnotherSize) {
  device_world world(2, {}, {30});
  result<void> told = slimpack::success();
  on_ranks(world, [&](port& t) {
    std::vector<std::byte> bytes(t.rank() == 0 ? 3 : 4);
    if (t.rank() == 0) {
      auto h = t.send(1, 2, bytes).value();
      t.wait(h).value();
      t.finish().value();
    } else {
      auto h = t.receive(0, 2, bytes).value();
      told = t.wait(h);
    }
  });
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::wrong_message);
  EXPECT_EQ(told.error().detail, "expected 4 bytes on channel 2, rank 0 sent 3");
}

TEST(CudaTransport, HoldsUpNoHostForItsDevice) {
  device_world world(2, {}, {30});
  on_ranks(world, [&](port& t) {
    std::vector<std::byte> out(64), in(64);
    const int before = t.device().host_waits();
    for (int i = 0; i < 20; ++i) {
      auto r = t.receive(1 - t.rank(), 1, in).value();
      auto s = t.send(1 - t.rank(), 1, out).value();
      t.wait(r).value();
      t.wait(s).value();
    }
    t.finish().value();
    EXPECT_EQ(t.device().host_waits(), before);
  });
}

}  // namespace
}  // namespace slimpack::cuda_transport_test
