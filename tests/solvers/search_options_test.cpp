#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/planner.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::search_options_test {
namespace {

using solvers::search_constant;
using solvers::search_constants;
using solvers::search_options;

std::string text_of(const search_options& o) {
  std::ostringstream text;
  text << o;
  return text.str();
}

TEST(SearchOptions, ListEveryMemberOnce) {
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const search_constant& c : search_constants) {
    names.emplace(c.name);
    bytes += c.ratio ? sizeof(double) : sizeof(std::uint32_t);
  }
  EXPECT_EQ(names.size(), search_constants.size());
  // Members that the list leaves out would make the aggregate larger; alignment pads each run of counts by 4 at most.
  EXPECT_LE(sizeof(search_options) - bytes, 4 * search_constants.size() / 2);
  for (const search_constant& c : search_constants) {
    search_options changed;
    c.set(changed, c.of(changed) == c.most ? c.least : c.most);
    EXPECT_NE(changed, search_options{}) << c.name;
  }
}

TEST(SearchOptions, RefuseWhatIsOutOfRange) {
  EXPECT_TRUE(search_options{}.check());
  for (const search_constant& c : search_constants) {
    search_options wrong;
    c.set(wrong, c.most * 2 + 1);
    const result<void> answer = wrong.check();
    ASSERT_FALSE(answer) << c.name;
    EXPECT_NE(answer.error().detail.find(std::string(c.name)), std::string::npos) << answer.error().detail;
  }
  const planner plan_batch{shape{}, slicers::equal_cost{}, costs::quadratic{},
                           solvers::two_phase{.options = {.even_step = 1}}};
  const std::vector<tokens> lengths{{100}};
  EXPECT_EQ(plan_batch(lengths).error().code, errc::invalid_input);
}

TEST(SearchOptions, PrintWhatDiffersFromTheDefault) {
  EXPECT_EQ(text_of({}), "{}");
  EXPECT_EQ(text_of({.light = 0.5, .restarts = 2}), "{.light = 0.5, .restarts = 2}");
}

// Every constant at either end of its range, one at a time: whatever they are, plans end and are plans. Ranges that end in
// thousands only make a search longer or shorter.
TEST(SearchOptions, PlanAtEveryEndOfTheirRanges) {
  const std::vector<tokens> lengths{{9000}, {4000}, {700}, {600}, {500}, {400}, {128}, {1}};
  for (const bool tight : {false, true}) {
    shape on{.stages = 3, .replicas = 2};
    if (tight) on.memory = memory_limit{memory_unit::token, 9100};
    for (const search_constant& c : search_constants) {
      for (const double end : {c.least, std::min(c.most, 1000.0)}) {
        solvers::two_phase solver{.effort = {20'000, 20}};
        c.set(solver.options, end);
        if (!solver.options.check()) continue;  // restarts together
        const result<plan> made = planner{on, slicers::equal_cost{}, costs::quadratic{.per_pack = {6e-5}}, solver}(lengths);
        EXPECT_TRUE(made) << c.name << " = " << end << ": " << made.error().detail;
      }
    }
  }
}

}  // namespace
}  // namespace slimpack::search_options_test
