#include <slimpack/transports/detail/any_transport.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::any_transport_test {
namespace {

/// Writes down what it is asked. Its handles cannot be copied, and are through when asked twice.
struct diary {
  class handle {
   public:
    explicit handle(int n) : number(n) {}
    handle(handle&&) = default;
    handle& operator=(handle&&) = default;
    int number;
    int asked{};
  };
  static int rank() { return 3; }
  static int size() { return 5; }
  result<handle> send(int peer, int channel, std::span<const std::byte> data) {
    return posted("send", peer, channel, data.size());
  }
  result<handle> receive(int peer, int channel, std::span<std::byte> data) {
    return posted("receive", peer, channel, data.size());
  }
  result<bool> test(handle& h) {
    if (h.number == broken) return error{errc::transport_failed, "handle " + std::to_string(h.number)};
    return ++h.asked == 2;
  }
  result<void> wait(handle& h) {
    told += "wait " + std::to_string(h.number) + "; ";
    return success();
  }
  void abort(std::string_view reason) { told += "abort " + std::string(reason) + "; "; }
  result<void> finish() { return told += "finish; ", success(); }
  static constexpr bool plan_order = true;

  result<handle> posted(const char* what, int peer, int channel, std::size_t bytes) {
    if (peer < 0) return error{errc::invalid_input, "no such peer"};
    told += std::string(what) + ' ' + std::to_string(peer) + ' ' + std::to_string(channel) + ' ' +
            std::to_string(bytes) + "; ";
    return handle{made++};
  }

  std::string told;
  int made{};
  int broken{-1};
};

TEST(AnyTransport, SaysWhatTheTransportSays) {
  diary of;
  detail::transport_behind<diary> port(of);
  detail::any_transport& any = port;
  std::byte bytes[4];
  EXPECT_EQ(any.rank(), 3);
  EXPECT_EQ(any.size(), 5);
  EXPECT_TRUE(any.keeps_plan_order());
  EXPECT_FALSE(any.moves_device_memory());
  const auto sent = any.send(1, 7, bytes);
  const auto awaited = any.receive(2, 8, std::span(bytes).first(3));
  ASSERT_TRUE(sent && awaited);
  EXPECT_FALSE(any.test(sent.value()).value());
  EXPECT_TRUE(any.test(sent.value()).value());
  EXPECT_TRUE(any.wait(awaited.value()));
  EXPECT_EQ(any.send(-1, 7, bytes).error().detail, "no such peer");
  EXPECT_TRUE(any.finish());
  any.abort("enough");
  EXPECT_EQ(of.told, "send 1 7 4; receive 2 8 3; wait 1; finish; abort enough; ");
}

TEST(AnyTransport, KeepsAHandleUntilItIsThroughAndThenItsPlaceForAnother) {
  diary of;
  detail::transport_behind<diary> port(of);
  std::byte bytes[4];
  std::vector<std::size_t> places;
  for (int step = 0; step < 100; ++step) {
    const auto first = port.send(0, 1, bytes), second = port.send(0, 1, bytes);
    ASSERT_TRUE(port.wait(second.value()) && port.wait(first.value()));
    places.push_back(first.value().at), places.push_back(second.value().at);
  }
  for (const std::size_t at : places) EXPECT_LT(at, 2U);
  const auto kept = port.send(0, 1, bytes);
  of.broken = of.made - 1;
  EXPECT_EQ(port.test(kept.value()).error().detail, "handle 200");
  EXPECT_NE(port.send(0, 1, bytes).value().at, kept.value().at);  // one that failed keeps its place
}

TEST(AnyTransport, TellsThePointsOfAProgram) {
  diary of;
  detail::transport_behind<diary> port(of);
  port.expect_points(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(port.point());
  const auto times = port.times();
  ASSERT_TRUE(times);
  ASSERT_EQ(times.value().size(), 3U);
  EXPECT_EQ(times.value()[0], seconds{});
  EXPECT_LE(times.value()[0], times.value()[1]);
  EXPECT_LE(times.value()[1], times.value()[2]);
}

}  // namespace
}  // namespace slimpack::any_transport_test
