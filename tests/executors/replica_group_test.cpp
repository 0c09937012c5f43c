#include <slimpack/executors/replica_group.hpp>
#include <slimpack/transports/threads.hpp>

#include "../transports/on_ranks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::replica_group_test {
namespace {

using port = transports::threads::port;
using group = executors::replica_group<port>;

// Ranks 0 and 2 of three are copies of one stage: 1 + 3 and 10 + 30.
TEST(ReplicaGroup, AddsOverItsRanksAlone) {
  transports::threads world(3, {.time_out = {5}});
  std::vector<std::vector<double>> data{{1, 10}, {2, 20}, {3, 30}};
  on_ranks(world, [&](port& at) {
    const int rank = at.rank();
    if (rank == 1) return;
    group copies(at, {0, 2}, [](error e) { return e; });
    EXPECT_EQ(copies.ranks().size(), 2u);
    EXPECT_TRUE(copies.sum(std::span(data[static_cast<std::size_t>(rank)])));
  });
  EXPECT_EQ(data, (std::vector<std::vector<double>>{{4, 40}, {2, 20}, {4, 40}}));
}

TEST(ReplicaGroup, TellsOthersOfASumThatFailedAndGivesWhatTheyReport) {
  transports::threads world(2, {.time_out = {0.05}});
  std::optional<error> told;
  on_ranks(world, [&](port& at) {
    if (at.rank() == 1) return;  // never comes to the sum
    std::vector<float> data{1};
    group copies(at, {0, 1}, [&](error e) {
      told = e;
      at.abort(e.detail);
      return error{errc::aborted, "as told"};
    });
    const result<void> done = copies.sum(std::span(data));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::aborted);
    EXPECT_EQ(done.error().detail, "as told");
  });
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, errc::timed_out);
}

}  // namespace
}  // namespace slimpack::replica_group_test
