#include <slimpack/executors/row_traffic.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::row_traffic_test {
namespace {

using executors::row_traffic;
using executors::row_traffic_of;

/// A sequence of 8 tokens in one row: replica 0 runs the first 4, replica 1 the others.
plan shared_by_two(exchange how) {
  plan p;
  p.lengths = {{8}};
  p.shape.replicas = 2;
  p.shape.quantum = {4};
  for (const std::int64_t begin : {0, 4}) {
    replica_plan& r = p.replicas.emplace_back();
    r.sequences = {{0}};
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) {
      packs->append({{0}, {begin}, {4}});
      packs->close();
    }
  }
  p.merges = {
      {.sequence = {0}, .replicas = {0, 1}, .forward = {{{0}, {0}}}, .backward = {{{0}, {0}}}, .exchange = how}};
  return p;
}

/// Of 3 layers: 8 bytes of keys and values for a token, 16 of their gradients; 8 and 4 of what goes round.
const std::vector<row_format> chunks{
    {.layers = 3,
     .keys_values = {2, element_type::float32},
     .gradients = {2, element_type::float64},
     .ring = {{{2, element_type::float32}, {}}, {{2, element_type::float32}, {1, element_type::float32}}}}};

// Tokens [0, 4) come before the last of replica 1: 3 layers x 4 tokens x 8 bytes. Its own come after all of replica 0.
TEST(RowTraffic, SendsKeysForwardToThoseBehindIt) {
  const plan p = shared_by_two(exchange::keep);
  EXPECT_EQ(row_traffic_of(p, 0, chunks).value(), (row_traffic{{3, 0}, {96, 0}}));
  EXPECT_EQ(row_traffic_of(p, 1, chunks).value(), (row_traffic{{0, 3}, {0, 192}}));  // 3 x 4 x 16, back to the owner
}

// Forward each sends its own rows to the other, 3 x 4 x 8 bytes; they end there. Backward also the sums of both
// parcels, 3 x 2 x 4 x 4 bytes in 6 messages.
TEST(RowTraffic, SendsRowsRoundAndSumsHome) {
  for (const int rank : {0, 1})
    EXPECT_EQ(row_traffic_of(shared_by_two(exchange::ring), rank, chunks).value(),
              (row_traffic{{3, 3 + 6}, {96, 96 + 96}}));
}

TEST(RowTraffic, IsNoneWhereNothingIsShared) {
  plan p = shared_by_two(exchange::keep);
  p.merges.clear();
  p.replicas[1] = {};
  for (micropacks* packs : {&p.replicas[0].partition.forward, &p.replicas[0].partition.backward}) {
    *packs = {};
    packs->append({{0}, {0}, {8}});
    packs->close();
  }
  EXPECT_EQ(row_traffic_of(p, 0, chunks).value(), row_traffic{});
}

TEST(RowTraffic, RefusesARankThatThePlanHasNot) {
  for (const int rank : {-1, 2}) {
    const auto sent = row_traffic_of(shared_by_two(exchange::keep), rank, chunks);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, errc::invalid_input);
    EXPECT_EQ(sent.error().detail, "the plan has no rank " + std::to_string(rank));
  }
}

TEST(RowTraffic, RefusesRowsThatLeaveTokensOut) {
  plan p = shared_by_two(exchange::keep);
  p.lengths = {{9}};
  EXPECT_NE(row_traffic_of(p, 0, chunks).error().detail.find("ends at token 8 forward: each token must run once"),
            std::string::npos);
}

}  // namespace
}  // namespace slimpack::row_traffic_test
