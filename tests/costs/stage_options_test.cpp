#include <slimpack/costs/stage_options.hpp>

#include <gtest/gtest.h>

namespace slimpack::stage_options_test {
namespace {

using costs::stage_options;

// Kernels of a norm that stream 36 bytes an element forward and 76 backward, of positions 20, in bytes at the speed of
// kernels that go row by row. A norm moves 2 (reads + 1) bytes forward and twice as many backward.
TEST(EagerPytorch, MovesWhatItsOperatorsMove) {
  const stage_options o = costs::eager_pytorch();
  const double slower = o.row_share / o.memory_share;
  EXPECT_NEAR(2 * (o.norm_reads + 1), 36 * slower, 1);
  EXPECT_NEAR(2 * (2 * o.norm_reads + 2), 76 * slower, 1);
  EXPECT_NEAR(o.position_bytes, 20 * slower, 0.5);
}

TEST(EagerPytorch, ChangesNoOtherOption) {
  const stage_options o = costs::eager_pytorch(
      {.attention = costs::attention_kind::unfused, .dropout = true, .cast_bytes = 5, .launch = {1e-4}});
  EXPECT_EQ(o.attention, costs::attention_kind::unfused);
  EXPECT_TRUE(o.dropout);
  EXPECT_EQ(o.cast_bytes, 5);
  EXPECT_EQ(o.launch, seconds{1e-4});
}

TEST(StageOptions, AreThoseOfATrainerThatHidesWhatItCan) {
  const stage_options o;
  EXPECT_EQ(o.attention, costs::attention_kind::flash);
  EXPECT_EQ(o.messages, costs::messages::overlapped);
  EXPECT_EQ(o.reduction, costs::reduction::overlapped);
  EXPECT_TRUE(o.hides_tensor_traffic);
  EXPECT_EQ(o.accumulation_traffic, 0);  // the weight gradients' products add up
  EXPECT_TRUE(o.layers.empty());
  EXPECT_FALSE(o.hop);
}

}  // namespace
}  // namespace slimpack::stage_options_test
