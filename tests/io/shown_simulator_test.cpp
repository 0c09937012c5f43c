#include <slimpack/io/plan_graph.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/io/trace.hpp>

#include "sample_plan.hpp"

#include <slimpack/concepts/planning.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// What shows a plan shows the times of the simulator that it is given.
namespace slimpack::shown_simulator_test {
namespace {

/// A user's simulator: it counts its runs. Everything starts a second late, so that one sees whose times are shown.
struct a_second_late {
  static constexpr std::string_view name = "a second late";
  std::shared_ptr<std::size_t> runs{std::make_shared<std::size_t>(0)};

  result<std::vector<seconds>> starts(const simulators::task_graph& graph) const {
    ++*runs;
    result<std::vector<seconds>> start = simulators::sweep{}.starts(graph);
    for (seconds& s : start.value()) s += seconds{1};
    return start;
  }
  result<std::vector<seconds>> tails(const simulators::task_graph& graph) const {
    return simulators::sweep{}.tails(graph);
  }
};

/// One that finds nothing.
struct failing {
  static constexpr std::string_view name = "failing";
  result<std::vector<seconds>> starts(const simulators::task_graph&) const {
    return error{errc::cyclic_schedule, "as it must"};
  }
  result<std::vector<seconds>> tails(const simulators::task_graph&) const {
    return error{errc::cyclic_schedule, "as it must"};
  }
};

static_assert(simulator_for<a_second_late> && simulator_for<failing>);

plan two_replicas() {
  return testing::sample_plan({{3000}, {700}, {128}, {5000}, {64}, {900}}, {.stages = 3, .replicas = 2}, {1e-3});
}

TEST(ShownSimulator, RunsOnceForEachGroupOfPlanGraphs) {
  const plan p = two_replicas();
  const a_second_late own;
  simulators::plan_graphs graphs(p, own);
  for (const std::size_t replica : {0u, 0u, 1u, 1u}) graphs.select(replica).value();
  EXPECT_EQ(*own.runs, 2u);
  EXPECT_EQ(*std::min_element(graphs.start().begin(), graphs.start().end()), seconds{1});
  EXPECT_EQ(simulators::plan_graphs(p, failing{}).select(0).error().detail, "as it must");
}

TEST(ShownSimulator, GivesATraceItsTimes) {
  const plan p = two_replicas();
  const a_second_late own;
  std::ostringstream out;
  io::write_trace(out, p, {}, own).value();
  EXPECT_EQ(*own.runs, 2u);
  double first = std::numeric_limits<double>::infinity();
  const nlohmann::json trace = nlohmann::json::parse(out.str());
  for (const nlohmann::json& e : trace["traceEvents"])
    if (e["ph"] == "X") first = std::min(first, e["ts"].get<double>());
  EXPECT_EQ(first, 1e6);
  EXPECT_EQ(io::write_trace(out, p, {}, failing{}).error().detail, "as it must");
}

TEST(ShownSimulator, GivesATimelinePageItsTimes) {
  const plan p = two_replicas();
  const a_second_late own;
  std::ostringstream late, plain;
  io::write_timeline(late, std::vector{p}, {}, {}, own).value();
  io::write_timeline(plain, std::vector{p}).value();
  EXPECT_EQ(*own.runs, 2u);
  const auto makespan_on = [](const std::string& page) {
    const std::string key = "\"makespan\":";
    return std::stoll(page.substr(page.find(key) + key.size()));
  };
  EXPECT_EQ(makespan_on(late.str()) - makespan_on(plain.str()), 1'000'000'000);
  EXPECT_EQ(io::write_timeline(late, std::vector{p}, {}, {}, failing{}).error().detail, "as it must");
}

TEST(ShownSimulator, DrawsGraphs) {
  const plan p = two_replicas();
  const a_second_late own;
  std::ostringstream out;
  io::write_graph(out, p, own).value();
  EXPECT_EQ(*own.runs, 4u);  // of two groups: when the last ends, then each with its slack
  EXPECT_EQ(io::write_graph(out, p, failing{}).error().detail, "as it must");
}

}  // namespace
}  // namespace slimpack::shown_simulator_test
