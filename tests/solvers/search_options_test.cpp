#include <slimpack/planner.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/search_constants.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::search_options_test {
namespace {

using solvers::constants_of;
using solvers::search_constant;
using solvers::search_options;
using solvers::with_constant;

std::string text_of(const search_options& o) {
  std::ostringstream text;
  text << o;
  return text.str();
}

TEST(SearchOptions, RefuseWhatIsOutOfRange) {
  EXPECT_TRUE(search_options{}.check());
  for (const search_constant& c : constants_of(search_options{})) {
    const result<void> answer = with_constant(search_options{}, c.name, c.most * 2 + 1).check();
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
  EXPECT_EQ(text_of({.light = 0.5, .tuning = {.walk_most = 3}}), "{.light = 0.5, .walk_most = 3}");
}

// What none may change without a new measurement.
TEST(SearchOptions, HaveTheirDefaults) {
  constexpr search_options o;
  EXPECT_EQ(o.tuning.forward_ratios(), (solvers::size_ratios{0.93, 0.6, 0.82, 1.0, 0.7, 0.41, 0.62}));
  EXPECT_EQ(o.tuning.backward_ratios(), (solvers::size_ratios{0.39, 2.3, 1.6, 0.262, 0.68, 0.104, 0.081}));
  const std::map<std::string, double> defaults{
      {"smaller_first", 0.5},      {"smaller_step", 0.25},   {"coarse_first", 8},         {"coarse_second", 64},
      {"shared_walk_least", 2},    {"estimate_times", 1.5},  {"loss_peak", 25},           {"loss_tail", 2.6},
      {"loss_alike", 30},          {"loss_uneven", 0.38},    {"loss_exchange", 1.75},     {"loss_rows", 0.6},
      {"loss_packs", 10},          {"heavy", 0.05},          {"evaluation_growth", 1.25}, {"evaluation_beyond", 2},
      {"evaluation_around", 1.25}, {"evaluation_steps", 24}, {"evaluation_end", 0.125},   {"evaluation_ramp", 0.25}};
  std::size_t found = 0;
  for (const search_constant& c : constants_of(o))
    if (const auto expected = defaults.find(std::string(c.name)); expected != defaults.end()) {
      EXPECT_EQ(c.value, expected->second) << c.name;
      ++found;
    }
  EXPECT_EQ(found, defaults.size());
}

// Every constant at either end of its range, one at a time: whatever they are, plans end and are plans. Ranges that end
// in thousands only make a search longer or shorter.
TEST(SearchOptions, PlanAtEveryEndOfTheirRanges) {
  const std::vector<tokens> lengths{{9000}, {4000}, {700}, {600}, {500}, {400}, {128}, {1}};
  int k = 0;
  for (const bool tight : {false, true}) {
    shape on{.stages = 3, .replicas = 2};
    if (tight) on.memory = memory_limit{memory_unit::token, 9100};
    for (const search_constant& c : constants_of(search_options{})) {
      for (const double end : {c.least, std::min(c.most, 1000.0)}) {
        if (!tests::is_tried(k++)) continue;
        solvers::two_phase solver{.effort = {20'000, 20}};
        solver.options = with_constant(solver.options, c.name, end);
        const auto planned = [&](const auto& by, bool forward) {
          const planner plan_batch{on, slicers::equal_cost{}, costs::quadratic{.per_pack = {6e-5}}, by};
          return forward ? plan_batch.plan_forward(lengths) : plan_batch(lengths);
        };
        const bool estimates = c.name.starts_with("loss_") || c.name == "heavy";
        const result<plan> made = estimates ? planned(solvers::two_phase_estimated{solver}, false)
                                            : planned(solver, c.name.starts_with("evaluation_"));
        EXPECT_TRUE(made) << c.name << " = " << end << ": " << made.error().detail;
      }
    }
  }
}

}  // namespace
}  // namespace slimpack::search_options_test
