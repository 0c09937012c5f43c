#include <slimpack/executors/piece.hpp>

#include <gtest/gtest.h>

namespace slimpack::backward_cuts_test {
namespace {

struct says_nothing {};
struct anywhere {
  static constexpr backward_cuts cuts = backward_cuts::any;
};
struct at_forward_cuts {
  static constexpr backward_cuts cuts = backward_cuts::forward_cuts;
};
struct derived : anywhere {};
struct overrides : anywhere {
  static constexpr backward_cuts cuts = backward_cuts::forward_cuts;
};

// What is cut wrongly computes wrong gradients: who says nothing has its backward cut where its forward was.
TEST(BackwardCuts, AreThoseOfForwardWhereAComputeSaysNothing) {
  EXPECT_EQ(cuts_of<says_nothing>(), backward_cuts::forward_cuts);
}

TEST(BackwardCuts, AreAsAComputeSays) {
  EXPECT_EQ(cuts_of<anywhere>(), backward_cuts::any);
  EXPECT_EQ(cuts_of<at_forward_cuts>(), backward_cuts::forward_cuts);
  EXPECT_EQ(cuts_of<derived>(), backward_cuts::any);
  EXPECT_EQ(cuts_of<overrides>(), backward_cuts::forward_cuts);
}

}  // namespace
}  // namespace slimpack::backward_cuts_test
