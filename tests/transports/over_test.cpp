#include <slimpack/concepts.hpp>
#include <slimpack/testing/transport_laws.hpp>
#include <slimpack/transports/over.hpp>

#include "../support/sanitizers.hpp"
#include "local_group.hpp"
#include "message_checks.hpp"
#include "on_ranks.hpp"

#include <gtest/gtest.h>

#ifdef SLIMPACK_TESTS_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

#include <barrier>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace slimpack {
namespace {

using clock = std::chrono::steady_clock;

static_assert(transport<transports::over<local_group>>);
static_assert(transport<transports::over<cancelling_group>>);
static_assert(!std::is_copy_constructible_v<transports::over<local_group>>);

double since(clock::time_point t) { return std::chrono::duration<double>(clock::now() - t).count(); }

template <class Group>
struct OverGroup : ::testing::Test {};

struct group_name {
  template <class Group>
  static std::string GetName(int) {
    return std::is_same_v<Group, local_group> ? "WithoutCancel" : "WithCancel";
  }
};
using groups = ::testing::Types<local_group, cancelling_group>;
TYPED_TEST_SUITE(OverGroup, groups, group_name);

TYPED_TEST(OverGroup, ObeysTheLaws) {
  for (const int size : {1, 3}) {
    const auto seed = static_cast<unsigned>(size);
    group_world<TypeParam> world(size, law_time_out, seed);
    for (const testing::report& laws : laws_on_ranks(world, {seed, law_cases(6), 1 << 20, {law_time_out}}))
      EXPECT_TRUE(laws) << size << " ranks: " << laws;
  }
}

TYPED_TEST(OverGroup, SendsToAllBeforeAnyReceiveWithoutDeadlock) {
  group_world<TypeParam> world(4);
  on_ranks(world, [](auto& t) { send_to_all_before_any_receive(t); });
}

TYPED_TEST(OverGroup, RefusesAMessageOfAnotherSize) {
  group_world<TypeParam> world(2);
  on_ranks(world, [](auto& t) { receive_another_size(t); });
}

TYPED_TEST(OverGroup, SaysWhichRankIsNoRank) {
  group_world<TypeParam> world(1);
  on_ranks(world, [](auto& t) {
    std::byte one{};
    EXPECT_EQ(t.send(1, 0, std::span(&one, 1)).error().detail, "no rank 1 among 1");
    EXPECT_EQ(t.receive(-1, 0, std::span(&one, 1)).error().detail, "no rank -1 among 1");
  });
}

TYPED_TEST(OverGroup, KeepsMessagesOfAStepThatThisRankHasNotComeTo) {
  group_world<TypeParam> world(2);
  std::barrier aborted(2);
  on_ranks(world, [&](auto& t) { abort_two_steps_ahead(t, aborted); });
}

// The message has been announced, and its bytes stay away until after the abort; the next step goes on behind them.
TYPED_TEST(OverGroup, UsesNoBufferOfAnAbortedReceive) {
  constexpr bool cancels = std::is_same_v<TypeParam, cancelling_group>;
  group_world<TypeParam> world(2);
  world.at.hold(100);
  std::barrier both(2);
  on_ranks(world, [&](auto& t) {
    std::vector<std::byte> bytes(1000, std::byte{1});
    if (t.rank() == 0) {
      const auto sent = t.send(1, 1, bytes);
      ASSERT_TRUE(sent.has_value());
      for (int i = 0; i < 1000; ++i) EXPECT_FALSE(t.test(sent.value()).value());
      both.arrive_and_wait();  // it is announced
      both.arrive_and_wait();
      bytes.assign(bytes.size(), std::byte{2});  // this rank has not aborted: what it sends was copied
      both.arrive_and_wait();
      t.abort("it is over");
      EXPECT_EQ(t.test(sent.value()).error().detail, "it is over");
      ASSERT_TRUE(waited(t, t.send(1, 1, bytes)).has_value());
    } else {
      std::vector<std::byte> in(bytes.size());
      const auto coming = t.receive(0, 1, in);
      ASSERT_TRUE(coming.has_value());
      both.arrive_and_wait();
      for (int i = 0; i < 1000; ++i) EXPECT_FALSE(t.test(coming.value()).value());
      both.arrive_and_wait();
      t.abort("it is over");
      EXPECT_EQ(world.at.cancelled(), cancels ? 1 : 0);
      std::vector<std::byte> next(in.size());
      in.assign(in.size(), std::byte{7});
      world.at.hold(static_cast<std::size_t>(-1));
      both.arrive_and_wait();
      ASSERT_TRUE(waited(t, t.receive(0, 1, next)).has_value());
      EXPECT_EQ(next, std::vector<std::byte>(next.size(), std::byte{2}));
      EXPECT_EQ(in, std::vector<std::byte>(in.size(), std::byte{7})) << "an aborted message was written";
    }
  });
}

TYPED_TEST(OverGroup, SaysWhoIsLateAndWhoHasLeft) {
  group_world<TypeParam> world(2, 0.1);
  std::barrier both(2);
  on_ranks(world, [&](auto& t) {
    std::byte in[1];
    if (t.rank() == 0) {
      const result<void> late = waited(t, t.receive(1, 4, in));
      both.arrive_and_wait();
      ASSERT_FALSE(late.has_value());
      EXPECT_EQ(late.error().code, errc::timed_out);
      EXPECT_EQ(late.error().detail, "no message from rank 1 on channel 4 in 100 ms");
      const result<void> gone = waited(t, t.receive(1, 4, in));
      ASSERT_FALSE(gone.has_value());
      EXPECT_EQ(gone.error().detail, "rank 1 has left");
    } else {
      both.arrive_and_wait();
    }
  });
}

// The first message is under way when its receiver leaves.
TYPED_TEST(OverGroup, SendsNothingToARankThatHasLeft) {
  group_world<TypeParam> world(2);
  world.at.hold(100);
  std::barrier both(2);
  on_ranks(world, [&](auto& t) {
    both.arrive_and_wait();
    if (t.rank() == 1) return;
    const std::vector<std::byte> bytes(1000);
    const auto first = t.send(1, 1, bytes);
    ASSERT_TRUE(first.has_value());
    const auto begin = clock::now();
    result<void> r = waited(t, first);
    while (r.has_value() && since(begin) < 5) r = waited(t, t.send(1, 1, std::span(bytes).first(10)));
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().code, errc::transport_failed) << r.error().detail;
    EXPECT_EQ(r.error().detail, "rank 1 has left");
    world.at.hold(static_cast<std::size_t>(-1));
  });
}

TYPED_TEST(OverGroup, TellsAPeersFailureInTheGroupsWords) {
  group_world<TypeParam> world(3);
  std::barrier all(3);
  on_ranks(world, [&](auto& t) {
    all.arrive_and_wait();
    if (t.rank() == 2) world.at.lose(2);
    all.arrive_and_wait();
    std::byte in[1];
    const result<void> r = waited(t, t.receive((t.rank() + 1) % 3, 1, in));
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().code, errc::transport_failed);
    if (t.rank() != 2) {
      EXPECT_EQ(r.error().detail, "rank 2 cannot be reached: the cable is out");
    }
    all.arrive_and_wait();  // or a rank would have left
  });
}

TYPED_TEST(OverGroup, WaitsForGoodByesNoLongerThanTheTimeOut) {
  constexpr bool cancels = std::is_same_v<TypeParam, cancelling_group>;
  group_world<TypeParam> world(2, 0.2);
  const auto begin = clock::now();
  {
#ifdef SLIMPACK_TESTS_ADDRESS_SANITIZER
    const __lsan::ScopedDisabler meant;  // without cancel its memory is left to the group
#endif
    auto alone = world.endpoint(0);
  }
  EXPECT_GE(since(begin), 0.2);
  EXPECT_LT(since(begin), 5);
  EXPECT_EQ(world.at.cancelled(), cancels ? 1 : 0);
}

}  // namespace
}  // namespace slimpack
