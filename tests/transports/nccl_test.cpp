#include <slimpack/concepts.hpp>
#include <slimpack/transports/communicator.hpp>
#include <slimpack/transports/hooks.hpp>
#include <slimpack/transports/nccl.hpp>

#include "nccl_world.hpp"
#include "on_ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <string>
#include <vector>

namespace slimpack::nccl_test {
namespace {

using end = nccl_world::end;
static_assert(transport<end>);
static_assert(communicator_for<transports::communicators::host, devices::host>);
static_assert(traffic_on(channel_of(traffic::backward, 3)) == traffic::backward);

struct run {
  int ranks;
  bool in_issue_order;
  bool keeps_launch_order;
};

TEST(NcclTransport, ObeysTheLawsOverStandIns) {
  for (const run& r : {run{1, true, true}, run{2, true, true}, run{4, false, true}, run{3, true, false}}) {
    nccl_world world(r.ranks, {.seed = 5, .delay = {50e-6}, .in_issue_order = r.in_issue_order}, {law_time_out},
                     r.keeps_launch_order);
    for (const testing::report& one : laws_on_ranks(world, {.seed = 5, .cases = 2, .time_out = {law_time_out}}))
      EXPECT_TRUE(one) << one << "\n" << r.ranks << " ranks";
  }
}

TEST(NcclTransport, MakesNoHostWaitForADevice) {
  nccl_world world(2, {}, {30});
  on_ranks(world, [&](end& t) {
    std::vector<std::byte> out(64), in(64);
    const auto pass = [&] {
      for (const bool sends : {t.rank() == 0, t.rank() == 1}) {
        auto h = sends ? t.send(1 - t.rank(), 1, out).value() : t.receive(1 - t.rank(), 1, in).value();
        t.wait(h).value();
      }
    };
    pass();  // makes communicators
    const int before = t.device().host_waits();
    for (int i = 0; i < 20; ++i) pass();
    t.finish().value();
    EXPECT_EQ(t.device().host_waits(), before);
  });
}

// A replica of one stage that shares nothing has no message at all.
TEST(NcclTransport, MovesMessagesWhereOthersHaveNoneOnceAllHaveGathered) {
  nccl_world world(3, {.delay = {0}}, {10});
  std::barrier all_done(3);
  on_ranks(world, [&](end& t) {
    std::byte own{};
    std::vector<std::byte> all(3), bytes(64);
    t.all_gather({&own, 1}, all).value();
    if (t.rank() < 2) {
      const int channel = channel_of(traffic::rows, 0);
      auto h = t.rank() == 0 ? t.send(1, channel, bytes) : t.receive(0, channel, bytes);
      ASSERT_TRUE(h) << h.error().detail;
      EXPECT_TRUE(t.finish());
    }
    all_done.arrive_and_wait();
  });
}

// What the laws of plan_order exclude, and NCCL may not survive: both send first.
TEST(NcclTransport, ReportsTransfersThatWaitForEachOther) {
  nccl_world world(2, {.delay = {0}}, {30});
  std::array<std::string, 2> told;
  on_ranks(world, [&](end& t) {
    std::vector<std::byte> out(64), in(64);
    result<void> ended = success();
    auto sent = t.send(1 - t.rank(), 1, out);
    auto received = sent ? t.receive(1 - t.rank(), 1, in) : std::move(sent);
    ended = received ? t.finish() : result<void>(received.error());
    ASSERT_FALSE(ended);
    told[static_cast<std::size_t>(t.rank())] = ended.error().detail;
    t.abort(ended.error().detail);
  });
  EXPECT_NE((told[0] + told[1]).find("device 0 is at a send to rank 1"), std::string::npos) << told[0];
}

TEST(NcclTransport, RefusesRanksThatWereToldDifferentOrdersOfLaunches) {
  nccl_world world(3, {}, {30}, true, 2);
  std::barrier all_heard(3);  // who aborts ends the call of one that has not
  on_ranks(world, [&](end& t) {
    std::vector<std::byte> bytes(4);
    const auto posted = t.rank() == 0 ? t.send(1, 1, bytes) : t.receive(0, 1, bytes);
    all_heard.arrive_and_wait();
    ASSERT_FALSE(posted);
    EXPECT_EQ(posted.error().code, errc::disagreement);
    EXPECT_EQ(posted.error().detail,
              "rank 0 keeps the order of launches and has 4 streams, rank 2 does not keep the order of launches and "
              "has 2 streams: "
              "NCCL_LAUNCH_ORDER_IMPLICIT must be set alike on all ranks, and NCCL be of one version");
    t.abort(posted.error().detail);
  });
}

TEST(NcclTransport, TellsOfAMessageOfAnotherSizeAtFinish) {
  nccl_world world(2, {}, {30});
  on_ranks(world, [&](end& t) {
    std::vector<std::byte> bytes(t.rank() == 0 ? 3 : 4);
    auto h = t.rank() == 0 ? t.send(1, 1, bytes) : t.receive(0, 1, bytes);
    const result<void> told = h ? t.finish() : result<void>(h.error());
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().detail, "rank 1 expected 4 bytes, rank 0 sent 3");
    t.abort(told.error().detail);
  });
}

}  // namespace
}  // namespace slimpack::nccl_test
