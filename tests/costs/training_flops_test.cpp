#include <slimpack/costs/model/training_flops.hpp>

#include "models.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace slimpack::training_flops_test {
namespace {

// Two layers of 144 weights, 16 flops a pair each, and logits of 10 words by 4: of 3 and 5 tokens, 6 and 15 pairs.
TEST(TrainingFlops, AreThoseOfWeightsTokensAndPairs) {
  const std::vector<tokens> lengths{{3}, {5}};
  EXPECT_EQ(costs::training_flops(tests::tiny(), lengths), 6 * (2 * 144 + 40) * 8 + 3 * 2 * 16 * 21);
  // Of four experts two are active: 48 weights of attention, 16 of the router, 96 of each expert.
  EXPECT_EQ(costs::training_flops(tests::tiny_experts(), lengths),
            6 * (2 * (48 + 16 + 2 * 96) + 40) * 8 + 3 * 2 * 16 * 21);
}

}  // namespace
}  // namespace slimpack::training_flops_test
