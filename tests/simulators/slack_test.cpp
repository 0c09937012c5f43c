#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/boost_graph.hpp>
#include <slimpack/simulators/graph/critical_path.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::slack_test {
namespace {

//  stage 0   F0 0-1 | F1 1-2 |  waits  | B0 4-6 | waits | B1 7-9
//  stage 1          | F0 1-2 | B0 2-4  | F1 4-5 | B1 5-7
//  F1 on stage 0 could end at 4, when stage 1 takes it: slack 2. B0 on stage 0 could end at 7, when B1 begins: slack 1.
TEST(Slack, IsWhatATaskMayStartLater) {
  const workload work = tests::uniform_work(2, 2, {{1}, {2}});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  std::vector<seconds> start;
  ASSERT_EQ(graph.sweep(start), seconds{9});
  const std::vector<seconds> slack = simulators::slack(graph, start, simulators::boost_graph{}).value();
  const auto slack_of = [&](std::uint32_t stage, pass p, std::uint32_t pack) {
    for (std::size_t n = 0; n < graph.size(); ++n) {
      const simulators::task& t = graph.tasks()[n];
      if (t.is_instruction() && t.stage == stage && t.what.pass() == p && t.what.pack.value == pack) return slack[n];
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
    for (const simulators::task_graph::node n : simulators::critical_nodes(graph, start))
      EXPECT_EQ(slack[n], seconds{0});
  }
}

/// When the last task ends if one of them starts no earlier than `least`.
seconds end_with_late(const simulators::task_graph& graph, simulators::task_graph::node late, seconds least) {
  std::vector<seconds> start(graph.size());
  seconds last{};
  for (simulators::task_graph::node n = 0; n < graph.size(); ++n) {  // numbered topologically
    if (n == late) start[n] = std::max(start[n], least);
    const seconds end = start[n] + graph.tasks()[n].duration;
    last = std::max(last, end);
    for (const simulators::task_graph::node next : graph.successors(n)) start[next] = std::max(start[next], end);
  }
  return last;
}

// Whole numbers, so that sums are exact: as late as its slack a task delays nothing, and a second later it does.
TEST(Slack, IsTheMostThatATaskMayStartLater) {
  testing::generator random(15);
  for (int i = tests::cases(30); i > 0; --i) {
    workload work = testing::any_replica({.longest = {8192}}, random).work;
    for (const pass p : both_passes)
      for (std::vector<seconds>* times : {&work.times.calls[p], &work.times.messages[p]})
        for (seconds& one : *times) one = {static_cast<double>(random.between(0, 6))};
    simulators::task_graph graph;
    graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
    std::vector<seconds> start;
    const seconds makespan = graph.sweep(start);
    const std::vector<seconds> slack = simulators::slack(graph, start, simulators::sweep{}).value();
    for (int k = 0; k < 20; ++k) {
      const auto n =
          static_cast<simulators::task_graph::node>(random.between(0, static_cast<std::int64_t>(graph.size()) - 1));
      EXPECT_EQ(end_with_late(graph, n, start[n] + slack[n]), makespan) << "seed 15, case " << i << ", task " << n;
      EXPECT_GT(end_with_late(graph, n, start[n] + slack[n] + seconds{1}), makespan)
          << "seed 15, case " << i << ", task " << n;
    }
  }
}

}  // namespace
}  // namespace slimpack::slack_test
