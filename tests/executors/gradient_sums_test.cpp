#include <slimpack/executors/gradient_sums.hpp>
#include <slimpack/transports/threads.hpp>

#include "../transports/on_ranks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace slimpack::gradient_sums_test {
namespace {

using port = transports::threads::port;

// Ranks 0 and 2 of three are copies of one stage: 1 + 3 and 10 + 30, in two sums of one element.
TEST(GradientSums, AddOverTheCopiesUntilTheStepHasEnded) {
  transports::threads world(3, {.time_out = {5}});
  std::vector<std::vector<double>> data{{1, 10}, {2, 20}, {3, 30}};
  on_ranks(world, [&](port& at) {
    const int rank = at.rank();
    if (rank == 1) return;
    const std::vector<int> copies{0, 2};
    detail::transport_behind<port> behind(at);
    detail::running_sums running(behind, copies, {0, 1}, true);
    executors::gradient_sums<port> sums(at, running, [](error e) { return e; });
    EXPECT_EQ(std::vector<int>(sums.ranks().begin(), sums.ranks().end()), copies);
    const std::span<double> own(data[static_cast<std::size_t>(rank)]);
    EXPECT_TRUE(sums.start(own.first(1)));
    EXPECT_TRUE(sums.start(own.last(1)));
    EXPECT_TRUE(running.complete());
  });
  EXPECT_EQ(data, (std::vector<std::vector<double>>{{4, 40}, {2, 20}, {4, 40}}));
}

/// Of two ranks, of which it is the first; no message gets through.
struct broken {
  struct handle {};
  static int rank() { return 0; }
  static int size() { return 2; }
  static result<handle> send(int, int, std::span<const std::byte>) { return error{errc::timed_out, "no way"}; }
  static result<handle> receive(int, int, std::span<std::byte>) { return error{errc::timed_out, "no way"}; }
  static result<bool> test(handle&) { return true; }
  static result<void> wait(handle&) { return success(); }
  static void abort(std::string_view) {}
};

TEST(GradientSums, TellOthersOfATransportThatFailedAndGiveWhatTheyReport) {
  broken at;
  const std::vector<int> copies{0, 1};
  detail::transport_behind<broken> behind(at);
  detail::running_sums running(behind, copies, {0, 1}, true);
  std::optional<error> told;
  executors::gradient_sums<broken> sums(at, running, [&](error e) {
    told = e;
    return error{errc::aborted, "as told"};
  });
  std::vector<float> data{1, 2};
  const result<void> begun = sums.start(std::span(data));
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().detail, "as told");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, errc::timed_out);
}

/// Has an all_reduce that only issues work.
struct issuing : port {
  static constexpr bool starts_all_reduce = true;
  explicit issuing(port p) : port(std::move(p)) {}
  result<void> all_reduce(std::span<double>, std::span<const int>) { return ++issued, success(); }
  int issued{};
};

TEST(GradientSums, AreIssuedAtOnceWhereTheyHaveAPlaceAmongTransfers) {
  transports::threads world{2};
  for (const bool have_place : {true, false}) {
    issuing at(world.endpoint(0));
    detail::transport_behind<issuing> behind(at);
    detail::running_sums running(behind, {0, 1}, {0, 1}, have_place);
    executors::gradient_sums<issuing> sums(at, running, [](error e) { return e; });
    std::vector<double> data(3);
    sums.start(std::span(data)).value();
    EXPECT_EQ(at.issued, have_place ? 1 : 0);
    EXPECT_EQ(running.are_issued(), have_place);
    running.complete().value();
    EXPECT_EQ(at.issued, 1);
  }
}

}  // namespace
}  // namespace slimpack::gradient_sums_test
