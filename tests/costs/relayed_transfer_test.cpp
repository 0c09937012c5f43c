#include <slimpack/costs/network/row_exchange.hpp>

#include <gtest/gtest.h>

namespace slimpack::relayed_transfer_test {
namespace {

using costs::relayed_transfer;

// 800 B over 4 adapters: 3/4 of them inside at 100 B/s, a quarter across at 10 B/s; latencies of 1 s inside, 3 s
// across.
const costs::network net(costs::gpu{.name = "X100", .gpus_per_node = 8, .inside = {{1}, 100}, .between = {{3}, 10}});

TEST(RelayedTransfer, RunsItsLegsOneAfterTheOther) {
  const relayed_transfer t = relayed_transfer::of(net, {800}, 4, 1);
  EXPECT_NEAR(t.inside.value, 6, 1e-12);
  EXPECT_NEAR(t.between.value, 20, 1e-12);
  EXPECT_NEAR(t.latency.value, 5, 1e-12);
  EXPECT_NEAR(t.time().value, 5 + 6 + 20 + 6, 1e-12);
}

// In 2 segments, 3 s inside and 10 s across each: the second follows 10 s behind the first.
TEST(RelayedTransfer, OverlapsItsSegments) {
  EXPECT_NEAR(relayed_transfer::of(net, {800}, 4, 2).time().value, 5 + 3 + 10 + 3 + 10, 1e-12);
}

// Where 4 of 8 neighbours send at once over 2 adapters, 2 share each.
TEST(RelayedTransfer, SharesAdaptersWithNeighbours) {
  const costs::network few(costs::gpu{
      .name = "X100", .gpus_per_node = 8, .inside = {{1}, 100}, .between = {{3}, 10}, .adapters_per_node = 4});
  EXPECT_NEAR(relayed_transfer::of(few, {800}, 4, 1, 4).between.value, 40, 1e-12);
}

}  // namespace
}  // namespace slimpack::relayed_transfer_test
