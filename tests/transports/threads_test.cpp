#include "../laws/cases.hpp"
#include "on_ranks.hpp"

#include <slimpack/concepts.hpp>
#include <slimpack/transports/hooks.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace slimpack::threads_test {
namespace {

using transports::threads;
using port = threads::port;
using clock = std::chrono::steady_clock;

static_assert(transport<port>);

double since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

std::vector<std::byte> of(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

TEST(ThreadsTransport, ObeysTheLaws) {
  for (const int ranks : {1, 2, 3, 5}) {
    threads world(ranks, {.time_out = {1}});
    const testing::transport_options o{
        .seed = static_cast<std::uint64_t>(ranks), .cases = law_cases(10), .time_out = {1}};
    for (const testing::report& r : laws_on_ranks(world, o)) EXPECT_TRUE(r) << r;
  }
}

TEST(ThreadsTransport, ObeysTheLawsWithoutSpinning) {
  threads world(4, {.time_out = {1}, .spin = {0}});
  for (const testing::report& r : laws_on_ranks(world, {.seed = 4, .cases = law_cases(10), .time_out = {1}}))
    EXPECT_TRUE(r) << r;
}

TEST(ThreadsTransport, CarriesLargeMessages) {
  threads world(2);
  for (const testing::report& r : laws_on_ranks(world, {.cases = 1, .largest = std::size_t{64} << 20}))
    EXPECT_TRUE(r) << r;
}

TEST(ThreadsTransport, SendsAtOnceWhereTheReceiveIsPosted) {
  threads world(2);
  port a = world.endpoint(0), b = world.endpoint(1);  // one thread plays both ranks: nobody waits for anybody
  std::vector<std::byte> in(3);
  auto receiving = b.receive(0, 5, in).value();
  EXPECT_FALSE(b.test(receiving).value());
  auto sending = a.send(1, 5, of(3, 7)).value();  // its buffer is gone after this line
  EXPECT_TRUE(a.test(sending).value());
  EXPECT_TRUE(b.test(receiving).value());
  EXPECT_EQ(in, of(3, 7));
}

TEST(ThreadsTransport, ReadsTheSendersBufferWhenTheReceiverComes) {
  threads world(2);
  port a = world.endpoint(0), b = world.endpoint(1);
  std::vector<std::byte> out = of(3, 1), in(3);
  auto sending = a.send(1, 0, out).value();
  EXPECT_FALSE(a.test(sending).value());
  std::fill(out.begin(), out.end(), std::byte{2});  // one copy: there is no other that the 1 could be in
  EXPECT_TRUE(b.wait(b.receive(0, 0, in).value()));
  EXPECT_TRUE(a.test(sending).value());
  EXPECT_EQ(in, of(3, 2));
}

TEST(ThreadsTransport, CarriesMessagesToItself) {
  threads world(1);
  port self = world.endpoint(0);
  const std::vector<std::byte> out = of(100, 3);
  std::vector<std::byte> in(100);
  auto sending = self.send(0, 1, out).value();
  EXPECT_TRUE(self.wait(self.receive(0, 1, in).value()));
  EXPECT_TRUE(self.wait(sending));
  EXPECT_EQ(in, out);
}

TEST(ThreadsTransport, ManyMessagesWaitOnOneChannel) {
  threads world(2);
  port a = world.endpoint(0), b = world.endpoint(1);
  std::vector<std::uint32_t> out(10000);
  std::iota(out.begin(), out.end(), 0U);
  for (int round = 0; round < 3; ++round) {
    for (const std::uint32_t& x : out) a.send(1, 0, std::as_bytes(std::span(&x, 1))).value();
    for (const std::uint32_t& x : out) {
      std::uint32_t got{};
      EXPECT_TRUE(b.wait(b.receive(0, 0, std::as_writable_bytes(std::span(&got, 1))).value()));
      ASSERT_EQ(got, x);
    }
  }
}

TEST(ThreadsTransport, NamesBothSizesOfAWrongMessage) {
  threads world(2);
  port a = world.endpoint(0), b = world.endpoint(1);
  const std::vector<std::byte> out = of(12, 1);
  std::vector<std::byte> in(16);
  auto sending = a.send(1, 3, out).value();
  auto receiving = b.receive(0, 3, in).value();
  const result<void> came = b.wait(receiving);
  ASSERT_FALSE(came);
  EXPECT_EQ(came.error().code, errc::wrong_message);
  EXPECT_EQ(came.error().detail, "rank 0 sent 12 bytes on channel 3 where rank 1 expected 16");
  EXPECT_EQ(in, of(16, 0));
  EXPECT_TRUE(a.wait(sending));
}

TEST(ThreadsTransport, CarriesNothingAfterAWrongMessage) {
  threads world(2);
  port a = world.endpoint(0), b = world.endpoint(1);
  const std::vector<std::byte> out = of(16, 1);
  std::vector<std::byte> first(8), second(16);
  auto one = b.receive(0, 3, first).value();
  auto two = b.receive(0, 3, second).value();
  a.send(1, 3, out).value();
  a.send(1, 3, out).value();
  EXPECT_EQ(b.wait(one).error().code, errc::wrong_message);
  EXPECT_EQ(b.test(two).error().code, errc::wrong_message);
  EXPECT_EQ(second, of(16, 0));
}

TEST(ThreadsTransport, NamesPeerChannelAndSecondsWhenTimeRunsOut) {
  threads world(2, {.time_out = {0.05}});
  port a = world.endpoint(0);
  std::vector<std::byte> in(1);
  const auto begin = clock::now();
  const result<void> came = a.wait(a.receive(1, 4, in).value());
  EXPECT_GE(since(begin), 0.05);
  ASSERT_FALSE(came);
  EXPECT_EQ(came.error().code, errc::timed_out);
  EXPECT_EQ(came.error().detail, "rank 0 waited 0.05 s for a message from rank 1 on channel 4");
  EXPECT_EQ(a.wait(a.send(1, 2, in).value()).error().detail,
            "rank 0 waited 0.05 s for rank 1 to take a message on channel 2");
}

TEST(ThreadsTransport, RefusesPeersAndChannelsThatAreNot) {
  threads world(2);
  port a = world.endpoint(0);
  for (const auto [peer, channel] : {std::array{2, 0}, std::array{-1, 0}, std::array{1, -1}, std::array{1, 1 << 16}})
    EXPECT_EQ(a.send(peer, channel, {}).error().code, errc::invalid_input);
}

TEST(ThreadsTransport, SleepsWhileItWaits) {
  threads world(2, {.time_out = {0.3}});
  port a = world.endpoint(0);
  std::vector<std::byte> in(1);
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double before = used();
  EXPECT_FALSE(a.wait(a.receive(1, 0, in).value()));
  EXPECT_LT(used() - before, 0.03);  // of 0.3 s; the spin takes 50 us
}

TEST(ThreadsTransport, ForgetsWhatWasOnItsWayWhenAllHaveAborted) {
  threads world(2);
  port a = world.endpoint(0), b = world.endpoint(1);
  std::vector<std::byte> old_in(4);
  a.send(1, 0, of(4, 1)).value();
  auto old = b.receive(0, 1, old_in).value();
  a.abort("first");
  b.abort("second");
  EXPECT_EQ(b.wait(old).error().code, errc::aborted);
  std::vector<std::byte> in(4);
  auto receiving = b.receive(0, 0, in).value();
  EXPECT_FALSE(b.test(receiving).value());
  a.send(1, 0, of(4, 2)).value();
  a.send(1, 1, of(4, 3)).value();
  EXPECT_TRUE(b.wait(receiving));
  EXPECT_EQ(in, of(4, 2));
  EXPECT_EQ(old_in, of(4, 0));
  a.abort("over");  // its second message, whose buffer is gone, was not taken
}

TEST(ThreadsTransport, GivesTheFirstReasonToAll) {
  threads world(3);
  port a = world.endpoint(0), b = world.endpoint(1), c = world.endpoint(2);
  auto receiving = c.receive(1, 0, {}).value();
  a.abort("rank 0, stage 0, F3: no output");
  b.abort("me too");
  EXPECT_EQ(c.wait(receiving).error().code, errc::aborted);
  EXPECT_EQ(c.wait(receiving).error().detail, "rank 0, stage 0, F3: no output");
  EXPECT_EQ(c.send(0, 0, {}).error().detail, "rank 0, stage 0, F3: no output");
  EXPECT_EQ(c.test(receiving).error().detail, "rank 0, stage 0, F3: no output");
}

TEST(ThreadsTransport, ARankThatHasAbortedWaitsForTheOthers) {
  threads world(2, {.time_out = {5}});
  std::atomic<bool> left{false};
  on_ranks(world, [&](port& t) {
    if (t.rank() == 0) {
      t.abort("stop");
      EXPECT_TRUE(t.receive(1, 0, {}));
      EXPECT_TRUE(left);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(t.receive(0, 0, {}).error().code, errc::aborted);
      left = true;
      t.abort("follow");
    }
  });
}

TEST(ThreadsTransport, AbortsTheNextStepOnceAllHaveLeftTheLast) {
  threads world(2, {.time_out = {5}});
  on_ranks(world, [&](port& t) {
    if (t.rank() == 0) {
      t.abort("the first step");
      t.abort("the second step");
    } else {
      for (const char* reason : {"the first step", "the second step"}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const result<threads::handle> h = t.receive(0, 0, {});
        const result<void> came = h ? t.wait(h.value()) : result<void>(h.error());
        EXPECT_EQ(came.error().detail, reason);
        t.abort("follow");
      }
    }
  });
}

TEST(ThreadsTransport, NamesTheRankThatDoesNotAbort) {
  threads world(3, {.time_out = {0.05}});
  port a = world.endpoint(0), c = world.endpoint(2);
  a.abort("stop");
  c.abort("follow");
  const result<threads::handle> posted = a.send(1, 0, {});
  EXPECT_EQ(posted.error().code, errc::timed_out);
  EXPECT_EQ(posted.error().detail, "rank 0 waited 0.05 s for rank 1 to leave the step that was aborted");
}

/// Steps of traffic among all, each of which some rank stops at a time of its own. Buffers die right after abort, so
/// that a sanitizer sees a copy that comes late; and every message says which step it is of.
TEST(ThreadsTransport, SurvivesAbortStorms) {
  constexpr int ranks = 4, steps = 150;
  threads world(ranks, {.time_out = {20}, .spin = {5e-6}});
  on_ranks(world, [&](port& t) {
    testing::generator common(11), own(static_cast<std::uint64_t>(t.rank()) + 1);
    for (int step = 0; step < steps; ++step) {
      const auto culprit = static_cast<int>(common.between(0, ranks - 1));
      const std::string reason = "step " + std::to_string(step);
      const std::int64_t lasts = common.between(0, 40);
      const auto size = static_cast<std::size_t>(common.between(1, 3000));
      std::vector<std::vector<int>> out(ranks, std::vector<int>(size, step)), in(ranks, std::vector<int>(size));
      result<void> state = slimpack::success();
      for (std::int64_t i = 0; state; ++i) {
        if (t.rank() == culprit && i == lasts) break;
        std::vector<threads::handle> posted;
        for (int turn = 0; turn < 2 * ranks && state; ++turn) {
          const auto peer = static_cast<std::size_t>(turn / 2);
          const auto to = static_cast<int>(peer);
          auto h = turn % 2 == 0 ? t.send(to, 1, std::as_bytes(std::span(out[peer])))
                                 : t.receive(to, 1, std::as_writable_bytes(std::span(in[peer])));
          if (h)
            posted.push_back(h.value());
          else
            state = std::move(h).error();
        }
        for (const threads::handle& h : posted)
          if (state) state = t.wait(h);
        if (state) {
          for (const std::vector<int>& from : in) ASSERT_EQ(from, std::vector<int>(size, step));
        }
      }
      if (t.rank() != culprit) {
        ASSERT_EQ(state.error().code, errc::aborted) << state.error().detail;
        ASSERT_EQ(state.error().detail, reason);
      }
      if (own.once_in(3)) std::this_thread::yield();
      t.abort(reason);
    }
  });
}

TEST(ThreadsTransport, LetsASideLeaveAfterTheOtherHas) {
  detail::rendezvous channel(0, 1, 0);
  std::vector<std::byte> in(1);
  EXPECT_EQ(channel.receive(in), detail::rendezvous::met::not_yet);
  channel.leave(detail::rendezvous::receiver);
  EXPECT_EQ(channel.send(in), detail::rendezvous::met::never);
  channel.leave(detail::rendezvous::sender);  // returns: nothing is under way
}

TEST(ThreadsTransport, CollectsOverOneToEightRanks) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    threads world(ranks);
    on_ranks(world, [&](port& t) {
      std::vector<int> everyone(static_cast<std::size_t>(ranks));
      std::iota(everyone.begin(), everyone.end(), 0);
      for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{70001}}) {
        std::vector<double> data(count);
        for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<double>(i) * (t.rank() + 1);
        ASSERT_TRUE(all_reduce(t, std::span(data), std::span<const int>(everyone)));
        // i (1 + 2 + ... + ranks) = i ranks (ranks + 1) / 2, exact
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], static_cast<double>(i) * (ranks * (ranks + 1) / 2));
      }
      std::vector<int> all(static_cast<std::size_t>(ranks));
      const int own = t.rank();
      ASSERT_TRUE(all_gather(t, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all))));
      ASSERT_EQ(all, everyone);
    });
  }
}

TEST(ThreadsTransport, ServesManyMoreRanksThanCores) {
  threads world(tests::under_sanitizer ? 16 : 64);
  for (const testing::report& r : laws_on_ranks(world, {.cases = 1, .largest = 4096})) EXPECT_TRUE(r) << r;
}

/// Half of a round trip of 64 bytes; printed, since it is this machine's.
TEST(ThreadsTransport, HopLatency) {
  constexpr int trips = 2000;
  const int batches = tests::cases(25);
  threads world(2);
  std::vector<double> hops;
  on_ranks(world, [&](port& t) {
    const int peer = 1 - t.rank();
    std::array<std::byte, 64> out{}, in{};
    for (int b = 0; b < batches; ++b) {
      const auto begin = clock::now();
      for (int i = 0; i < trips; ++i) {
        auto receiving = t.receive(peer, 1, in).value();
        if (t.rank() == 1) {
          ASSERT_TRUE(t.wait(receiving));
        }
        ASSERT_TRUE(t.wait(t.send(peer, 1, out).value()));
        if (t.rank() == 0) {
          ASSERT_TRUE(t.wait(receiving));
        }
      }
      if (t.rank() == 0) hops.push_back(since(begin) / (2 * trips));
    }
  });
  std::sort(hops.begin(), hops.end());
  std::printf("hop of 64 bytes: median %.0f ns, best %.0f ns\n", hops[hops.size() / 2] * 1e9, hops.front() * 1e9);
  EXPECT_EQ(hops.size(), static_cast<std::size_t>(batches));
}

}  // namespace
}  // namespace slimpack::threads_test
