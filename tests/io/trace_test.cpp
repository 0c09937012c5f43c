#include <slimpack/io/trace.hpp>

#include "sample_plan.hpp"

#include <slimpack/executors/step_report.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/timeline.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::trace_test {

using io::write_trace;
namespace {

plan two_replicas() {
  shape s;
  s.stages = 3;
  s.replicas = 2;
  return testing::sample_plan({{3000}, {700}, {128}, {5000}, {64}, {900}}, s, {1e-3});
}

/// A step in which everything took `factor` times as long as predicted.
std::vector<step_report> slower(const plan& p, double factor) {
  std::vector<step_report> ranks;
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    const simulators::timeline t = simulators::simulate(simulators::workload_of(p, r), p.replicas[r].programs).value();
    for (const auto& lane : t.stages) {
      step_report report;
      for (const timed_instruction& s : lane)
        report.timeline.push_back({s.instruction, s.begin * factor, s.end * factor});
      report.elapsed = report.timeline.back().end;
      report.step = p.step_time * factor;
      report.reduce = report.step - report.elapsed;
      ranks.push_back(std::move(report));
    }
  }
  return ranks;
}

nlohmann::json traced(const plan& p, const std::vector<step_report>& measured = {}) {
  std::ostringstream out;
  write_trace(out, p, measured).value();
  return nlohmann::json::parse(out.str());
}

std::vector<nlohmann::json> events(const plan& p, const std::string& phase,
                                   const std::vector<step_report>& measured = {}) {
  std::vector<nlohmann::json> found;
  const nlohmann::json trace = traced(p, measured);
  for (const nlohmann::json& e : trace["traceEvents"])
    if (e["ph"] == phase) found.push_back(e);
  return found;
}

TEST(Trace, HasOneEventPerInstruction) {
  const plan p = two_replicas();
  std::size_t instructions = 0;
  for (const replica_plan& r : p.replicas)
    for (const program& code : r.programs) instructions += code.size();
  EXPECT_EQ(events(p, "X").size(), instructions);
}

TEST(Trace, PacksOfAThreadDoNotOverlap) {
  std::map<std::pair<int, int>, double> end;
  for (const nlohmann::json& e : events(two_replicas(), "X")) {
    double& free = end[{e["pid"], e["tid"]}];
    EXPECT_GE(e["ts"].get<double>(), free - 1e-6) << e;  // microseconds: a thousandth of the least step
    free = e["ts"].get<double>() + e["dur"].get<double>();
  }
  EXPECT_EQ(end.size(), 6u);
}

TEST(Trace, EndsWithTheMakespanOfEachReplica) {
  const plan p = two_replicas();
  std::map<std::size_t, double> end;
  for (const nlohmann::json& e : events(p, "X")) {
    double& last = end[e["pid"].get<std::size_t>()];
    last = std::max(last, e["ts"].get<double>() + e["dur"].get<double>());
  }
  for (std::size_t r = 0; r < 2; ++r) EXPECT_NEAR(end[r], p.replicas[r].makespan.value * 1e6, 1e-3);
}

TEST(Trace, ShowsTheReductionAfterTheSlowestReplica) {
  plan p = two_replicas();
  p.reduce_time = {0.5};
  p.step_time += p.reduce_time;
  std::size_t reductions = 0;
  for (const nlohmann::json& e : events(p, "X")) {
    if (e["name"] != "reduce") continue;
    ++reductions;
    EXPECT_NEAR(e["ts"].get<double>() + e["dur"].get<double>(), p.step_time.value * 1e6, 1e-3);
  }
  EXPECT_EQ(reductions, 6u);
}

TEST(Trace, CountsTheTokensOfEachPassOnEachStageOnce) {
  const plan p = two_replicas();
  std::map<std::string, std::int64_t> sum;
  for (const nlohmann::json& e : events(p, "X")) sum[e["cat"]] += e["args"]["tokens"].get<std::int64_t>();
  EXPECT_EQ(sum["forward"], 3 * (3000 + 700 + 128 + 5000 + 64 + 900));
  EXPECT_EQ(sum["backward"], sum["forward"]);
}

//  F0 on stages 0, 1, 2: starts a flow, carries it on, ends it; one flow per pack and pass
TEST(Trace, JoinsThePacksOfAFlowFromTheFirstStageToTheLast) {
  const plan p = two_replicas();
  std::map<std::int64_t, std::pair<int, int>> flows;  // begins and ends
  for (const nlohmann::json& e : events(p, "X")) {
    auto& [begins, ends] = flows[e["bind_id"].get<std::int64_t>()];
    begins += e.contains("flow_out") && !e.contains("flow_in");
    ends += e.contains("flow_in") && !e.contains("flow_out");
  }
  std::size_t packs = 0;
  for (const replica_plan& r : p.replicas) packs += r.partition.forward.size() + r.partition.backward.size();
  EXPECT_EQ(flows.size(), packs);
  for (const auto& [id, flow] : flows) EXPECT_EQ(flow, std::make_pair(1, 1)) << "flow " << id;
}

// F and B flow through the stages; W is its stage's own.
TEST(Trace, NamesWeightGradientsAndSendsThemNowhere) {
  planner plan_batch{shape{.stages = 3}, slicers::equal_cost{}, costs::quadratic{}, solvers::two_phase{},
                     schedules::zero_bubble{.order = schedules::zero_bubble_order::h2}};
  const plan p = plan_batch(two_replicas().lengths).value();
  std::map<std::string, std::int64_t> sum;
  for (const nlohmann::json& e : events(p, "X")) {
    sum[e["cat"]] += e["args"]["tokens"].get<std::int64_t>();
    EXPECT_EQ(e["name"].get<std::string>().front() == 'W', e["cat"] == "weights") << e;
    EXPECT_EQ(e.contains("bind_id"), e["cat"] != "weights") << e;
  }
  EXPECT_EQ(sum["weights"], 3 * (3000 + 700 + 128 + 5000 + 64 + 900));
}

TEST(Trace, MemoryCountersReachThePeakOfEachStage) {
  const plan p = two_replicas();
  std::map<std::pair<std::size_t, std::string>, double> peak;
  for (const nlohmann::json& e : events(p, "C")) {
    double& most = peak[{e["pid"].get<std::size_t>(), e["name"].get<std::string>()}];
    most = std::max(most, e["args"]["tokens"].get<double>());
  }
  ASSERT_EQ(peak.size(), 6u);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t stage = 0; stage < 3; ++stage)
      EXPECT_EQ((peak[{r, "memory of stage " + std::to_string(stage)}]), p.replicas[r].peak_memory[stage]);
}

TEST(Trace, LeavesMemoryOutWhenOnlyItsPeaksAreKnown) {
  plan p = two_replicas();
  p.memory_unit = memory_unit::byte;
  for (replica_plan& r : p.replicas) r.rates.clear();
  EXPECT_TRUE(events(p, "C").empty());
}

TEST(Trace, NamesProcessesAndThreads) {
  std::vector<std::string> names;
  for (const nlohmann::json& e : events(two_replicas(), "M"))
    if (e["args"].contains("name")) names.push_back(e["args"]["name"]);
  const std::vector<std::string> expected{"replica 0", "stage 0", "stage 1", "stage 2",
                                          "replica 1", "stage 0", "stage 1", "stage 2"};
  EXPECT_EQ(names, expected);
}

TEST(Trace, ShowsAMeasuredStepInProcessesOfItsOwnBesideThePredictedOnes) {
  const plan p = two_replicas();
  std::map<std::int64_t, std::string> order;  // by sort index
  std::map<int, std::string> names;
  const std::vector<nlohmann::json> about = events(p, "M", slower(p, 1.25));
  for (const nlohmann::json& e : about)
    if (e["name"] == "process_name") names[e["pid"]] = e["args"]["name"];
  for (const nlohmann::json& e : about)
    if (e["name"] == "process_sort_index") order[e["args"]["sort_index"]] = names[e["pid"]];
  const std::map<std::int64_t, std::string> expected{
      {0, "replica 0"}, {1, "replica 0, measured"}, {2, "replica 1"}, {3, "replica 1, measured"}};
  EXPECT_EQ(order, expected);
}

//  predicted [start, end) runs in [1.25 start, 1.25 end): the ratio of each duration is 1.25
TEST(Trace, MeasuredEventsTellTheirRatioToThePredictedTime) {
  const plan p = two_replicas();
  std::size_t measured = 0;
  for (const nlohmann::json& e : events(p, "X", slower(p, 1.25))) {
    if (e["cat"] == "reduce") continue;
    EXPECT_EQ(e["args"].contains("predicted_us"), e["pid"] >= 2);
    if (e["pid"] < 2) continue;
    ++measured;
    EXPECT_NEAR(e["args"]["measured_over_predicted"].get<double>(), 1.25, 1e-9);
    EXPECT_NEAR(e["args"]["predicted_us"].get<double>() * 1.25, e["dur"].get<double>(), 2e-3);  // two roundings to ns
  }
  EXPECT_EQ(measured, events(p, "X").size());
}

TEST(Trace, MeasuredFlowsAreNotJoinedToPredictedOnes) {
  const plan p = two_replicas();
  std::map<std::int64_t, std::vector<int>> processes;
  for (const nlohmann::json& e : events(p, "X", slower(p, 1.25)))
    if (e.contains("bind_id")) processes[e["bind_id"].get<std::int64_t>()].push_back(e["pid"]);
  for (const auto& [id, of] : processes) EXPECT_EQ(of, std::vector<int>(3, of.front())) << "flow " << id;
}

TEST(Trace, FiguresCompareTheMeasuredStep) {
  const plan p = two_replicas();
  const nlohmann::json figures = traced(p, slower(p, 1.25))["otherData"];
  EXPECT_NEAR(figures["measured_step_time"].get<double>(), 1.25 * p.step_time.value, 1e-12);
  EXPECT_NEAR(figures["measured_bubble"].get<double>(), p.bubble, 1e-12);  // everything stretched alike
  EXPECT_NEAR(figures["median_instruction_error"].get<double>(), 0.25, 1e-9);
  EXPECT_FALSE(traced(p)["otherData"].contains("measured_step_time"));
}

TEST(Trace, RefusesAMeasuredStepOfAnotherShape) {
  const plan p = two_replicas();
  std::vector<step_report> run = slower(p, 1);
  run.pop_back();
  std::ostringstream out;
  EXPECT_EQ(write_trace(out, p, run).error().code, errc::invalid_input);
  EXPECT_TRUE(out.str().empty());
}

TEST(Trace, KeepsAwkwardTextWhole) {
  plan p = two_replicas();
  p.model = "a \"b\" \\ c\n</script> \xc3\xa9";
  p.gpu = "cut \xc3";
  const nlohmann::json figures = traced(p)["otherData"];
  EXPECT_EQ(figures["model"], p.model);
  EXPECT_EQ(figures["gpu"], "cut \xef\xbf\xbd");  // bytes that are no UTF-8 become U+FFFD
}

TEST(Trace, RejectsProgramsThatCannotRun) {
  plan p = two_replicas();
  p.replicas[1].programs[2].pop_back();
  std::ostringstream out;
  EXPECT_EQ(write_trace(out, p).error().code, errc::invalid_input);
}

TEST(Trace, ReportsAFailedStream) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(write_trace(out, two_replicas()).error().code, errc::unwritable);
}

}  // namespace
}  // namespace slimpack::trace_test
