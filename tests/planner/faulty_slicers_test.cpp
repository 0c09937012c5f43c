#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

// Slicers that break a law now and then: planning ends with a sentence that names the question, the answer and the law.

namespace slimpack::faulty_slicers_test {
namespace {

/// slicers::equal_cost, but for answers that `spoil` changes.
struct faulty_slicer {
  std::function<void(slice&, const sequence&, tokens at, pass, const cut_budget&)> spoil;

  template <class C>
  [[nodiscard]] slice next(const sequence& s, tokens at, pass p, const cut_budget& left, const C& cost) const {
    slice given = slicers::equal_cost{}.next(s, at, p, left, cost);
    spoil(given, s, at, p, left);
    return given;
  }
};

const std::vector<tokens> lengths{{700}, {3}, {1700}, {5000}, {64}, {900}};
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

struct fault {
  const char* name;
  std::function<void(slice&, const sequence&, tokens, pass, const cut_budget&)> spoil;
  const char* law;
};

std::vector<fault> faults() {
  return {
      {"a negative length", [](slice& g, const auto&, auto, auto, const auto&) { g.length = {-5}; },
       "negative length (slicer law 1)"},
      {"the least length",
       [](slice& g, const auto&, auto, auto, const auto&) { g.length = {std::numeric_limits<std::int64_t>::min()}; },
       "negative length (slicer law 1)"},
      {"a stranger",
       [](slice& g, const auto&, auto, auto, const auto&) {
         g = {{4000000000U}, {0}, {1}};
       },
       "of another sequence"},
      {"before the sequence", [](slice& g, const auto&, auto, auto, const auto&) { g.begin = {-1}, g.length = {64}; },
       "lie in their sequence (slicer law 1)"},
      {"a huge length", [](slice& g, const auto&, auto, auto, const auto&) { g.length = {most}; },
       "lie in their sequence (slicer law 1)"},
      {"a huge begin", [](slice& g, const auto&, auto, auto, const auto&) { g.begin = {most}, g.length = {64}; },
       "lie in their sequence (slicer law 1)"},
      {"a gap, forward",
       [](slice& g, const sequence& s, auto, pass p, const auto&) {
         if (p == pass::forward && g.end() < s.length - tokens{64} && g.length > tokens{64})
           g.begin += tokens{64}, g.length -= tokens{64};
       },
       "a slice must begin at token"},
      {"a gap, backward",
       [](slice& g, const auto&, auto, pass p, const auto&) {
         if (p == pass::backward && g.length > tokens{64}) g.length -= tokens{64};
       },
       "a slice must end at token"},
      {"cuts beside the quantum",
       [](slice& g, const sequence& s, auto, pass p, const auto&) {
         if (p == pass::forward && g.end() < s.length && g.length > tokens{1}) g.length -= tokens{1};
       },
       "multiples of the quantum"},
      {"no slice", [](slice& g, const auto&, auto, auto, const auto&) { g.length = {0}; },
       "some slice must be given then (slicer law 4)"},
      {"backward only",
       [](slice& g, const auto&, auto, pass p, const auto&) {
         if (p == pass::backward) g.length = {-1};
       },
       "backward down from token"}};
}

template <class Solver>
auto planner_of(const faulty_slicer& slicer, shape on, Solver solver) {
  return basic_planner{
      on, slicer, costs::quadratic{.per_pack = {1e-5}}, std::move(solver), schedules::list{}, simulators::sweep{}};
}

void expect_refused(const result<plan>& made, const fault& f, const std::string& where) {
  ASSERT_FALSE(made) << f.name << ", " << where;
  EXPECT_EQ(made.error().code, errc::invalid_input) << f.name << ", " << where;
  EXPECT_EQ(made.error().detail.rfind("the slicer's answer is wrong: of sequence ", 0), 0U)
      << f.name << ", " << where << ": " << made.error().detail;
  EXPECT_NE(made.error().detail.find(f.law), std::string::npos)
      << f.name << ", " << where << ": " << made.error().detail;
}

TEST(FaultySlicers, AreRefusedByTheLawThatTheyBreak) {
  const solvers::two_phase search{.effort = solvers::search_budget::fast()};
  for (const fault& f : faults())
    for (const int replicas : {1, 2}) {
      const shape on{.stages = 3, .replicas = replicas, .quantum = {64}};
      const std::string where = std::to_string(replicas) + " replicas";
      expect_refused(planner_of({f.spoil}, on, search)(lengths), f, where);
      expect_refused(planner_of({f.spoil}, on, solvers::refined{search})(lengths), f, where + ", refined");
      // On two replicas nothing is cut for packs of 8,192 tokens, and smaller packs have no room for the longest
      // sequence.
      if (replicas == 1)
        expect_refused(planner_of({f.spoil}, on, solvers::chunked{{8192}})(lengths), f, where + ", chunked");
    }
}

TEST(FaultySlicers, AreRefusedByWhoeverPlansForwardsOrOneReplica) {
  const solvers::two_phase_estimated search{{.effort = solvers::search_budget::fast()}};
  const fault negative = faults().front();
  const auto planner = planner_of({negative.spoil}, {.stages = 2, .replicas = 2, .quantum = {64}}, search);
  expect_refused(planner.plan_forward(lengths), negative, "forward");
  const result<rank_plan> part = planner.of_replica(lengths, 1);
  ASSERT_FALSE(part);
  EXPECT_NE(part.error().detail.find(negative.law), std::string::npos) << part.error().detail;
}

TEST(FaultySlicers, EndPlanningAtTheirFirstWrongAnswerWheneverItComes) {
  const std::uint32_t seed = 20260729;
  std::mt19937 random(seed);
  for (int i = 0; i < 30; ++i) {
    const auto good = static_cast<std::uint32_t>(random() % 2000);
    std::uint32_t asked = 0;
    const auto spoil = [&](slice& given, const sequence&, tokens, pass, const cut_budget&) {
      if (++asked > good) given.length = {given.length.value - 1 - most / 2};
    };
    const result<plan> made = planner_of({spoil}, {.stages = 3, .quantum = {64}},
                                         solvers::two_phase{.effort = solvers::search_budget::fast()})(lengths);
    ASSERT_FALSE(made) << "seed " << seed << ", case " << i;
    EXPECT_NE(made.error().detail.find("negative length"), std::string::npos)
        << made.error().detail << ", seed " << seed << ", case " << i;
  }
}

TEST(FaultySlicers, AreNamedWithTheSequenceOfTheBatch) {
  const auto spoil = [](slice& given, const sequence& s, tokens, pass, const cut_budget&) {
    if (s.length == tokens{5000}) given.length = {-7};
  };
  const result<plan> made = planner_of({spoil}, {.stages = 2, .quantum = {64}},
                                       solvers::two_phase{.effort = solvers::search_budget::fast()})(lengths);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail,
            "the slicer's answer is wrong: of sequence 3 of 5000 tokens, forward from token 0, with room for all of "
            "it, it gives "
            "-7 tokens from 0: a slice has no negative length (slicer law 1)");
}

TEST(CheckedSlicer, AnswersAsTheSlicerThatKeepsItsLaws) {
  detail::time_faults faults{std::stop_token{}};
  const costs::quadratic cost;
  const slicers::uniform cuts{{512}};
  const detail::checked_slicer checked(cuts, std::span(lengths), faults);
  for (std::uint32_t i = 0; i < lengths.size(); ++i)
    for (const pass p : both_passes)
      for (tokens at{}; at < lengths[i]; at += tokens{512}) {
        const sequence s{{i}, lengths[i]};
        const tokens from = p == pass::forward ? at : lengths[i] - at;
        if (from.value % 512 != 0 && from != lengths[i]) continue;
        const cut_budget left{{1}, {4096}, {128}, 0, true};
        EXPECT_EQ(checked.next(s, from, p, left, cost), cuts.next(s, from, p, left, cost));
      }
  EXPECT_FALSE(faults.any());
}

}  // namespace
}  // namespace slimpack::faulty_slicers_test
