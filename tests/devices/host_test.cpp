#include <slimpack/devices/host.hpp>
#include <slimpack/devices/streams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace slimpack::host_device_test {
namespace {

using devices::host;

static_assert(streams<host>);

struct no_device {};
static_assert(!detail::runs_streams<no_device>);

const seconds none{0};

/// Both sides of a transfer from device 0 to 1.
host::transfer out(std::uint64_t wire, std::span<const std::byte> bytes, int from = 0, int to = 1) {
  return {.wire = wire, .from = from, .to = to, .sends = true, .source = bytes};
}
host::transfer in(std::uint64_t wire, std::span<std::byte> bytes, int from = 0, int to = 1) {
  return {.wire = wire, .from = from, .to = to, .target = bytes};
}

TEST(HostDevice, RunsWhatIsIssuedOnAStreamInOrder) {
  for (const bool in_order : {true, false}) {
    host d = host::make(1, {.seed = 3, .delay = {50e-6}, .in_issue_order = in_order})[0];
    const host::stream s = d.make_stream().value();
    std::vector<int> seen;
    for (int i = 0; i < 50; ++i) d.run(s, [&seen, i] { seen.push_back(i); }).value();
    d.synchronize(s).value();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
  }
}

TEST(HostDevice, HoldsUpNoHost) {
  host d = host::make(1, {})[0];
  const host::stream s = d.make_stream().value();
  std::atomic<bool> gate{false};
  d.run(s, [&] {
     while (!gate) std::this_thread::yield();
   }).value();
  const host::event end = d.record(s).value();
  EXPECT_FALSE(d.query(end).value());
  gate = true;
  d.synchronize(s).value();
  EXPECT_TRUE(d.query(end).value());
}

TEST(HostDevice, OrdersStreamsByEventsAlone) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    host d = host::make(1, {.seed = seed, .delay = {2e-3}, .in_issue_order = false})[0];
    const host::stream writes = d.make_stream().value(), reads = d.make_stream().value();
    int value = 0, got = -1;
    d.run(writes, [&] {
       std::this_thread::sleep_for(std::chrono::microseconds(200));
       value = 1;
     }).value();
    d.wait(reads, d.record(writes).value()).value();
    d.run(reads, [&] { got = value; }).value();
    d.synchronize(reads).value();
    EXPECT_EQ(got, 1) << "seed " << seed;
  }
}

/// A device whose streams share one queue would hide that an event is missing.
TEST(HostDevice, RunsStreamsBesideEachOtherWhereEachHasAQueue) {
  host d = host::make(1, {.delay = {2e-3}, .in_issue_order = false})[0];
  const host::stream first = d.make_stream().value(), second = d.make_stream().value();
  std::promise<void> other;
  bool came = false;
  d.run(first, [&, went = other.get_future().share()] {
     came = went.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
   }).value();
  d.run(second, [&] { other.set_value(); }).value();
  d.synchronize(second).value();
  d.synchronize(first).value();
  EXPECT_TRUE(came) << "the second stream waits for the first";
}

TEST(HostDevice, MovesATransferWhenBothSidesHaveComeToIt) {
  std::vector<host> d = host::make(2, {});
  const host::stream a = d[0].make_stream().value(), b = d[1].make_stream().value();
  const std::uint64_t wire = d[0].new_wire();
  std::vector<std::byte> source(4, std::byte{7}), target(4);
  d[0].move(a, "send", {out(wire, source)}).value();
  const host::event sent = d[0].record(a).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(d[0].query(sent).value());
  d[1].move(b, "receive", {in(wire, target)}).value();
  d[1].synchronize(b).value();
  d[0].synchronize(a).value();
  EXPECT_EQ(target, source);
}

// Each sends before it receives, and each send waits for a receive behind the other's send.
TEST(HostDevice, ReportsACycleByName) {
  std::vector<std::byte> bytes(4, std::byte{1}), more(4, std::byte{2}), taken(4), got(4);
  std::vector<host> d = host::make(2, {.delay = none});
  const host::stream a = d[0].make_stream().value(), b = d[1].make_stream().value();
  const std::uint64_t wire = d[0].new_wire();
  d[0].move(a, "send of A", {out(wire, bytes)}).value();
  d[0].move(a, "receive of B", {in(wire, taken, 1, 0)}).value();
  d[1].move(b, "send of B", {out(wire, more, 1, 0)}).value();
  (void)d[1].move(b, "receive of A", {in(wire, got)});
  result<void> told = d[0].synchronize(a);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::cyclic_schedule);
  EXPECT_NE(told.error().detail.find("device 0 is at send of A"), std::string::npos) << told.error().detail;
  EXPECT_NE(told.error().detail.find("device 1 is at send of B"), std::string::npos) << told.error().detail;
}

// The receive that the cycle holds up could meet its send once the cycle is known.
TEST(HostDevice, MovesNothingAfterACycle) {
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> bytes(4, std::byte{1}), more(4, std::byte{2}), taken(4), got(4);
    bool has_worked = false;
    {
      std::vector<host> d = host::make(2, {.delay = none});
      const host::stream a = d[0].make_stream().value(), b = d[1].make_stream().value();
      const std::uint64_t wire = d[0].new_wire();
      d[0].move(a, "send of A", {out(wire, bytes)}).value();
      d[0].move(a, "receive of B", {in(wire, taken, 1, 0)}).value();
      d[0].run(a, [&] { has_worked = true; }).value();
      d[1].move(b, "send of B", {out(wire, more, 1, 0)}).value();
      (void)d[1].move(b, "receive of A", {in(wire, got)});
      EXPECT_FALSE(d[0].synchronize(a));
    }
    EXPECT_EQ(taken, std::vector<std::byte>(4));
    EXPECT_EQ(got, std::vector<std::byte>(4));
    EXPECT_FALSE(has_worked);
  }
}

// A device of each layer waits for both of the next layer: more ways from the first layer to the last than can be
// walked.
TEST(HostDevice, LooksAtEachDeviceOnceForACycle) {
  constexpr int layers = 40;
  std::vector<host> d = host::make(2 * layers, {.delay = none});
  const std::uint64_t wire = d[0].new_wire();
  std::atomic<bool> gate{false};
  const std::vector<std::byte> source(1, std::byte{7});
  std::vector<std::byte> target(static_cast<std::size_t>(4 * layers));
  std::vector<host::stream> streams;
  for (host& one : d) streams.push_back(one.make_stream().value());
  for (int layer = layers; layer-- > 0;)
    for (int own = 2 * layer; own < 2 * layer + 2; ++own) {
      host& here = d[static_cast<std::size_t>(own)];
      const host::stream& s = streams[static_cast<std::size_t>(own)];
      std::vector<host::transfer> receives, sends;
      for (const int other : {0, 1}) {
        receives.push_back(
            in(wire, {&target[static_cast<std::size_t>(2 * own + other)], 1}, 2 * (layer + 1) + other, own));
        sends.push_back(out(wire, source, own, 2 * (layer - 1) + other));
      }
      if (layer == layers - 1)
        here.run(s,
                 [&] {
                   while (!gate) std::this_thread::yield();
                 })
            .value();
      else
        here.move(s, "receives", receives).value();
      if (layer > 0) here.move(s, "sends", sends).value();
    }
  gate = true;
  for (const int first : {0, 1})
    d[static_cast<std::size_t>(first)].synchronize(streams[static_cast<std::size_t>(first)]).value();
  for (std::size_t i = 0; i + 4 < target.size(); ++i) EXPECT_EQ(target[i], std::byte{7});
}

TEST(HostDevice, MovesMutualTransfersOfOneOperation) {
  std::vector<host> d = host::make(2, {});
  const host::stream a = d[0].make_stream().value(), b = d[1].make_stream().value();
  const std::uint64_t wire = d[0].new_wire();
  std::vector<std::byte> x(4, std::byte{1}), y(4, std::byte{2}), at0(4), at1(4);
  d[0].move(a, "swap", {out(wire, x), in(wire, at0, 1, 0)}).value();
  d[1].move(b, "swap", {out(wire, y, 1, 0), in(wire, at1)}).value();
  d[0].synchronize(a).value();
  d[1].synchronize(b).value();
  EXPECT_EQ(at0, y);
  EXPECT_EQ(at1, x);
}

TEST(HostDevice, LetsGoOnWhatWaitsOnAWireThatIsCut) {
  std::vector<host> d = host::make(2, {});
  const host::stream a = d[0].make_stream().value();
  const std::uint64_t wire = d[0].new_wire();
  std::vector<std::byte> bytes(4);
  d[0].move(a, "send", {out(wire, bytes)}).value();
  d[1].cut(wire);
  EXPECT_TRUE(d[0].synchronize(a));
}

TEST(HostDevice, SaysWhenSidesDifferInSize) {
  std::vector<host> d = host::make(2, {});
  const host::stream a = d[0].make_stream().value(), b = d[1].make_stream().value();
  const std::uint64_t wire = d[0].new_wire();
  std::vector<std::byte> three(3), four(4);
  d[0].move(a, "send", {out(wire, three)}).value();
  d[1].move(b, "receive", {in(wire, four)}).value();
  d[1].synchronize(b).value();
  ASSERT_TRUE(d[1].mismatch(wire));
  EXPECT_EQ(d[1].mismatch(wire)->detail, "rank 1 expected 4 bytes, rank 0 sent 3");
}

TEST(HostDevice, CountsCallsAtWhichAHostMayWait) {
  host d = host::make(1, {})[0];
  const host::stream s = d.make_stream().value();
  host::memory m = d.allocate(16).value();
  EXPECT_EQ(as_span(m).size(), 16u);
  d.copy(s, as_span(m).first(8), as_span(m).last(8)).value();
  const host::event e = d.record(s).value();
  d.wait(s, e).value();
  (void)d.query(e).value();
  EXPECT_EQ(d.host_waits(), 1);
  d.synchronize(s).value();
  EXPECT_EQ(d.host_waits(), 2);
  EXPECT_GE(d.elapsed(e, e).value(), seconds{});
}

}  // namespace
}  // namespace slimpack::host_device_test
