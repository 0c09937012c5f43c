#include <slimpack/shapes/layout.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace slimpack::layout_test {
namespace {

using shapes::layout;

TEST(ShapeLayout, CountsWhatWasChanged) {
  const layout from{{.stages = 2, .tensor = 4}, costs::recompute::none};
  layout to = from;
  EXPECT_EQ(to.changes(from), 0);
  to.shape.stages = 4;
  EXPECT_EQ(to.changes(from), 1);
  to.recompute = costs::recompute::full;
  EXPECT_EQ(to.changes(from), 2);
  to.shape.expert = 4;
  EXPECT_EQ(to.changes(from), 3);
}

// Each once, either way; layers, memory and the quantum go with them.
TEST(ShapeLayout, CountsEachDegreeOnce) {
  const layout from{{.stages = 2, .tensor = 4}, costs::recompute::none};
  for (int shape::*degree :
       {&shape::replicas, &shape::stages, &shape::tensor, &shape::context, &shape::expert, &shape::chunks}) {
    layout to = from;
    to.shape.*degree = 16;
    EXPECT_EQ(to.changes(from), 1);
    EXPECT_EQ(from.changes(to), 1);
  }
  layout to = from;
  to.shape.vocabulary = vocabulary::spread;
  EXPECT_EQ(to.changes(from), 1);
  to.layers = {3, 5}, to.shape.quantum = {64}, to.shape.memory = memory_limit{memory_unit::token, 9};
  EXPECT_EQ(to.changes(from), 1);
  EXPECT_NE(to, from);
}

// Experts are divided among ranks there are, and chunks are on stages there are.
TEST(ShapeLayout, TakesAGpuForEachRank) {
  EXPECT_EQ((layout{{.stages = 2, .replicas = 3, .tensor = 5, .context = 7, .chunks = 11, .expert = 13}}.gpus()), 210);
  EXPECT_EQ((layout{{.stages = 1 << 16, .replicas = 1 << 16}}.gpus()), std::int64_t{1} << 32)
      << "more than an int holds";
}

}  // namespace
}  // namespace slimpack::layout_test
