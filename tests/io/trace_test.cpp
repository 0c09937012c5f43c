#include <slimpack/io/trace.hpp>

#include "sample_plan.hpp"

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

namespace slimpack {

using io::write_trace;
namespace {

plan two_replicas() {
  shape s;
  s.stages = 3;
  s.replicas = 2;
  return testing::sample_plan({{3000}, {700}, {128}, {5000}, {64}, {900}}, s, {1e-3});
}

nlohmann::json traced(const plan& p) {
  std::ostringstream out;
  write_trace(out, p).value();
  return nlohmann::json::parse(out.str());
}

std::vector<nlohmann::json> events(const plan& p, const std::string& phase) {
  std::vector<nlohmann::json> found;
  const nlohmann::json trace = traced(p);
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
}  // namespace slimpack
