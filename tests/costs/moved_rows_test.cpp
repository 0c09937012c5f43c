#include <slimpack/costs/network/moved_rows.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::moved_rows_test {
namespace {

const costs::gpu device{.name = "X100", .gpus_per_node = 2, .inside = {{1}, 1e4}, .between = {{3}, 1e3}};
const costs::model_shape model{.name = "small",
                               .layers = 3,
                               .hidden = 64,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_dim = 16,
                               .value_dim = 16,
                               .intermediate = 128,
                               .vocabulary = 100};

// Queries and outputs have 64 elements, keys and values 32 each: 2 bytes of 64 + 64 + 64 elements a token and layer.
TEST(MovedRows, CountsQueriesKeysValuesAndOutputs) {
  const std::vector<int> layers{2, 1};
  const costs::moved_rows rows(model, device, {.stages = 2, .replicas = 4}, layers);
  EXPECT_EQ(rows.token(0).value, 2 * 2 * 192);
  EXPECT_EQ(rows.token(1).value, 2 * 192);
}

// Each layer has two transfers; those inside a node come before those between nodes, and none costs no latency.
TEST(MovedRows, TakesLatencyAndBytesOfTheLinksThatCarryAny) {
  const std::vector<int> layers{2, 1};
  const costs::moved_rows rows(model, device, {.stages = 2, .replicas = 4}, layers);
  EXPECT_EQ(rows.time({}, {}, 0).value, 0);
  EXPECT_NEAR(rows.time({10}, {}, 0).value, 1 * 4 + 7680 / 1e4, 1e-12);
  EXPECT_NEAR(rows.time({}, {5}, 0).value, 3 * 4 + 3840 / 1e3, 1e-12);
  EXPECT_NEAR(rows.time({10}, {5}, 0).value, 4 + 0.768 + 12 + 3.84, 1e-12);
  EXPECT_NEAR(rows.time({10}, {}, 1).value, 2 + 0.384, 1e-12);
}

TEST(MovedRows, DividesTokensOverRanksOfAContext) {
  const std::vector<int> layers{3};
  EXPECT_EQ(costs::moved_rows(model, device, {.replicas = 2, .context = 2}, layers).token(0).value, 3 * 192);
}

}  // namespace
}  // namespace slimpack::moved_rows_test
