#include <slimpack/simulators/boost_graph.hpp>

#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/detail/longest_paths.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/graph/slack.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/testing/simulator_laws.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <boost/concept/assert.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace slimpack::boost_graph_test {
namespace {

BOOST_CONCEPT_ASSERT((boost::concepts::VertexListGraphConcept<simulators::rooted_graph>));
BOOST_CONCEPT_ASSERT((boost::concepts::IncidenceGraphConcept<simulators::rooted_graph>));

void expect_agreement(const workload& work, const std::vector<program>& programs) {
  simulators::task_graph graph;
  ASSERT_TRUE(graph.assign(work, programs).has_value());
  EXPECT_EQ(simulators::boost_graph{}.starts(graph).value(), simulators::sweep{}.starts(graph).value());
  EXPECT_EQ(simulators::boost_graph{}.tails(graph).value(), simulators::sweep{}.tails(graph).value());
  std::vector<seconds> start;
  EXPECT_EQ(simulators::makespan(work, programs).value(), graph.sweep(start));
}

seconds makespan_of(const simulators::task_graph& graph) {
  return simulators::ends_of(graph, simulators::boost_graph{}.starts(graph).value(), 1).front();
}

TEST(BoostGraph, ObeysTheLawsOfSimulators) {
  const testing::report found =
      testing::simulator_laws(simulators::boost_graph{}, {.cases = tests::cases(40), .longest = {32768}, .chunks = 3});
  EXPECT_TRUE(found) << found;
}

TEST(Sweep, ObeysTheLawsOfSimulators) {
  const testing::report found =
      testing::simulator_laws(simulators::sweep{}, {.cases = tests::cases(40), .longest = {32768}, .chunks = 3});
  EXPECT_TRUE(found) << found;
}

// p = 4, m = 8, F 1 s, B 2 s: (m + p - 1) (F + B) = 33 s.
TEST(BoostGraph, FindsTheClosedFormOfUniform1F1B) {
  const workload work = tests::uniform_work(4, 8, {{1}, {2}});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  EXPECT_EQ(makespan_of(graph), seconds{(8 + 4 - 1) * 3});
}

TEST(BoostGraph, AgreesExactlyWithTheSweepOnRandomPlans) {
  for (const std::uint64_t seed : {11u, 12u}) {
    SCOPED_TRACE(seed);
    testing::generator random(seed);
    for (int i = tests::cases(50); i > 0; --i) {
      const workload work = testing::any_replica({.longest = {32768}, .chunks = seed == 12 ? 3 : 1}, random).work;
      expect_agreement(work, schedules::one_f_one_b{}.programs(work).value());
      if (work.shape.chunks == 1) expect_agreement(work, schedules::list{}.programs(work).value());
    }
  }
}

TEST(BoostGraph, AgreesExactlyWhereDurationsAreNoDecimals) {
  testing::generator random(13);
  for (int i = tests::cases(50); i > 0; --i) {
    workload work = testing::any_replica({.longest = {32768}}, random).work;
    for (pass_timing* t : {&work.forward, &work.backward})
      for (std::vector<seconds>* times : {&t->time, &t->message})
        for (seconds& s : *times) s = {random.ratio()};
    expect_agreement(work, schedules::one_f_one_b{}.programs(work).value());
  }
}

// 0 -> 1 -> 2 -> 1: no topological order begins. A task graph refuses to become one, so that its rows are given here.
TEST(BoostGraph, RefusesACycle) {
  const std::vector<simulators::task> tasks(3);
  const std::vector<std::uint32_t> rows{0, 1, 2, 3};
  const std::vector<simulators::task_graph::node> targets{1, 2, 1};
  const result<std::vector<seconds>> found = detail::longest_paths({tasks, rows, targets});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::cyclic_schedule);
}

// 0 -> 1 -> 0: the source leads to nothing.
TEST(BoostGraph, RefusesACycleThatNothingLeadsTo) {
  const std::vector<simulators::task> tasks(2);
  const std::vector<std::uint32_t> rows{0, 1, 2};
  const std::vector<simulators::task_graph::node> targets{1, 0};
  EXPECT_FALSE(detail::longest_paths({tasks, rows, targets}));
}

//  stage 0   F0 0-1 | F1 1-2 |  waits  | B0 4-6 | waits | B1 7-9
//  stage 1          | F0 1-2 | B0 2-4  | F1 4-5 | B1 5-7
//  F1 on stage 0 could end at 4, when stage 1 takes it: slack 2. B0 on stage 0 could end at 7, when B1 begins: slack 1.
TEST(Slack, IsWhatATaskMayStartLater) {
  const workload work = tests::uniform_work(2, 2, {{1}, {2}});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  const std::vector<seconds> start = simulators::boost_graph{}.starts(graph).value();
  ASSERT_EQ(makespan_of(graph), seconds{9});
  const std::vector<seconds> slack = simulators::slack(graph, start, simulators::boost_graph{}).value();
  const auto slack_of = [&](std::uint32_t stage, pass p, std::uint32_t pack) {
    for (std::size_t n = 0; n < graph.size(); ++n) {
      const simulators::task& t = graph.tasks()[n];
      if (t.is_instruction() && t.stage == stage && t.what.pass == p && t.what.pack.value == pack) return slack[n];
    }
    return seconds{-1};
  };
  EXPECT_EQ(slack_of(0, pass::forward, 0), seconds{0});
  EXPECT_EQ(slack_of(0, pass::forward, 1), seconds{2});
  EXPECT_EQ(slack_of(1, pass::backward, 0), seconds{0});
  EXPECT_EQ(slack_of(0, pass::backward, 0), seconds{1});
  EXPECT_EQ(slack_of(0, pass::backward, 1), seconds{0});
}

TEST(Slack, IsZeroOnTheCriticalPathAndNowhereNegative) {
  testing::generator random(14);
  for (int i = tests::cases(50); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {32768}}, random).work;
    simulators::task_graph graph;
    graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
    const std::vector<seconds> start = simulators::sweep{}.starts(graph).value();
    const std::vector<seconds> slack = simulators::slack(graph, start, simulators::sweep{}).value();
    EXPECT_EQ(slack, simulators::slack(graph, start, simulators::boost_graph{}).value());
    EXPECT_GE(*std::min_element(slack.begin(), slack.end()), seconds{0});
    for (const simulators::task_graph::node n : simulators::critical_nodes(graph, start)) EXPECT_EQ(slack[n], seconds{0});
  }
}

TEST(BasicPlanner, MakesThePlanThatThePlannerMakes) {
  const std::vector<tokens> lengths{{40000}, {512}, {3000}, {700}, {9000}, {128}};
  for (const int replicas : {1, 3}) {
    const shape on{.stages = 3, .replicas = replicas};
    const plan with_boost = planner{on}(lengths).value();
    const plan with_sweep = basic_planner{on, {}, {}, {}, {}, simulators::sweep{}}(lengths).value();
    EXPECT_EQ(with_boost.hash, with_sweep.hash);
    EXPECT_EQ(with_boost.simulator, "boost_graph");
    EXPECT_EQ(with_sweep.simulator, "sweep");
  }
}

TEST(RootedGraph, LeadsFromItsSourceToAllThatWaitForNothing) {
  const workload work = tests::uniform_work(2, 2, {});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
  const simulators::rooted_graph rooted(graph.tasks(), graph.rows(), graph.targets());
  std::size_t edges = 0;
  for (auto [v, end] = vertices(rooted); v != end; ++v)
    for (auto [e, last] = out_edges(*v, rooted); e != last; ++e, ++edges) {
      EXPECT_EQ(source(*e, rooted), *v);
      EXPECT_EQ(target(*e, rooted), rooted.successors(*v)[(*e).rank]);
      EXPECT_EQ(rooted.weight(*e), *v == rooted.root() ? seconds{} : graph.tasks()[*v].duration);
    }
  EXPECT_EQ(out_degree(rooted.root(), rooted), 1u);  // stage 0's first forward; all else waits
  EXPECT_EQ(edges, graph.edges() + 1);
}

}  // namespace
}  // namespace slimpack::boost_graph_test
