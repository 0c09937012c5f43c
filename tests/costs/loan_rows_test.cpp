#include <slimpack/costs/network/loan_rows.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::loan_rows_test {
namespace {

/// A byte a second inside a node of two GPUs, half a byte between nodes, and no latency.
costs::gpu slow_gpu() {
  return {
      .name = "slow", .gpus_per_node = 2, .backward_attention_ratio = 2.5, .inside = {{0}, 1}, .between = {{0}, 0.5}};
}

loan asks(pass p, std::uint32_t lender, std::uint32_t helper) {
  return {{lender, {pass_kind(p), {5}}}, {helper, {pass_kind(p), {4}}}, {{0}, {640}, {128}}, {{0}, {0}, {256}}};
}

//  Llama 3.1 8B: 2048 elements of keys and values, 4096 of queries and of outputs, 32 heads; 128 queries ask for 256
//  keys.
//    forward   context 2 x 2048 x 256; queries 2 x 4096 x 128; results (2 x 4096 + 4 x 32) x 128 bytes
//    backward  context and (4 x 4096 + 4 x 32) x 128; queries 2 x 4096 x 128; results 2 x 4096 x 128 + 2 x 2048 x 256
TEST(LoanRows, SendsTheBytesOfSlimPipe) {
  const shape on{.stages = 4};
  const std::vector<int> layers{8, 8, 8, 8};
  const costs::loan_rows rows(tests::llama_3_1_8b(), on, layers, costs::recompute::none, costs::network(slow_gpu()));
  EXPECT_EQ(rows(asks(pass::forward, 1, 0), 0), (loan_messages{8, {1048576}, {1048576}, {1064960}}));
  EXPECT_EQ(rows(asks(pass::backward, 1, 0), 0), (loan_messages{8, {1048576 + 2113536}, {1048576}, {2097152}}));
  // Stages 1 and 2 are on two nodes.
  EXPECT_EQ(rows(asks(pass::forward, 1, 2), 2), (loan_messages{8, {2097152}, {2097152}, {2129920}}));
}

// Where attention is computed again, queries and results of forward travel again; ranks of a stage divide them.
TEST(LoanRows, LendsAgainWhatIsComputedAgain) {
  const shape on{.stages = 2, .tensor = 2};
  const std::vector<int> layers{16, 16};
  const costs::loan_rows rows(tests::llama_3_1_8b(), on, layers, costs::recompute::full, costs::network(slow_gpu()));
  const loan_messages forward = rows(asks(pass::forward, 1, 0), 0), backward = rows(asks(pass::backward, 1, 0), 0);
  EXPECT_EQ(forward, (loan_messages{16, {1048576}, {1048576}, {1064960}}));  // half of the bytes, between nodes
  EXPECT_EQ(backward.queries, seconds{1048576} + forward.queries);
  EXPECT_EQ(backward.results, seconds{2097152} + forward.results);
}

}  // namespace
}  // namespace slimpack::loan_rows_test
