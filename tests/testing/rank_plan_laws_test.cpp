#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/rank_plan_laws.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::rank_plan_laws_test {
namespace {

const std::vector<tokens> lengths{{4000}, {3000}, {2500}, {2000}, {900}};

auto honest() {
  const solvers::two_phase_estimated solver{{.effort = {0, 1}, .threads = 1}};
  return basic_planner{shape{.stages = 2, .replicas = 3},
                       slicers::equal_cost{},
                       costs::quadratic{},
                       solver,
                       schedules::list{},
                       simulators::sweep{}};
}

/// A planner whose parts, or whole plans, are changed before they are seen.
struct liar {
  std::function<void(rank_plan&, std::uint32_t)> change{};
  std::function<void(plan&)> change_whole{};
  bool refuses{};

  result<plan> operator()(const batch_view& batch) const {
    result<plan> made = honest()(batch);
    if (change_whole) change_whole(made.value());
    return made;
  }
  result<rank_plan> of_replica(const batch_view& batch, std::uint32_t replica) const {
    if (refuses && replica == 1) return error{errc::invalid_input, "no"};
    result<rank_plan> made = honest().of_replica(batch, replica);
    if (change) change(made.value(), replica);
    return made;
  }
  result<plan> put_together(std::span<const rank_plan> parts) const { return honest().put_together(parts); }
};

std::string broken(const liar& planner) {
  std::ostringstream text;
  text << testing::rank_plan_laws(planner, lengths, 3);
  return text.str();
}

void expect_says(const liar& planner, const std::string& sentence) {
  const std::string told = broken(planner);
  EXPECT_NE(told.find(sentence), std::string::npos) << told;
  EXPECT_FALSE(testing::rank_plan_laws(planner, lengths, 3));
}

TEST(RankPlanLaws, HoldForThePlanner) { EXPECT_TRUE(testing::rank_plan_laws(honest(), lengths, 3)) << broken({}); }

TEST(RankPlanLaws, NameWhatIsBroken) {
  expect_says({.change_whole = [](plan& p) { p.hash ^= 1; }},
              "put together, the parts are the plan of the whole batch");
  expect_says({.change = [](rank_plan& p, std::uint32_t replica) { p.division += replica; }},
              "all parts are of one division");
  expect_says({.change = [](rank_plan& p, std::uint32_t replica) { p.group = {(replica + 1) % 3}; }},
              "a replica is in its group");
  expect_says({.change = [](rank_plan& p, std::uint32_t) { p.part.lengths.pop_back(); }},
              "a part has the sequences and the shape");
  expect_says(
      {.change = [](rank_plan& p, std::uint32_t replica) { p.part.replicas[(replica + 1) % 3].sequences = {{0}}; }},
      "other replicas are empty");
  expect_says({.change =
                   [](rank_plan& p, std::uint32_t) {
                     p.part.merges.push_back({{0}, {0, 1, 2}, {}, {}});
                   }},
              "merges of a part are between its replicas");
  expect_says({.change = [](rank_plan& p, std::uint32_t) { p.part.step_time = {1}; }},
              "a part claims nothing of the whole");
  expect_says({.change = [](rank_plan& p, std::uint32_t) { p.part.hash ^= 1; }}, "the hash is that of the part");
  expect_says({.refuses = true}, "the whole batch is refused where a part is");
  expect_says({.change_whole = [](plan& p) { p.replicas[0].rates.clear(); }}, "memory rates");
}

}  // namespace
}  // namespace slimpack::rank_plan_laws_test
