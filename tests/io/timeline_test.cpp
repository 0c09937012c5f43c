#include <slimpack/io/timeline.hpp>

#include "sample_plan.hpp"

#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/io/file.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/spread_vocabulary.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ios>
#include <limits>
#include <ostream>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::timeline_test {

using io::write_timeline;
namespace {

plan small_plan(int stages = 3) {
  shape s;
  s.stages = stages;
  s.replicas = 2;
  return testing::sample_plan({{3000}, {700}, {128}, {5000}, {64}, {900}}, s, {1e-3});
}

/// The same batch in a zero-bubble order, with virtual stages.
plan plan_with_weights() {
  const costs::quadratic cost{.per_pack = {1e-5}, .hop = {1e-3}};
  planner plan_batch{shape{.stages = 3, .replicas = 2, .chunks = 2}, slicers::equal_cost{}, cost, solvers::two_phase{},
                     schedules::zero_bubble{.order = schedules::zero_bubble_order::h2}};
  plan p = plan_batch(small_plan().lengths).value();
  p.planner = "zero bubble";
  return p;
}

/// The same batch with its vocabulary spread over the stages, some of whose calls are as long as packs.
plan plan_with_vocabulary() {
  plan p = small_plan();
  p.planner = "spread";
  p.shape.vocabulary = vocabulary::spread;
  p.step_time = {};
  const costs::with_vocabulary<costs::quadratic> cost{{.per_pack = {6.4e-5}, .hop = {2.4e-5}},
                                                      {.embed = {1e-4},
                                                       .output = {5e-4, 1e-7},
                                                       .output_weights = {3e-4},
                                                       .embed_gradients = {1e-4},
                                                       .embedded = {2e-5},
                                                       .hidden = {3e-5},
                                                       .partial = {4e-5},
                                                       .statistics = {1e-5},
                                                       .gradients = {2e-5}}};
  for (replica_plan& r : p.replicas) {
    workload work = price(r.partition, cost, p.shape, r.rates);
    const std::uint32_t only = 0;
    r.programs = schedules::spread_vocabulary(std::span(&only, 1), std::span(&work, 1), std::span(&r.programs, 1), {})
                     .value()
                     .front();
    r.peak_memory = simulators::peak_memory(work, r.programs);
    r.makespan = simulators::simulate(work, r.programs).value().makespan;
    r.times = work.times;
    p.step_time = std::max(p.step_time, r.makespan);
  }
  return p;
}

std::string page_of(const std::vector<plan>& plans, const std::vector<std::vector<step_report>>& measured = {}) {
  std::ostringstream out;
  write_timeline(out, plans, measured).value();
  return out.str();
}

/// A step as it would run if each instruction took `factor()` times as long as predicted, messages and waits simulated;
/// its reduction ends on all ranks at once.
template <class Factor>
std::vector<step_report> run_of(plan p, Factor factor, seconds reduce = {}) {
  std::vector<step_report> ranks;
  seconds end{};
  for (std::size_t r = 0; r < p.replicas.size(); ++r) {
    for (std::vector<seconds>* times :
         {&p.replicas[r].times.calls[pass::forward], &p.replicas[r].times.calls[pass::backward],
          &p.replicas[r].times.calls[instruction_kind::weights]})
      for (seconds& t : *times) t = t * factor();
    const simulators::timeline t = simulators::simulate(simulators::workload_of(p, r), p.replicas[r].programs).value();
    for (std::size_t stage = 0; stage < t.stages.size(); ++stage) {
      step_report report;
      report.timeline = t.stages[stage];
      report.elapsed = t.stages[stage].back().end;
      report.peak_tokens.value = static_cast<std::int64_t>(p.replicas[r].peak_memory[stage]);
      end = std::max(end, report.elapsed);
      ranks.push_back(std::move(report));
    }
  }
  for (step_report& report : ranks) {
    report.step = end + reduce;
    report.reduce = report.step - report.elapsed;
  }
  return ranks;
}

/// Instructions about `bias` times as long as predicted, one in twenty much longer.
std::vector<step_report> noisy_run(const plan& p, unsigned seed, double bias = 1.02, seconds reduce = {}) {
  std::mt19937 random(seed);
  std::normal_distribution<double> near(bias, 0.06);
  std::bernoulli_distribution far(0.05);
  return run_of(
      p, [&] { return std::max(0.2, near(random)) * (far(random) ? 1.8 : 1.0); }, reduce);
}

std::vector<step_report> run_as_predicted(const plan& p) {
  return run_of(p, [] { return 1.0; });
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
    const workload work = simulators::workload_of(p, r);
    const simulators::timeline t = simulators::simulate(work, p.replicas[r].programs).value();
    for (std::size_t stage = 0; stage < t.stages.size(); ++stage) {
      const std::vector<std::int64_t> start = unpacked(data["plans"][0]["replicas"][r], stage);
      ASSERT_EQ(start.size(), t.stages[stage].size());
      for (std::size_t i = 0; i < start.size(); ++i)  // within the two nanoseconds that writing may round
        EXPECT_NEAR(static_cast<double>(start[i]), t.stages[stage][i].begin.value * 1e9, 3.0);
    }
  }
}

TEST(TimelinePage, HasTheCallsOfASpreadVocabulary) {
  const plan p = plan_with_vocabulary();
  const nlohmann::json data = data_of(page_of({p}))["plans"][0];
  EXPECT_EQ(data["vocabulary"], "spread");
  EXPECT_FALSE(data_of(page_of({small_plan()}))["plans"][0].contains("vocabulary"));
  const nlohmann::json& replica = data["replicas"][1];
  for (const time_column c : time_columns) {
    if (c.each() == places::parts) continue;
    const nlohmann::json& table = replica["vocabulary"][c.name()];
    for (std::size_t stage = 0; stage < 3; ++stage) {
      const nlohmann::json& times = table["columns"][table["of"][stage].get<std::size_t>()];
      const double first = p.replicas[1].times[c][stage].value * 1e9;
      EXPECT_EQ(times[0].get<std::int64_t>(), std::llround(first)) << c.name() << ", stage " << stage;
    }
  }
  std::string letters;
  for (const instruction& i : p.replicas[1].programs[2]) letters += letter_of(i);
  EXPECT_EQ(replica["stages"][2]["code"], letters);
  for (const char kind : {'E', 'V', 'U', 'G'}) EXPECT_NE(letters.find(kind), std::string::npos) << kind;
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
  p.replicas[0].times.calls[pass::forward][2] += seconds{1e-3};  // pack 0 on the last stage
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
        r.programs[0].push_back({pass_kind(direction), {i}, direction == pass::forward ? chunk : 1 - chunk});
  const nlohmann::json stage = data_of(page_of({p}))["plans"][0]["replicas"][0]["stages"][0];
  ASSERT_EQ(stage["chunks"].size(), r.programs[0].size());
  for (std::size_t i = 0; i < r.programs[0].size(); ++i) EXPECT_EQ(stage["chunks"][i], r.programs[0][i].chunk);
}

TEST(TimelinePage, HoldsEveryMeasuredInstant) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const plan p = small_plan();
    const std::vector<step_report> run = noisy_run(p, seed);
    const nlohmann::json ranks = data_of(page_of({p}, {run}))["plans"][0]["measured"]["ranks"];
    ASSERT_EQ(ranks.size(), run.size());
    for (std::size_t rank = 0; rank < run.size(); ++rank) {
      const nlohmann::json& steps = ranks[rank]["run"];
      ASSERT_EQ(steps.size(), 2 * run[rank].timeline.size());
      std::int64_t t = 0;
      for (std::size_t i = 0; i < run[rank].timeline.size(); ++i) {
        const timed_instruction& measured = run[rank].timeline[i];
        ASSERT_NEAR(static_cast<double>(t += steps[2 * i].get<std::int64_t>()), measured.begin.value * 1e9, 0.5);
        ASSERT_NEAR(static_cast<double>(t += steps[2 * i + 1].get<std::int64_t>()), measured.end.value * 1e9, 0.5);
      }
    }
  }
}

TEST(TimelinePage, AStepThatRanAsPredictedHasThePredictedFigures) {
  const plan p = small_plan();
  const nlohmann::json measured = data_of(page_of({p}, {run_as_predicted(p)}))["plans"][0]["measured"];
  EXPECT_NEAR(measured["step"].get<double>(), p.step_time.value * 1e9, 0.5);
  EXPECT_NEAR(measured["bubble"].get<double>(), p.bubble, 1e-12);
  EXPECT_NEAR(measured["off"].get<double>(), 0, 1e-9);  // ends less starts: rounding of instants up to 0.1 s
}

//  the same instructions in a step of twice the length: useful share (1 - b) / 2, so bubble 1 - (1 - b) / 2
TEST(TimelinePage, AnIdleHalfOfTheStepIsMeasuredAsBubble) {
  const plan p = small_plan();
  std::vector<step_report> run = run_as_predicted(p);
  for (step_report& report : run) report.step = 2 * p.step_time;
  const nlohmann::json measured = data_of(page_of({p}, {run}))["plans"][0]["measured"];
  EXPECT_NEAR(measured["bubble"].get<double>(), 1 - (1 - p.bubble) / 2, 1e-12);
}

//  instruction k of n takes 1 + k / 1000 times its predicted time: the middle of 0, 0.001, ..., (n - 1) / 1000
TEST(TimelinePage, TellsTheMedianErrorOfInstructions) {
  for (const int stages : {1, 2, 3}) {
    const plan p = small_plan(stages);
    std::vector<step_report> run = run_as_predicted(p);
    std::size_t k = 0;
    seconds end{};
    for (step_report& report : run) {
      seconds free{};
      for (timed_instruction& t : report.timeline) {
        const seconds predicted = t.end - t.begin;
        t.begin = free;
        t.end = free = t.begin + predicted * (1 + static_cast<double>(k++) / 1000);
      }
      end = std::max(end, free);
    }
    for (step_report& report : run) report.step = end;
    const nlohmann::json measured = data_of(page_of({p}, {run}))["plans"][0]["measured"];
    EXPECT_NEAR(measured["off"].get<double>(), static_cast<double>(k - 1) / 2000, 1e-9) << k << " instructions";
  }
}

TEST(TimelinePage, AReductionBeginsWhenTheSlowestReplicaOfTheStageIsDone) {
  const plan p = small_plan();
  std::vector<step_report> run = noisy_run(p, 1, 1.0, {3e-3});
  const nlohmann::json ranks = data_of(page_of({p}, {run}))["plans"][0]["measured"]["ranks"];
  for (std::size_t rank = 0; rank < run.size(); ++rank) {
    const seconds slowest = std::max(run[rank].elapsed, run[(rank + 3) % 6].elapsed);
    EXPECT_NEAR(ranks[rank]["reduce"][0].get<double>(), slowest.value * 1e9, 0.5);
    EXPECT_NEAR(ranks[rank]["reduce"][1].get<double>(), run[rank].step.value * 1e9, 0.5);
  }
}

TEST(TimelinePage, HoldsTheMeasuredPeakOfEveryRank) {
  const plan p = small_plan();
  std::vector<step_report> run = run_as_predicted(p);
  for (std::size_t rank = 0; rank < run.size(); ++rank)
    run[rank].peak_tokens.value = 4321 + static_cast<std::int64_t>(rank);
  const nlohmann::json ranks = data_of(page_of({p}, {run}))["plans"][0]["measured"]["ranks"];
  for (std::size_t rank = 0; rank < run.size(); ++rank) EXPECT_EQ(ranks[rank]["peak"], 4321 + rank);
}

TEST(TimelinePage, GivesAMeasuredStepToItsPlanOnly) {
  const plan second = small_plan(2);
  const nlohmann::json data = data_of(page_of({small_plan(), second}, {{}, noisy_run(second, 2)}));
  EXPECT_FALSE(data["plans"][0].contains("measured"));
  EXPECT_EQ(data["plans"][1]["measured"]["ranks"].size(), 4u);
}

TEST(TimelinePage, RefusesAMeasuredStepThatIsNotOneOfItsPlan) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<const char*, std::function<void(std::vector<step_report>&)>>> wrong{
      {"a report of each of the plan's 6 ranks, got 5", [](auto& run) { run.pop_back(); }},
      {"stage 1 of replica 0 reports", [](auto& run) { run[1].timeline.pop_back(); }},
      {"stage 0 of replica 1 reports another instruction",
       [](auto& run) { std::swap(run[3].timeline.front().instruction, run[3].timeline.back().instruction); }},
      {"stage 2 of replica 1 reports instruction 1 from", [](auto& run) { run[5].timeline[1].begin = {-1e-3}; }},
      {"stage 2 of replica 0 reports instruction 0 from", [](auto& run) { run[2].timeline[0].end = {none}; }},
      {"the end of the step, 0.000001 s", [](auto& run) { run[0].step = {1e-6}; }},
  };
  const plan p = small_plan();
  for (const auto& [words, spoil] : wrong) {
    std::vector<std::vector<step_report>> measured{run_as_predicted(p)};
    spoil(measured[0]);
    std::ostringstream out;
    const result<void> written = write_timeline(out, std::vector{p}, measured);
    ASSERT_FALSE(written) << words;
    EXPECT_EQ(written.error().code, errc::invalid_input);
    EXPECT_NE(written.error().detail.find(words), std::string::npos) << written.error().detail;
    EXPECT_TRUE(out.str().empty());
  }
}

TEST(TimelinePage, NeedsAPlanForEveryMeasuredStep) {
  const plan p = small_plan();
  std::ostringstream out;
  EXPECT_EQ(write_timeline(out, std::vector{p}, std::vector{run_as_predicted(p), run_as_predicted(p)}).error().code,
            errc::invalid_input);
}

/// The page that timeline_page_test.py opens in a browser: a plan with a measured step, one without, and one with
/// weight gradients apart, measured as well.
TEST(MeasuredTimelinePage, IsWrittenForTheBrowser) {
  const char* path = std::getenv("SLIMPACK_MEASURED_PAGE");
  if (path == nullptr) GTEST_SKIP() << "SLIMPACK_MEASURED_PAGE names no file";
  plan p = small_plan();
  p.reduce_time = {1e-3};
  p.step_time += p.reduce_time;
  plan other = small_plan(2);
  other.planner = "other";
  const plan apart = plan_with_weights();
  const plan words = plan_with_vocabulary();
  const std::vector plans{p, other, apart, words};
  const std::vector<std::vector<step_report>> measured{noisy_run(p, 3, 1.03, {2e-3}), {}, noisy_run(apart, 4), {}};
  ASSERT_TRUE(io::write_file(path, [&](std::ostream& out) { return write_timeline(out, plans, measured); }));
}

/// A sequence that two replicas share: one is most of the batch.
plan plan_with_sharers() {
  const planner plan_batch{shape{.stages = 2, .replicas = 2}, slicers::equal_cost{},
                           costs::quadratic{.per_pack = {6.4e-5}, .hop = {2.4e-5}}};
  return plan_batch(std::vector<tokens>{{20000}, {700}, {128}, {900}}).value();
}

TEST(TimelinePage, HasTheRowsOfSharedSequences) {
  const plan p = plan_with_sharers();
  ASSERT_EQ(p.merges.size(), 1u);
  const nlohmann::json rows = data_of(page_of({p}))["plans"][0]["merges"][0]["rows"];
  for (const pass d : both_passes) {
    const nlohmann::json& of_pass = rows[d == pass::forward ? 0 : 1];
    ASSERT_EQ(of_pass.size(), p.merges[0].of(d).size());
    for (std::size_t row = 0; row < of_pass.size(); ++row)
      for (std::size_t k = 0; k < p.merges[0].replicas.size(); ++k) {
        const pack_id pack = p.merges[0].of(d)[row][k];
        EXPECT_EQ(of_pass[row][k].get<std::int64_t>(), pack == merge::none ? -1 : std::int64_t{pack.value});
      }
  }
}

// Pages that timeline_page_test.py opens, too: one with a shared sequence, one with 24,000 packs.
TEST(SharedTimelinePage, IsWrittenForTheBrowser) {
  const char* path = std::getenv("SLIMPACK_SHARED_PAGE");
  if (path == nullptr) GTEST_SKIP() << "SLIMPACK_SHARED_PAGE names no file";
  ASSERT_TRUE(
      io::write_file(path, [&](std::ostream& out) { return write_timeline(out, std::vector{plan_with_sharers()}); }));
}
TEST(LargeTimelinePage, IsWrittenForTheBrowser) {
  const char* path = std::getenv("SLIMPACK_LARGE_PAGE");
  if (path == nullptr) GTEST_SKIP() << "SLIMPACK_LARGE_PAGE names no file";
  const planner each_alone{shape{.stages = 4}, slicers::whole{}, costs::quadratic{.hop = {1e-4}},
                           solvers::megatron{{1000}}, schedules::one_f_one_b{}};
  const plan p = each_alone(std::vector<tokens>(12000, tokens{1000})).value();
  ASSERT_EQ(p.replicas[0].partition.forward.size() + p.replicas[0].partition.backward.size(), 24000u);
  ASSERT_TRUE(io::write_file(path, [&](std::ostream& out) { return write_timeline(out, std::vector{p}); }));
}

TEST(TimelinePage, HoldsWhatTheCallerKnows) {
  const std::vector plans{small_plan(), small_plan(2)};
  io::page_facts facts{.prices = "prices were 7.1 % too fast"};
  facts.plans = {{},
                 {.label = "rival", .settings = "packs of 8,192 tokens", .speed_up = {{0.9, 1.25}}, .as_fast = true}};
  std::ostringstream out;
  write_timeline(out, plans, {}, {}, simulators::sweep{}, facts).value();
  const nlohmann::json known = data_of(out.str())["facts"];
  EXPECT_EQ(known["prices"], facts.prices);
  ASSERT_EQ(known["plans"].size(), 2u);
  EXPECT_EQ(known["plans"][0]["label"], "");
  EXPECT_FALSE(known["plans"][0].contains("speedUp"));
  const nlohmann::json rival{
      {"label", "rival"}, {"settings", "packs of 8,192 tokens"}, {"asFast", true}, {"speedUp", {0.9, 1.25}}};
  EXPECT_EQ(known["plans"][1], rival);
  EXPECT_TRUE(data_of(page_of(plans))["facts"]["plans"].empty());
}

TEST(TimelinePage, RefusesFactsThatAreNotThoseOfItsPlans) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  constexpr double endless = std::numeric_limits<double>::infinity();
  const auto refused = [](const std::vector<plan>& plans, const io::page_facts& facts) {
    std::ostringstream out;
    const result<void> written = write_timeline(out, plans, {}, {}, simulators::sweep{}, facts);
    EXPECT_TRUE(out.str().empty());
    return written ? std::string{} : written.error().detail;
  };
  EXPECT_EQ(refused({small_plan(), small_plan(2)}, {.plans = {{}}}),
            "page_facts of 1 plans for a page of 2; give one for each plan, or none");
  for (const auto& [low, high] : {std::pair{0.0, 1.0}, {2.0, 1.0}, {none, 1.0}, {1.0, none}, {1.0, endless}})
    EXPECT_EQ(refused({small_plan()}, {.plans = {{.speed_up = {{low, high}}}}})
                  .rfind("page_facts of plan 0: a speed-up between", 0),
              0u);
}

TEST(TimelinePage, SaysWhatBackwardComputesAgain) {
  plan p = small_plan();
  EXPECT_FALSE(data_of(page_of({p}))["plans"][0].contains("recompute"));
  p.origin.emplace().planning = {{"planner", "slimpack"}, {"recompute", "selective"}};
  EXPECT_EQ(data_of(page_of({p}))["plans"][0]["recompute"], "selective");
}

// A page of 64 lanes, which timeline_page_test.py opens, too. The first plan's rivals are: itself with another
// recompute, one that prices cannot tell from it, one that does not fit, and a slow one.
TEST(ManyTimelinePage, IsWrittenForTheBrowser) {
  const char* path = std::getenv("SLIMPACK_MANY_PAGE");
  if (path == nullptr) GTEST_SKIP() << "SLIMPACK_MANY_PAGE names no file";
  std::mt19937 random(7);
  std::vector<tokens> lengths;
  for (int k = 0; k < 400; ++k) lengths.push_back({64 * std::uniform_int_distribution<std::int64_t>(1, 200)(random)});
  const shape s{.stages = 8, .replicas = 8};
  plan first = testing::sample_plan(lengths, s, {4e-3});
  first.planner = "slimpack";
  const auto peak = [](const plan& p) {
    double most = 0;
    for (const replica_plan& r : p.replicas)
      most = std::max(most, *std::max_element(r.peak_memory.begin(), r.peak_memory.end()));
    return most;
  };
  first.shape.memory = memory_limit{.amount = 1.06 * peak(first)};
  first.origin.emplace().planning = {{"recompute", "selective"}};
  plan again = first;
  again.origin->planning.front().second = "full";
  again.step_time = 1.2 * first.step_time;
  plan rival = first;
  rival.planner = "chunked";
  rival.step_time = 1.05 * first.step_time;
  plan larger = first;  // faster than the rival, but it does not fit
  larger.planner = "megatron";
  larger.step_time = 1.02 * first.step_time;
  larger.shape.memory.reset();
  for (replica_plan& r : larger.replicas) r.peak_memory.front() = 1.5 * first.shape.memory->amount;
  plan slow = first;
  slow.planner = "dp_balanced";
  slow.step_time = 2.2 * first.step_time;
  io::page_facts facts{.prices = "on 1 published training prices were 7.1 % too fast"};
  facts.plans = {{},
                 {},
                 {.settings = "packs of 8,192 tokens, recompute full", .speed_up = {{0.97, 1.13}}, .as_fast = true},
                 {},
                 {}};
  ASSERT_TRUE(io::write_file(path, [&](std::ostream& out) {
    return write_timeline(out, std::vector{first, again, rival, larger, slow}, {}, {}, simulators::sweep{}, facts);
  }));
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
}  // namespace slimpack::timeline_test
