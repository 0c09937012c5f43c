#include <slimpack/core/soundness/completed_times.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/simulators/sweep.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace plan_json_test {
namespace {

using namespace slimpack;
using namespace slimpack::io;
using json = nlohmann::ordered_json;

/// Numbers without a short decimal form, so that a reader or writer that rounds is found out.
seconds awkward(std::size_t i) { return {0.1 / (3.0 + static_cast<double>(i))}; }

/// Two replicas, each of two sequences, 300 and 1000 tokens, forward in three packs and backward in two.
/// Times and messages are made up: a plan file says what was planned, and does not judge it. Its programs can be run.
plan sample(int stages, int chunks, bool uneven_messages) {
  plan p;
  p.truncated = true;
  p.planner = "slim\"pack\"\n";
  p.cost = "quadratic:1e-6,4e-11,2,2.5,6e-5";
  p.model = "模型";
  p.gpu = "<h100>";
  p.lengths = {{300}, {1000}, {300}, {1000}};
  p.shape = {.stages = stages,
             .replicas = 2,
             .tensor = 4,
             .context = 2,
             .chunks = chunks,
             .quantum = {64},
             .memory = memory_limit{memory_unit::token, 1e22 / 3}};
  const auto parts = static_cast<std::size_t>(p.shape.parts());
  replica_plan r;
  r.sequences = {{1}, {0}};
  const auto add = [](micropacks& packs, std::vector<std::int64_t>& before, std::vector<slice> slices) {
    if (before.empty()) before.push_back(0);
    before.push_back(before.back() + size_of(slices).value);
    for (const slice& s : slices) packs.push(s);
    packs.close();
  };
  add(r.partition.forward, r.times.before.forward, {{{1}, {0}, {512}}});
  add(r.partition.forward, r.times.before.forward, {{{1}, {512}, {488}}, {{0}, {0}, {64}}});
  add(r.partition.forward, r.times.before.forward, {{{0}, {64}, {236}}});
  add(r.partition.backward, r.times.before.backward, {{{1}, {256}, {744}}, {{0}, {0}, {300}}});
  add(r.partition.backward, r.times.before.backward, {{{1}, {0}, {256}}});
  for (const pass direction : {pass::forward, pass::backward}) {
    for (std::size_t i = 0; i < r.times.packs(direction) * parts; ++i) {
      r.times.calls[direction].push_back(awkward(i));
      const bool last = i % parts == (direction == pass::forward ? parts - 1 : 0);
      r.times.messages[direction].push_back(last              ? seconds{}
                                            : uneven_messages ? awkward(i + 7)
                                                              : awkward(i / parts + 7));
    }
  }
  r.programs.resize(static_cast<std::size_t>(stages));
  for (program& stage : r.programs) {
    const auto count = static_cast<std::uint32_t>(chunks);
    for (std::uint32_t chunk = 0; chunk < count; ++chunk)
      stage.insert(stage.end(), {{instruction_kind::forward, {0}, chunk},
                                 {instruction_kind::forward, {1}, chunk},
                                 {instruction_kind::forward, {2}, chunk}});
    for (std::uint32_t chunk = count; chunk-- > 0;)
      stage.insert(stage.end(), {{instruction_kind::backward, {0}, chunk}, {instruction_kind::backward, {1}, chunk}});
  }
  r.peak_memory.assign(static_cast<std::size_t>(stages), 1300);
  r.peak_memory.back() = 1e22 / 3;
  r.makespan = {1e-9 / 7};
  r.lower_bound = {1.0 / 3};
  p.replicas = {r, r};
  p.replicas[1].sequences = {{3}, {2}};
  for (const pass direction : {pass::forward, pass::backward}) {
    micropacks& packs = p.replicas[1].partition.of(direction) = {};
    for (std::size_t i = 0; i < r.partition.of(direction).size(); ++i) {
      for (slice s : r.partition.of(direction)[i]) s.sequence.value += 2, packs.append(s);
      packs.close();
    }
  }
  p.reduce_time = {0.1 + 0.2};
  p.step_time = {123456789.123456789};
  p.bounds = {{"work", {2.0 / 3}}, {"chain", {5e-324}}, {"area", {0}}};  // not in alphabetical order
  p.lower_bound = {2.0 / 3};
  p.efficiency = -0.0;  // equal to 0, but hashed as what it is
  p.bubble = -1e-17;
  p.planning_time = {0.012345678901234567};
  p.hash = hash_of(p);
  return p;
}

using rows_of = std::vector<std::vector<int>>;  // by row and replica: whether it has 64 tokens of the row

/// A sequence that replicas share, on two stages. Times are left out.
plan shared_sample(const rows_of& has, exchange how) {
  plan p;
  const auto replicas = static_cast<std::uint32_t>(has[0].size());
  p.shape = {.stages = 2, .replicas = static_cast<int>(replicas), .quantum = {64}};
  p.replicas.resize(replicas);
  merge m{{0}, {}, {}, {}, how};
  tokens length{};
  std::vector<std::vector<tokens>> begin;  // by row and replica
  for (const std::vector<int>& row : has) {
    begin.emplace_back();
    for (const int one : row) begin.back().push_back(length), length += tokens{64 * one};
  }
  p.lengths = {length};
  for (const pass direction : {pass::forward, pass::backward})
    for (std::size_t k = 0; k < has.size(); ++k) {
      const std::size_t row = direction == pass::forward ? k : has.size() - 1 - k;
      std::vector<pack_id>& packs = m.of(direction).emplace_back();
      for (std::uint32_t r = 0; r < replicas; ++r) {
        micropacks& own = p.replicas[r].partition.of(direction);
        packs.push_back(has[row][r] != 0 ? pack_id{static_cast<std::uint32_t>(own.size())} : merge::none);
        if (has[row][r] == 0) continue;
        own.append({{0}, begin[row][r], {64}});
        own.close();
      }
    }
  for (std::uint32_t r = 0; r < replicas; ++r) {
    m.replicas.push_back(r);
    replica_plan& one = p.replicas[r];
    one.sequences = {{0}};
    one.programs.resize(2);
    one.peak_memory.resize(2);
    one.times = completed({}, one.partition, p.shape, r).value();
    for (const pass direction : {pass::forward, pass::backward})
      for (std::uint32_t i = 0; i < one.partition.of(direction).size(); ++i)
        for (program& code : one.programs) code.push_back({pass_kind(direction), {i}});
  }
  p.merges = {m};
  p.hash = hash_of(p);
  return p;
}

/// The begin of what a reader says of a plan that cannot be run.
const std::string unsound = "replicas is an array, expected replicas whose stages can run what they have: ";

std::string written(const plan& p) {
  std::ostringstream out;
  write_plan(out, p).value();
  return out.str();
}

plan reread(const plan& p) {
  std::istringstream in(written(p));
  return read_plan(in).value();
}

void expect_equal(const plan& a, const plan& b) {
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(hash_of(a), hash_of(b));
  EXPECT_EQ(a.truncated, b.truncated);
  EXPECT_EQ(std::tie(a.planner, a.cost, a.model, a.gpu), std::tie(b.planner, b.cost, b.model, b.gpu));
  EXPECT_EQ(a.lengths, b.lengths);
  EXPECT_EQ(a.shape, b.shape);
  ASSERT_EQ(a.replicas.size(), b.replicas.size());
  for (std::size_t i = 0; i < a.replicas.size(); ++i) {
    const replica_plan& r = a.replicas[i];
    const replica_plan& s = b.replicas[i];
    EXPECT_EQ(r.sequences, s.sequences);
    EXPECT_EQ(r.partition, s.partition);
    EXPECT_EQ(r.times, s.times);
    EXPECT_EQ(r.programs, s.programs);
    EXPECT_EQ(r.peak_memory, s.peak_memory);
    EXPECT_EQ(r.makespan, s.makespan);
    EXPECT_EQ(r.lower_bound, s.lower_bound);
  }
  EXPECT_EQ(a.bounds, b.bounds);
  EXPECT_EQ(std::tie(a.reduce_time, a.step_time, a.lower_bound, a.efficiency, a.bubble, a.planning_time),
            std::tie(b.reduce_time, b.step_time, b.lower_bound, b.efficiency, b.bubble, b.planning_time));
  EXPECT_EQ(a.memory_unit, b.memory_unit);
}

/// What read_plan says of the sample's file after a change to its document.
template <class Change>
std::string refusal(Change change) {
  json document = json::parse(written(sample(2, 1, false)));
  change(document);
  const scratch s;
  const auto file = s.file("plan.json", document.dump());
  return complaint(read_plan(file), file, errc::invalid_input);
}

TEST(PlanJson, ReadsBackExactly) {
  for (const bool uneven : {false, true}) {
    const plan p = sample(4, 1, uneven);
    expect_equal(reread(p), p);
  }
}

TEST(PlanJson, OfOneStageReadsBackExactly) {
  const plan p = sample(1, 1, false);
  expect_equal(reread(p), p);
}

TEST(PlanJson, OfVirtualStagesReadsBackExactly) {
  for (const bool uneven : {false, true}) {
    const plan p = sample(2, 3, uneven);
    expect_equal(reread(p), p);
  }
}

TEST(PlanJson, WithoutAMemoryLimitReadsBackExactly) {
  plan p = sample(2, 1, false);
  p.shape.memory.reset();
  p.memory_unit = memory_unit::byte;
  p.hash = hash_of(p);
  expect_equal(reread(p), p);
}

TEST(PlanJson, OfPiecesReadsBackExactly) {
  plan p = sample(2, 1, false);
  for (replica_plan& r : p.replicas) r.partition = common_refinement(r.partition);
  ASSERT_EQ(p.replicas[0].partition.forward[0].size(), 2u) << "two pieces that touch, in one pack";
  p.hash = hash_of(p);
  expect_equal(reread(p), p);
}

/// The sample with the weight gradients of its second backward pack apart.
plan split_sample(int stages, int chunks) {
  plan p = sample(stages, chunks, false);
  const auto parts = static_cast<std::size_t>(p.shape.parts());
  for (replica_plan& r : p.replicas) {
    r.times.apart.flags = {0, 1};
    r.times.calls[instruction_kind::weights].resize(2 * parts);
    for (std::size_t part = 0; part < parts; ++part)
      r.times.calls[instruction_kind::weights][parts + part] = awkward(part + 3);
    for (program& stage : r.programs)
      for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(chunks); ++chunk)
        stage.push_back({instruction_kind::weights, {1}, chunk});
  }
  p.hash = hash_of(p);
  return p;
}

TEST(PlanJson, OfWeightGradientsApartReadsBackExactly) {
  for (const int chunks : {1, 3}) expect_equal(reread(split_sample(2, chunks)), split_sample(2, chunks));
}

TEST(PlanJson, NamesWeightGradientsAndTheirTimes) {
  const json replica = json::parse(written(split_sample(2, 1)))["replicas"][0];
  EXPECT_FALSE(replica["backward"][0].contains("weight_time"));
  EXPECT_EQ(replica["backward"][1]["weight_time"], json({awkward(3).value, awkward(4).value}));
  EXPECT_EQ(replica["programs"][0].back(), "W1");
}

TEST(PlanJson, OfWeightGradientsHasAHashOfItsOwn) {
  plan p = split_sample(2, 1);
  const std::uint64_t hash = hash_of(p);
  p.replicas[0].programs[0].back().kind = instruction_kind::backward;
  EXPECT_NE(hash_of(p), hash);
  p = split_sample(2, 1);
  p.replicas[0].times.calls[instruction_kind::weights].back() += seconds{1e-9};
  EXPECT_NE(hash_of(p), hash);
}

TEST(PlanJson, HasTheFieldsOfItsFormatInOrder) {
  const json document = json::parse(written(sample(2, 1, false)));
  const auto keys = [](const json& object) {
    std::vector<std::string> names;
    for (const auto& member : object.items()) names.push_back(member.key());
    return names;
  };
  EXPECT_EQ(keys(document),
            (std::vector<std::string>{"format",     "hash",        "truncated",   "planner",      "cost",
                                      "model",      "gpu",         "lengths",     "stages",       "dp",
                                      "tp",         "cp",          "vpp",         "quantum",      "replicas",
                                      "merges",     "reduce_time", "step_time",   "bounds",       "lower_bound",
                                      "efficiency", "bubble",      "memory_unit", "memory_limit", "planning_seconds"}));
  EXPECT_EQ(keys(document["replicas"][0]),
            (std::vector<std::string>{"sequences", "forward", "backward", "message", "programs", "peak_memory",
                                      "makespan", "lower_bound"}));
  EXPECT_EQ(document["format"], "slimpack-plan/1");
  EXPECT_EQ(document["replicas"][0]["forward"][1]["slices"], json::parse("[[1,512,488],[0,0,64]]"));
  EXPECT_EQ(document["replicas"][0]["programs"][0], json::parse(R"(["F0","F1","F2","B0","B1"])"));
}

TEST(PlanJson, NamesTheChunkWithVirtualStagesAndNestsTimesByStage) {
  const json document = json::parse(written(sample(2, 2, false)));
  EXPECT_EQ(document["replicas"][0]["programs"][1],
            json::parse(R"(["F0.0","F1.0","F2.0","F0.1","F1.1","F2.1","B0.1","B1.1","B0.0","B1.0"])"));
  // Part c * P + r is chunk c of stage r: parts 0 and 2 are stage 0's.
  const json expected{{awkward(0).value, awkward(2).value}, {awkward(1).value, awkward(3).value}};
  EXPECT_EQ(document["replicas"][0]["forward"][0]["time"], expected);
}

TEST(PlanJson, ListsMessagesByBoundaryOnlyWhereTheyDiffer) {
  const json even = json::parse(written(sample(3, 1, false)))["replicas"][0]["message"];
  EXPECT_EQ(even["backward"], (json{awkward(7).value, awkward(8).value}));
  // Forward, parts 0 and 1 of a pack send; backward, parts 1 and 2, to boundaries 0 and 1.
  const json uneven = json::parse(written(sample(3, 1, true)))["replicas"][0]["message"];
  EXPECT_EQ(uneven["forward"][0], (json{awkward(7).value, awkward(8).value}));
  EXPECT_EQ(uneven["backward"][0], (json{awkward(8).value, awkward(9).value}));
}

TEST(PlanJson, HashIsSixteenDigitsWithLeadingZeros) {
  plan p = sample(1, 1, false);
  p.hash = 0xbeef;
  EXPECT_NE(written(p).find("\"hash\":\"000000000000beef\""), std::string::npos);
}

TEST(PlanJson, ThatWasChangedIsRefused) {
  const std::string said = refusal([](json& d) { d["replicas"][0]["forward"][0]["time"][1] = 0.5; });
  EXPECT_EQ(said.substr(0, 9), "hash is \"");
  EXPECT_NE(said.find("the hash of what the file holds: it was changed"), std::string::npos);
}

TEST(PlanJson, MayBePlannedInAnotherTime) {
  EXPECT_EQ(refusal([](json& d) { d["planning_seconds"] = 7, d["truncated"] = false; }), "no error");
}

// Who simulated it is told to people alone: a plan is the same whoever did.
TEST(PlanJson, IsTheSameBytesWhoeverSimulated) {
  const std::vector<tokens> lengths{{40000}, {512}, {3000}, {700}, {9000}, {128}};
  const shape on{.stages = 3, .replicas = 2};
  plan with_boost = planner{on}(lengths).value();
  plan with_sweep = basic_planner{on, {}, {}, {}, {}, simulators::sweep{}}(lengths).value();
  with_boost.planning_time = with_sweep.planning_time = {};
  ASSERT_NE(with_boost.simulator, with_sweep.simulator);
  EXPECT_EQ(written(with_boost), written(with_sweep));
}

TEST(PlanJson, IsRefusedWithThePlaceThatIsWrong) {
  EXPECT_EQ(refusal([](json& d) { d["format"] = "slimpack-plan/3"; }),
            "format is \"slimpack-plan/3\", expected \"slimpack-plan/1\" or \"slimpack-plan/2\"");
  EXPECT_EQ(refusal([](json& d) { d["format"] = "slimpack-plan/2"; }), "lacks the key \"transfers\"");
  EXPECT_EQ(refusal([](json& d) { d["format"] = "slimpack-plan/2", d["transfers"] = "any"; }),
            "transfers is \"any\", expected \"start\", the rule that orders them");
  EXPECT_EQ(refusal([](json& d) { d.erase("bubble"); }), "lacks the key \"bubble\"");
  EXPECT_EQ(refusal([](json& d) { d["hash"] = "123"; }), "hash is \"123\", expected 16 hexadecimal digits");
  EXPECT_EQ(refusal([](json& d) { d["lengths"][1] = 0; }),
            "lengths[1] is 0, expected a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal([](json& d) { d["stages"] = 3; }),
            "replicas[0].forward[0].time has size 2, expected 3, one per stage");
  EXPECT_EQ(refusal([](json& d) { d["dp"] = 3; }), "replicas has size 2, expected 3, one per data-parallel rank");
  EXPECT_EQ(refusal([](json& d) { d["vpp"] = 2; }),
            "replicas[0].forward[0].time[0] is 0.03333333333333333, expected an "
            "array");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][1]["backward"][0]["slices"][0][0] = 4; }),
            "replicas[1].backward[0].slices[0][0] is 4, expected a whole number from 0 to 3");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][1]["backward"][0]["slices"][0][2] = 745; }),
            "replicas[1].backward[0].slices[0][2] is 745, expected a whole number from 1 to 744");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][0]["forward"][0]["slices"] = json::array(); }),
            "replicas[0].forward[0].slices is an array, expected at least one slice");
  EXPECT_EQ(refusal([](json& d) {
              d["replicas"][0]["forward"][0]["weight_time"] = json{1, 1};
            }),
            "replicas[0].forward[0].weight_time is not a known key");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][0]["message"]["forward"].erase(0); }),
            "replicas[0].message.forward has size 2, expected 3, one per pack");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][1]["forward"][0]["time"][0] = 1e13; }),
            "replicas[1] is an object, expected times that its packs can have: replica 1 has a time of forward calls "
            "that is not from 0 to 1e12 s");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][0]["programs"].erase(0); }),
            "replicas[0].programs has size 1, expected 2, one per stage");
  EXPECT_EQ(refusal([](json& d) { d["merges"].push_back(1); }), "merges[0] is 1, expected an object");
  EXPECT_EQ(refusal([](json& d) { d["memory_unit"] = "GiB"; }),
            "memory_unit is \"GiB\", expected \"bytes\" or \"tokens\"");
}

TEST(PlanJson, KeepsSharedSequences) {
  for (const exchange how : {exchange::keep, exchange::queries, exchange::ring}) {
    const plan p = shared_sample(how == exchange::ring ? rows_of{{1, 1}} : rows_of{{1, 1}, {1, 1}}, how);
    std::stringstream file;
    ASSERT_TRUE(write_plan(file, p));
    EXPECT_NE(file.str().find("{\"format\":\"slimpack-plan/2\""), std::string::npos);
    const plan read = read_plan(file).value();
    EXPECT_EQ(read.merges, p.merges);
    EXPECT_EQ(read.hash, p.hash);
  }
}

TEST(PlanJson, KeepsWhereTheTimeOfTheStagesGoes) {
  plan p = sample(2, 1, false);
  const double all = p.step_time.value * p.shape.stages * p.shape.replicas;
  p.rank_time = {.useful = {0.5 * all},
                 .recomputation = {0.125 * all},
                 .packs = {0.125 * all},
                 .communication = {0},
                 .imbalance = {0.125 * all},
                 .waiting = {0.125 * all}};
  EXPECT_EQ(reread(p).rank_time, std::nullopt) << "format 1 has no word for it";
  EXPECT_EQ(written(p).find("slimpack-plan/1"), std::string("{\"format\":\"").size());
  std::stringstream file;
  write_plan(file, p, true).value();
  const plan read = read_plan(file).value();
  EXPECT_EQ(read.rank_time, p.rank_time);
  EXPECT_EQ(read.hash, p.hash);
  std::string before_collectives = file.str();  // files were written without them, where they are in useful work
  const std::string none = "\"collectives\":0,";
  ASSERT_NE(before_collectives.find(none), std::string::npos);
  before_collectives.erase(before_collectives.find(none), none.size());
  std::stringstream old(before_collectives);
  EXPECT_EQ(read_plan(old).value().rank_time, p.rank_time);
  p.rank_time->waiting += seconds{1};
  std::stringstream wrong;
  write_plan(wrong, p, true).value();
  EXPECT_NE(read_plan(wrong).error().detail.find("rank_time is an object, expected parts that add up to"),
            std::string::npos);
}

TEST(PlanJson, KeepsTheUtilisation) {
  plan p = sample(2, 1, false);
  p.mfu = 0.41;
  EXPECT_EQ(reread(p).mfu, p.mfu);
  EXPECT_EQ(reread(p).hash, p.hash) << "it follows from the rest";
  EXPECT_NE(written(p).find("slimpack-plan/2"), std::string::npos);
  p.mfu.reset();
  EXPECT_EQ(reread(p).mfu, std::nullopt);
}

TEST(PlanJson, KeepsTheBoundOfAnyLayout) {
  plan p = sample(2, 1, false);
  p.any_layout_bound = seconds{0.25};
  EXPECT_EQ(reread(p).any_layout_bound, p.any_layout_bound);
  EXPECT_EQ(reread(p).hash, p.hash);
  p.any_layout_bound.reset();
  EXPECT_EQ(reread(p).any_layout_bound, std::nullopt);
}

TEST(PlanJson, KeepsWhatMadeIt) {
  plan p = sample(2, 1, false);
  const std::uint64_t hash = slimpack::hash_of(p);
  const std::string content = "{\"a\": 1}\n";
  p.origin = slimpack::plan_origin{"0.1.0",
                                   {{"pp", "2"}, {"planner", "slimpack"}},
                                   {{"seed", "7"}},
                                   {4096},
                                   {{"model", "m", slimpack::text_hash(content), content}, {"cost", "t.csv", 17}}};
  EXPECT_EQ(slimpack::hash_of(p), hash);
  EXPECT_NE(written(p).find("slimpack-plan/2"), std::string::npos);
  const slimpack::plan_origin back = reread(p).origin.value();
  EXPECT_EQ(back.version, "0.1.0");
  EXPECT_EQ(back.planning, p.origin->planning);
  EXPECT_EQ(back.batch, p.origin->batch);
  EXPECT_EQ(back.longest, p.origin->longest);
  ASSERT_EQ(back.inputs.size(), 2u);
  EXPECT_EQ(back.inputs[0].content, content);
  EXPECT_EQ(back.inputs[1].hash, 17u);
  EXPECT_FALSE(back.inputs[1].content);
}

/// The first replica of the sample, with further sequences of 64 tokens in its first pack of each pass.
plan sample_alone(std::size_t more) {
  plan p = sample(2, 1, false);
  p.lengths.resize(2);
  p.lengths.resize(2 + more, {64});
  p.shape.replicas = 1;
  p.replicas.pop_back();
  replica_plan& r = p.replicas.front();
  for (const pass direction : {pass::forward, pass::backward}) {
    const micropacks before = std::exchange(r.partition.of(direction), {});
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (const slice& s : before[i]) r.partition.of(direction).append(s);
      for (std::uint32_t k = 0; i == 0 && k < more; ++k) r.partition.of(direction).append({{2 + k}, {0}, {64}});
      r.partition.of(direction).close();
    }
  }
  for (std::uint32_t k = 0; k < more; ++k) r.sequences.push_back({2 + k});
  p.hash = slimpack::hash_of(p);
  return p;
}

TEST(PlanJson, KeepsTheRowsOfTheData) {
  plan p = sample_alone(0);
  p.data = plan_data{"a \"list\".csv", {9007199254740993, 0}};
  EXPECT_EQ(slimpack::hash_of(p), p.hash) << "a plan is the same wherever its data lie";
  EXPECT_NE(written(p).find("slimpack-plan/2"), std::string::npos);
  EXPECT_EQ(reread(p).data, p.data);
  EXPECT_EQ(json::parse(written(p))["data"]["rows"], json::parse("[9007199254740993, 0]"));
  p.data.reset();
  EXPECT_EQ(reread(p).data, std::nullopt);
}

// Rows of a file in order are long lists where a plan has thousands of them.
TEST(PlanJson, WritesRowsThatFollowEachOtherAsRuns) {
  plan p = sample_alone(7);
  p.data = plan_data{"l.txt", {7, 8, 9, 20, 21, 22, 23, 1, 0}};
  EXPECT_EQ(json::parse(written(p))["data"]["rows"], json::parse(R"([7, 8, 9, {"first": 20, "count": 4}, 1, 0])"));
  EXPECT_EQ(reread(p).data, p.data);
}

TEST(PlanJson, OfDataIsRefusedWithThePlaceThatIsWrong) {
  const auto said = [](const char* data) {
    plan p = sample_alone(0);
    p.data = plan_data{"l.txt", {0, 1}};
    json document = json::parse(written(p));
    document["data"] = json::parse(data);
    std::istringstream in(document.dump());
    return complaint(read_plan(in, "p"), "p", errc::invalid_input);
  };
  EXPECT_EQ(said("[]"), "data is an array, expected an object");
  EXPECT_EQ(said(R"({"rows": [0, 1]})"), "data lacks the key \"file\"");
  EXPECT_EQ(said(R"({"file": "l", "rows": [0, 1], "row": 1})"), "data.row is not a known key");
  EXPECT_EQ(said(R"({"file": "l", "rows": [0]})"), "data.rows is an array, expected 2 rows, one per sequence");
  EXPECT_EQ(said(R"({"file": "l", "rows": [0, 1, 2]})"), "data.rows is an array, expected 2 rows, one per sequence");
  EXPECT_EQ(said(R"({"file": "l", "rows": [0, -1]})"),
            "data.rows[1] is -1, expected a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(said(R"({"file": "l", "rows": [5, 5]})"),
            "data.rows is an array, expected each row once: row 5 comes twice");
  EXPECT_EQ(said(R"({"file": "l", "rows": [{"first": 0}]})"), "data.rows[0] lacks the key \"count\"");
  EXPECT_EQ(said(R"({"file": "l", "rows": [{"first": 0, "count": 2, "last": 1}]})"),
            "data.rows[0].last is not a known key");
  EXPECT_EQ(said(R"({"file": "l", "rows": [{"first": -2, "count": 2}]})"),
            "data.rows[0].first is -2, expected a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(said(R"({"file": "l", "rows": [{"first": 0, "count": 0}]})"),
            "data.rows[0].count is 0, expected a whole number from 1 to 9223372036854775807");
  EXPECT_EQ(said(R"({"file": "l", "rows": [1, {"first": 0, "count": 999999999999}]})"),
            "data.rows[1].count is 999999999999, expected no more than are left of 2 rows, one per sequence");
  EXPECT_EQ(said(R"({"file": "l", "rows": [{"first": 9223372036854775807, "count": 2}]})"),
            "data.rows[0].count is 2, expected rows up to 9223372036854775807");
  json document = json::parse(written(sample_alone(0)));
  document["data"] = json::parse(R"({"file": "l", "rows": [0, 1]})");
  std::istringstream in(document.dump());
  EXPECT_EQ(complaint(read_plan(in, "p"), "p", errc::invalid_input), "data is not a known key") << "format 1 has none";
}

TEST(PlanJson, KeepsTheLayersThatWereChosen) {
  plan p = sample(2, 1, false);
  const std::uint64_t plain = hash_of(p);
  p.layers = {5, 3};
  p.hash = hash_of(p);
  EXPECT_NE(p.hash, plain);
  EXPECT_EQ(reread(p).layers, p.layers);
  EXPECT_EQ(reread(p).hash, p.hash);
  p.layers = {5, 2, 1};
  std::istringstream wrong(written(p));
  EXPECT_NE(read_plan(wrong).error().detail.find("layers has size 3, expected 2, one per part"), std::string::npos);
}

TEST(PlanJson, KeepsAReductionBesideTheWork) {
  plan p = sample(2, 1, false);
  p.reduction = gradient_reduction{{{{0, {1.0 / 3}, {0.1}}, {0.25, {1e-9}, {}}}, {}}, {2.0 / 3}};
  p.hash = hash_of(p);
  EXPECT_EQ(reread(p).reduction, p.reduction);
  EXPECT_EQ(reread(p).hash, p.hash);
  p.reduction->parts.pop_back();
  std::istringstream wrong(written(p));
  EXPECT_NE(read_plan(wrong).error().detail.find("buckets has size 1, expected 2, one list per part"),
            std::string::npos);
}

// dp 2 x cp 2 x tp 4 are 16 ranks of a stage.
TEST(PlanJson, KeepsRanksThatDivideExperts) {
  plan p = sample(2, 1, false);
  EXPECT_FALSE(json::parse(written(p)).contains("ep"));
  p.shape.expert = 8;
  p.hash = hash_of(p);
  const json document = json::parse(written(p));
  EXPECT_EQ(document["format"], "slimpack-plan/2");
  EXPECT_EQ(document["ep"], 8);
  expect_equal(reread(p), p);
  const auto said = [&](const char* key, const json& value) {
    json changed = document;
    changed[key] = value;
    std::istringstream in(changed.dump());
    return read_plan(in).error().detail;
  };
  EXPECT_EQ(said("ep", 3), "plan: ep is 3, expected a divisor of dp x cp x tp, 16");
  EXPECT_NE(said("ep", 1).find("ep is 1, expected "), std::string::npos);
  EXPECT_NE(said("format", "slimpack-plan/1").find("is not a known key"), std::string::npos);
}

/// The sample on 2 stages or more with a spread vocabulary, whose programs name each kind of instruction.
plan spread_sample(int stages, int chunks, bool uneven_messages) {
  plan p = sample(stages, chunks, uneven_messages);
  p.shape.vocabulary = vocabulary::spread;
  const auto width = static_cast<std::size_t>(stages), parts = static_cast<std::size_t>(p.shape.parts());
  for (replica_plan& r : p.replicas) {
    std::size_t numbered = 20;
    for (const time_column c : time_columns) {
      if (c.each() == places::parts) continue;
      const std::string which = c.name();
      const bool is_message = which == "embedded" || which == "hidden" || which == "partial" || which == "statistics" ||
                              which == "gradients";
      const std::size_t silent = which == "embedded" ? width : which == "gradients" ? 0 : width - 1;
      const std::size_t packs =
          r.times.packs(which == "gradients" || which == "embed_gradients" ? pass::backward : pass::forward);
      for (std::size_t cell = 0; cell < packs * width; ++cell)
        r.times[c].push_back(is_message && cell % width == silent ? seconds{}
                             : is_message && !uneven_messages     ? awkward(cell / width)
                                                                  : awkward(++numbered));
    }
    for (std::size_t i = 0; i < r.times.packs(pass::backward); ++i)
      r.times.messages[pass::backward][i * parts] = awkward(++numbered);
    for (program& code : r.programs) {
      const auto backward =
          std::find_if(code.begin(), code.end(), [](const instruction& i) { return i.pass() == pass::backward; });
      program with;
      for (std::uint32_t k = 0; k < 3; ++k) with.push_back({instruction_kind::embed, {k}});
      with.insert(with.end(), code.begin(), backward);
      for (std::uint32_t k = 0; k < 3; ++k) with.push_back({instruction_kind::output, {k}});
      for (std::uint32_t k = 0; k < 3; ++k) with.push_back({instruction_kind::output_weights, {k}});
      with.insert(with.end(), backward, code.end());
      for (std::uint32_t k = 0; k < 2; ++k) with.push_back({instruction_kind::embed_gradients, {k}});
      code = std::move(with);
    }
  }
  p.hash = hash_of(p);
  return p;
}

TEST(PlanJson, OfASpreadVocabularyReadsBackExactly) {
  for (const int stages : {2, 3})
    for (const int chunks : {1, 2})
      for (const bool uneven : {false, true}) {
        plan p = spread_sample(stages, chunks, uneven);
        expect_equal(reread(p), p);
        p.reduction = gradient_reduction{
            std::vector<std::vector<gradient_bucket>>(static_cast<std::size_t>(p.shape.reduced_parts())), {}};
        p.reduction->parts.back() = {{0, {0.1}, {1.0 / 3}}};
        p.hash = hash_of(p);
        EXPECT_EQ(reread(p).reduction, p.reduction);
        expect_equal(reread(p), p);
      }
}

TEST(PlanJson, HasTheWordsOfEachStageOnlyWhereTheyAreUnequal) {
  plan p = spread_sample(3, 1, false);
  EXPECT_FALSE(json::parse(written(p)).contains("words"));
  p.shape.words = {100, 1, 155};
  p.hash = hash_of(p);
  expect_equal(reread(p), p);
  EXPECT_EQ(reread(p).shape, p.shape);
  EXPECT_EQ(json::parse(written(p))["words"], (json{100, 1, 155}));
}

TEST(PlanJson, NamesTheCallsOfASpreadVocabulary) {
  const plan p = spread_sample(2, 1, false);
  const json document = json::parse(written(p));
  EXPECT_EQ(document["format"], "slimpack-plan/2");
  EXPECT_EQ(document["vocabulary"], "spread");
  EXPECT_FALSE(json::parse(written(sample(2, 1, false))).contains("vocabulary"));
  const json& r = document["replicas"][0];
  EXPECT_EQ(r["programs"][1],
            json::parse(R"(["E0","E1","E2","F0","F1","F2","V0","V1","V2","U0","U1","U2","B0","B1","G0","G1"])"));
  const std::vector<seconds>& output = p.replicas[0].times.calls[instruction_kind::output];
  EXPECT_EQ(r["forward"][2]["output"], (json{output[4].value, output[5].value}));
  EXPECT_EQ(r["backward"][1]["embed_gradients"].size(), 2u);
  EXPECT_EQ(r["message"]["embedded"], (json{awkward(0).value, awkward(1).value, awkward(2).value}))
      << "one number where all are equal";
  EXPECT_EQ(r["message"]["to_gradients"][1], p.replicas[0].times.messages[pass::backward][2].value);
  const json uneven = json::parse(written(spread_sample(3, 1, true)))["replicas"][0]["message"];
  EXPECT_EQ(uneven["embedded"][0].size(), 3u) << "the last stage sends to part 0";
  EXPECT_EQ(uneven["hidden"][0].size(), 2u);
  EXPECT_EQ(uneven["gradients"][0].size(), 2u);
}

TEST(PlanJson, OfASpreadVocabularyIsRefusedWithThePlaceThatIsWrong) {
  const auto said = [](auto change) {
    json document = json::parse(written(spread_sample(2, 1, true)));
    change(document);
    std::istringstream in(document.dump());
    return complaint(read_plan(in, "p"), "p", errc::invalid_input);
  };
  EXPECT_EQ(said([](json& d) { d["vocabulary"] = "last"; }), "vocabulary is \"last\", expected \"spread\"");
  EXPECT_EQ(said([](json& d) { d["stages"] = 1; }),
            "vocabulary is \"spread\", expected 2 stages or more, to spread it over");
  EXPECT_EQ(said([](json& d) { d["words"] = {1, 2, 3}; }), "words has size 3, expected 2, one per stage");
  EXPECT_EQ(said([](json& d) {
              d["words"] = {0, 5};
            }),
            "words[0] is 0, expected a whole number from 1 to 1099511627776");
  EXPECT_EQ(said([](json& d) { d["format"] = "slimpack-plan/1", d.erase("transfers"); }),
            "vocabulary is not a known key");
  EXPECT_EQ(said([](json& d) { d.erase("vocabulary"); }), "replicas[0].forward[0].embed is not a known key");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["forward"][1].erase("output_weights"); }),
            "replicas[0].forward[1] lacks the key \"output_weights\"");
  EXPECT_EQ(said([](json& d) {
              d["replicas"][1]["backward"][0]["output"] = {1, 1};
            }),
            "replicas[1].backward[0].output is not a known key");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["forward"][1]["output"] = {1}; }),
            "replicas[0].forward[1].output has size 1, expected 2, one per stage");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["forward"][0]["embed"][1] = -1; }),
            "replicas[0].forward[0].embed[1] is -1, expected a number of at least 0");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["message"].erase("statistics"); }),
            "replicas[0].message lacks the key \"statistics\"");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["message"]["to_gradients"].erase(0); }),
            "replicas[0].message.to_gradients has size 1, expected 2, one per pack");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["message"]["gradients"].push_back(0); }),
            "replicas[0].message.gradients has size 3, expected 2, one per pack");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["message"]["embedded"][2].push_back(0); }),
            "replicas[0].message.embedded[2] has size 3, expected 2, one per stage that has one");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["programs"][1][3] = "E3"; }),
            "replicas[0].programs[1][3] is \"E3\", expected E and a pack of this plan");
  EXPECT_EQ(said([](json& d) { d["replicas"][0]["programs"][1][3] = "G0.0"; }),
            "replicas[0].programs[1][3] is \"G0.0\", expected G and a pack of this plan");
  EXPECT_EQ(said([](json& d) { d["reduction"] = json::parse(R"({"after":0,"buckets":[[],[]]})"); }),
            "reduction.buckets has size 2, expected 4, one list per part, and one per stage's share of the vocabulary");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][0]["programs"][1][0] = "E0"; }),
            "replicas[0].programs[1][0] is \"E0\", expected F or B and a pack of this plan, as in \"F0\"");
}

TEST(PlanJson, KeepsRowsOfWhichAReplicaHasNothing) {
  const plan p = shared_sample({{1, 0}, {1, 1}}, exchange::keep);
  std::stringstream file;
  ASSERT_TRUE(write_plan(file, p));
  EXPECT_NE(file.str().find("[[0,null],[1,0]]"), std::string::npos) << file.str();
  const plan read = read_plan(file).value();
  EXPECT_EQ(read.merges, p.merges);
  EXPECT_EQ(read.hash, p.hash);
}

TEST(PlanJson, KeepsRelaysAndRefusesThoseThatCannotRun) {
  plan p = shared_sample({{1, 1, 1, 1}}, exchange::ring);
  const std::uint64_t without = hash_of(p);
  p.merges[0].relays = {{{1, 0}, {2, 3}, 2}, {{3, 2}, {0, 1}, 2}};
  p.hash = hash_of(p);
  EXPECT_NE(p.hash, without);
  std::stringstream file;
  ASSERT_TRUE(write_plan(file, p));
  EXPECT_NE(
      file.str().find(R"("relays":[{"out":[1,0],"in":[2,3],"segments":2},{"out":[3,2],"in":[0,1],"segments":2}])"),
      std::string::npos)
      << file.str();
  const json whole = json::parse(file.str());
  const plan read = read_plan(file).value();
  EXPECT_EQ(read.merges, p.merges);
  EXPECT_EQ(read.hash, p.hash);
  const auto refused = [&](const char* relays, const char* how = "ring") {
    json changed = whole;
    changed["merges"][0]["relays"] = json::parse(relays);
    changed["merges"][0]["exchange"] = how;
    std::stringstream in(changed.dump());
    const result<plan> made = read_plan(in);
    return made ? std::string("read") : made.error().detail;
  };
  const std::string start =
      "plan: replicas is an array, expected replicas whose stages can run what they have: sequence 0 ";
  EXPECT_EQ(refused(R"([{"out":[1],"in":[2,3],"segments":1}])"),
            start +
                "has a relay from replica 1 with a leg that lacks a party, 1 replicas that send across and 2 that "
                "hear: name as many in `in` as in `out`");
  EXPECT_EQ(refused(R"([{"out":[1],"in":[2],"segments":1}])"),
            start + "has a relay from replica 1 of one strand, which is a transfer without proxies: leave it out");
  EXPECT_EQ(refused(R"([{"out":[1,0],"in":[3,2],"segments":1}])"),
            start + "has a relay from replica 1 to replica 3, but rows go round to replica 2: name that first in `in`");
  EXPECT_EQ(refused(R"([{"out":[1,0],"in":[2,0],"segments":1}])"),
            start + "has a relay from replica 1 that names a replica twice: name each once");
  EXPECT_EQ(refused(R"([{"out":[1,0],"in":[2,3],"segments":1},{"out":[1,0],"in":[2,3],"segments":1}])"),
            start + "has two relays from replica 1: leave one out");
  EXPECT_NE(refused(R"([{"out":[1,0],"in":[2,3],"segments":1}])", "keep").find("choose ring or queries, or no relays"),
            std::string::npos);
  EXPECT_NE(refused(R"([{"out":[1,0],"in":[2,3],"segments":0}])")
                .find("segments is 0, expected a whole number from 1 to 4096"),
            std::string::npos);
}

TEST(PlanJson, OfTheFirstFormatKeepsWhatReplicasShare) {
  const plan p = shared_sample({{1, 1}, {1, 1}}, exchange::keep);
  std::stringstream file;
  ASSERT_TRUE(write_plan(file, p));
  json first = json::parse(file.str());
  first["format"] = "slimpack-plan/1";
  first.erase("transfers");
  first["merges"][0].erase("exchange");
  std::stringstream old(first.dump());
  const result<plan> read = read_plan(old);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read.value().merges, p.merges);
}

// What a plan must keep so that it can be run is core/soundness/is_sound.hpp's to say, and a reader asks it.
TEST(PlanJson, OfStagesThatCannotRunIsRefused) {
  EXPECT_EQ(refusal([](json& d) { d["replicas"][1]["programs"][0].erase(4); }),
            "replicas is an array, expected replicas whose stages can run what they have: replica 1, stage 0: the "
            "program has 4 "
            "instructions, F and B of its packs are 5");
  EXPECT_EQ(refusal([](json& d) { std::swap(d["replicas"][1]["programs"][1][3], d["replicas"][1]["programs"][1][4]); }),
            "replicas is an array, expected replicas whose stages can run what they have: replica 1, stage 1: B1 "
            "stands where pack 0 "
            "of 2 comes next");
  EXPECT_NE(refusal([](json& d) {
              std::swap(d["replicas"][0]["programs"][0][2], d["replicas"][0]["programs"][0][3]);
            }).find("wait for each other for ever"),
            std::string::npos);
}

TEST(PlanJson, IsRefusedForSlicesOffTheQuantum) {
  EXPECT_EQ(refusal([](json& d) {
              d["replicas"][0]["forward"][0]["slices"][0][2] = 500;
              d["replicas"][0]["forward"][1]["slices"][0] = {1, 500, 500};
            }),
            unsound + "sequence 1 is cut at token 500 by forward pack 1 of replica 0, no multiple of the quantum, 64");
}

TEST(PlanJson, IsRefusedForTokensThatDoNotRunOnce) {
  EXPECT_EQ(refusal([](json& d) { d["replicas"][0]["forward"][0]["slices"][0][2] = 448; }),
            unsound +
                "sequence 1 runs tokens 512 to 1000 in forward pack 1 of replica 0, where what begins at token 448 "
                "comes next");
  EXPECT_EQ(refusal([](json& d) { d["replicas"][1]["sequences"].erase(0); }),
            unsound + "sequence 3 is on 0 replicas, it must be on 1, or on those that share it");
}

TEST(PlanJson, IsRefusedForMoreMemoryThanTheLimit) {
  const std::string said = refusal([](json& d) { d["memory_limit"] = 1000; });
  EXPECT_EQ(said.rfind(unsound + "replica 0, stage 0 holds 1300", 0), 0u) << said;
}

TEST(PlanJson, IsRefusedForRowsOfNoPack) {
  const auto shared = [](const char* merge) { return [=](json& d) { d["merges"].push_back(json::parse(merge)); }; };
  EXPECT_EQ(refusal(shared(R"({"sequence":4,"replicas":[0,1],"forward":[],"backward":[]})")),
            "merges[0].sequence is 4, expected a whole number from 0 to 3");
  EXPECT_EQ(refusal(shared(R"({"sequence":1,"replicas":[1,0],"forward":[],"backward":[]})")),
            unsound + "sequence 1 must be shared by two replicas or more that there are, in ascending order");
  EXPECT_EQ(refusal(shared(R"({"sequence":1,"replicas":[0,1],"forward":[[0]],"backward":[]})")),
            unsound + "sequence 1 has a forward row, 0, of 1 packs for 2 replicas: it names a pack of each, or none");
  EXPECT_EQ(refusal(shared(R"({"sequence":1,"replicas":[0,1],"forward":[[0,3]],"backward":[]})")),
            unsound + "sequence 1 has a forward row, 0, that names pack 3 of replica 1, which has 3");
}

TEST(PlanJson, IsRefusedForInstructionsOfNoPack) {
  for (const char* wrong : {"", "F", "F3", "B2", "F0.0", "F-1", "F0 ", "F99999999999"})
    EXPECT_EQ(refusal([&](json& d) { d["replicas"][0]["programs"][1][0] = wrong; }),
              "replicas[0].programs[1][0] is \"" + std::string(wrong) +
                  "\", expected F or B and a pack of this plan, as in \"F0\"");
}

TEST(PlanJson, IsRefusedForWeightGradientsOfAPackThatKeepsThem) {
  const std::string said = refusal([](json& d) { d["replicas"][0]["programs"][0].push_back("W1"); });
  EXPECT_NE(said.find("weight_time"), std::string::npos) << said;
}

TEST(PlanJson, WithVirtualStagesIsRefusedForInstructionsOfNoChunk) {
  for (const std::string wrong : {"F0", "F0.", "F0.2", "F0.0.0", "F3.0"}) {
    json document = json::parse(written(sample(1, 2, false)));
    document["replicas"][0]["programs"][0][0] = wrong;
    std::istringstream in(document.dump());
    EXPECT_EQ(complaint(read_plan(in, "p"), "p", errc::invalid_input),
              "replicas[0].programs[0][0] is \"" + wrong +
                  "\", expected F or B, a pack and a chunk of this plan, as in \"F0.1\"");
  }
}

TEST(PlanJson, CutShortAnywhereIsRefused) {
  const std::string whole = written(sample(1, 1, false));
  for (std::size_t size = 0; size + 2 < whole.size(); size += 13) {
    std::istringstream in(whole.substr(0, size));
    EXPECT_EQ(read_plan(in).error().code, errc::invalid_input) << size;
  }
}

TEST(PlanJson, ToAStreamThatFailsIsUnwritable) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(write_plan(out, sample(1, 1, false)).error().code, errc::unwritable);
}

}  // namespace
}  // namespace plan_json_test
