#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/named.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

namespace slimpack::named_test {
namespace {

TEST(Baselines, AreWholeEachUnderItsName) {
  const std::vector<tokens> lengths{{4096}, {1000}, {512}, {3000}};
  const shape on{.stages = 2};
  for (const std::string_view name : baselines::names) {
    const auto made = baselines::with_named(name, on, {}, [&](const auto& recipe) {
      return basic_planner{
          on, recipe.slicer, costs::quadratic{}, recipe.solver, recipe.schedule, simulators::sweep{}}(lengths);
    });
    ASSERT_TRUE(made) << name;
    EXPECT_TRUE(*made) << name;
  }
}

TEST(Baselines, SayWhetherTheyCut) {
  const auto cuts = [](std::string_view name) {
    return baselines::with_named(name, {}, {}, [](const auto& recipe) { return recipe.cuts; });
  };
  EXPECT_EQ(cuts("megatron"), std::optional(false));
  EXPECT_EQ(cuts("chunked"), std::optional(true));
  EXPECT_EQ(cuts("slimpack"), std::nullopt);
}

// Megatron-LM's warm-up with virtual stages is that of a lead of 2.
TEST(Baselines, RunClassic1F1B) {
  EXPECT_EQ(baselines::classic({.stages = 2}).lead, 1);
  EXPECT_EQ(baselines::classic({.stages = 2, .chunks = 2}).lead, 2);
}

}  // namespace
}  // namespace slimpack::named_test
