#include <slimpack/io/timeline.hpp>

#include "sample_plan.hpp"

#include <slimpack/simulator/timeline.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ios>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack {

using io::write_timeline;
namespace {

plan small_plan(int stages = 3) {
  shape s;
  s.stages = stages;
  s.replicas = 2;
  return testing::sample_plan({{3000}, {700}, {128}, {5000}, {64}, {900}}, s, {1e-3});
}

std::string page_of(const std::vector<plan>& plans) {
  std::ostringstream out;
  write_timeline(out, plans).value();
  return out.str();
}

nlohmann::json data_of(const std::string& page) {
  const std::string opening = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(opening) + opening.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Starts of a stage as the page unpacks them: sums of gaps and durations, in nanoseconds.
std::vector<std::int64_t> unpacked(const nlohmann::json& replica, std::size_t stage) {
  const nlohmann::json& s = replica["stages"][stage];
  std::vector<std::int64_t> start;
  std::array<std::size_t, 2> next{};
  std::size_t gap = 0;
  std::size_t last = 0;
  std::int64_t t = 0;
  for (std::size_t i = 0; i < s["code"].get_ref<const std::string&>().size(); ++i) {
    if (gap < s["gaps"].size() && i == last + s["gaps"][gap].get<std::size_t>()) {
      t += s["gaps"][gap + 1].get<std::int64_t>();
      last = i;
      gap += 2;
    }
    start.push_back(t);
    const std::size_t p = s["code"].get_ref<const std::string&>()[i] == 'F' ? 0 : 1;
    const nlohmann::json& times = replica["passes"][p]["time"];
    const nlohmann::json& column = times["columns"][times["of"][stage].get<std::size_t>()];
    t += column[column.size() == 1 ? 0 : next[p]].get<std::int64_t>();
    ++next[p];
  }
  return start;
}

TEST(TimelinePage, LoadsNothing) {
  const std::string page = page_of({small_plan()});
  for (const char* reference : {"http:", "https:", "src=", "href=", "url(", "@import", "import(", "fetch(", "WebSocket",
                                "XMLHttpRequest", "sendBeacon"})
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(TimelinePage, StartsAreThoseOfTheSimulator) {
  const plan p = small_plan();
  const nlohmann::json data = data_of(page_of({p}));
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    const workload work = simulator::workload_of(p, r);
    const simulator::timeline t = simulator::simulate(work, p.replicas[r].programs).value();
    for (std::size_t stage = 0; stage < t.stages.size(); ++stage) {
      const std::vector<std::int64_t> start = unpacked(data["plans"][0]["replicas"][r], stage);
      ASSERT_EQ(start.size(), t.stages[stage].size());
      for (std::size_t i = 0; i < start.size(); ++i)  // within the two nanoseconds that writing may round
        EXPECT_NEAR(static_cast<double>(start[i]), t.stages[stage][i].start.value * 1e9, 3.0);
    }
  }
}

TEST(TimelinePage, MemoryChangesAddUpToThePeak) {
  const plan p = small_plan();
  const nlohmann::json data = data_of(page_of({p}));
  for (std::size_t stage = 0; stage < 3; ++stage) {
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (const nlohmann::json& change : data["plans"][0]["replicas"][1]["stages"][stage]["memory"])
      peak = std::max(peak, held += change.get<std::int64_t>());
    EXPECT_EQ(static_cast<double>(peak), p.replicas[1].peak_memory[stage]);
  }
}

TEST(TimelinePage, CriticalSecondsAddUpToTheMakespan) {
  const nlohmann::json data = data_of(page_of({small_plan()}));
  for (const nlohmann::json& replica : data["plans"][0]["replicas"]) {
    const nlohmann::json& c = replica["critical"];
    std::int64_t sum = 0;
    for (const char* kind : {"forward", "backward", "messages"}) sum += c[kind].get<std::int64_t>();
    EXPECT_NEAR(static_cast<double>(sum), replica["makespan"].get<double>(), 3.0);
  }
}

//  A run is (stage, first instruction, count); the path of 3 stages comes back to the stage where it began.
TEST(TimelinePage, CriticalRunsFollowThePathThroughTheStages) {
  const plan p = small_plan();
  const nlohmann::json replica = data_of(page_of({p}))["plans"][0]["replicas"][0];
  const nlohmann::json& runs = replica["critical"]["runs"];
  ASSERT_EQ(runs.size() % 3, 0u);
  EXPECT_EQ(runs.front(), 0);
  for (std::size_t k = 3; k < runs.size(); k += 3)
    EXPECT_EQ(std::abs(runs[k].get<int>() - runs[k - 3].get<int>()), 1) << "a message goes to a neighbour";
  const std::size_t end = runs.size() - 3;
  EXPECT_EQ(runs[end], 0);
  EXPECT_EQ(runs[end + 1].get<std::size_t>() + runs[end + 2].get<std::size_t>(), p.replicas[0].programs[0].size());
}

TEST(TimelinePage, WritesEqualStagesOnce) {
  plan p = small_plan();
  const auto columns = [](const plan& x) {
    return data_of(page_of({x}))["plans"][0]["replicas"][0]["passes"][0]["time"]["columns"].size();
  };
  EXPECT_EQ(columns(p), 1u);
  p.replicas[0].forward.time[2] += seconds{1e-3};  // pack 0 on the last stage
  EXPECT_EQ(columns(p), 2u);
}

TEST(TimelinePage, HoldsEverySliceOfEveryPack) {
  const plan p = small_plan();
  const nlohmann::json pass = data_of(page_of({p}))["plans"][0]["replicas"][0]["passes"][1];
  const micropacks& packs = p.replicas[0].partition.backward;
  ASSERT_EQ(pass["counts"].size(), packs.size());
  ASSERT_EQ(pass["slices"].size(), 3 * packs.slices().size());
  EXPECT_EQ(pass["slices"][3], packs.slices()[1].sequence.value);
  EXPECT_EQ(pass["slices"][4], packs.slices()[1].begin.value);
  EXPECT_EQ(pass["slices"][5], packs.slices()[1].length.value);
}

TEST(TimelinePage, TextFromThePlanCannotEndTheScript) {
  plan p = small_plan();
  p.model = "evil</script><script>alert(1)</script><!--";
  p.bounds = {{"<b>&\"'\\\n\x01", {1}}};
  const std::string page = page_of({p});
  EXPECT_EQ(occurrences(page, "</script>"), 2u);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(data_of(page)["plans"][0]["model"], p.model);
  EXPECT_EQ(data_of(page)["plans"][0]["bounds"][0][0], p.bounds[0].name);
}

TEST(TimelinePage, HoldsEveryPlanInTheirOrder) {
  plan second = small_plan(2);
  second.planner = "other";
  const nlohmann::json data = data_of(page_of({small_plan(), second}));
  ASSERT_EQ(data["plans"].size(), 2u);
  EXPECT_EQ(data["plans"][0]["planner"], "sample");
  EXPECT_EQ(data["plans"][1]["planner"], "other");
  EXPECT_EQ(data["plans"][1]["stages"], 2);
  EXPECT_EQ(data["lengths"].size(), 6u);
}

TEST(TimelinePage, LeavesMemoryOutWhenOnlyItsPeaksAreKnown) {
  plan p = small_plan();
  p.memory_unit = memory_unit::byte;
  for (replica_plan& r : p.replicas) r.rates.clear();
  EXPECT_FALSE(data_of(page_of({p}))["plans"][0]["replicas"][0]["stages"][0].contains("memory"));
}

TEST(TimelinePage, NamesTheChunkOfEachInstruction) {
  shape s;
  s.stages = 2;
  plan p = testing::sample_plan({{4000}}, s, {1e-3});
  p.shape.stages = 1;  // the same two parts as chunks of one stage
  p.shape.chunks = 2;
  replica_plan& r = p.replicas[0];
  r.programs.assign(1, {});
  r.rates.resize(1);
  for (const pass direction : {pass::forward, pass::backward})
    for (const std::uint32_t chunk : {0u, 1u})
      for (std::uint32_t i = 0; i < r.partition.of(direction).size(); ++i)
        r.programs[0].push_back({direction, {i}, direction == pass::forward ? chunk : 1 - chunk});
  const nlohmann::json stage = data_of(page_of({p}))["plans"][0]["replicas"][0]["stages"][0];
  ASSERT_EQ(stage["chunks"].size(), r.programs[0].size());
  for (std::size_t i = 0; i < r.programs[0].size(); ++i) EXPECT_EQ(stage["chunks"][i], r.programs[0][i].chunk);
}

TEST(TimelinePage, NeedsAPlan) {
  std::ostringstream out;
  EXPECT_EQ(write_timeline(out, {}).error().code, errc::invalid_input);
  EXPECT_TRUE(out.str().empty());
}

TEST(TimelinePage, RejectsProgramsThatCannotRun) {
  plan p = small_plan();
  std::swap(p.replicas[0].programs[2].front(), p.replicas[0].programs[2].back());
  std::ostringstream out;
  EXPECT_FALSE(write_timeline(out, std::vector{p}));
}

TEST(TimelinePage, ReportsAFailedStream) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(write_timeline(out, std::vector{small_plan()}).error().code, errc::unwritable);
}

}  // namespace
}  // namespace slimpack
