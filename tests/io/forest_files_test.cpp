#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/io/file.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace forest_files_test {
namespace {

using namespace slimpack;
using json = nlohmann::ordered_json;

/// Two answers to one question of 300 tokens, one of them taken up twice, and a sample that shares nothing.
forest dialogue() {
  return {.lengths = {{300}, {90}, {40}, {70}, {128}, {500}},
          .parents = {no_parent, {0}, {1}, {1}, {0}, no_parent},
          .samples = {{{1}, {390}}, {{2}, {430}}, {{3}, {460}, 2}, {{4}, {400}}, {{4}, {428}}, {{5}, {500}}},
          .targets = {{{1}, {300}, {90}, 4, 0.25}, {{2}, {390}, {40}}, {{3}, {400}, {60}, 2}, {{5}, {1}, {499}}}};
}

plan planned(const forest& batch, int replicas = 1) {
  solvers::two_phase search;
  if (replicas > 1) search.effort = solvers::search_budget::fast();
  return planner{shape{.stages = 2, .replicas = replicas, .quantum = {64}}, slicers::equal_cost{},
                 costs::quadratic{.per_pack = {1e-6}}, search}(batch)
      .value();
}

std::string file_of(const plan& p) {
  std::ostringstream out;
  io::write_plan(out, p).value();
  return out.str();
}

result<plan> read(const std::string& file) {
  std::istringstream in(file);
  return io::read_plan(in);
}

TEST(ForestFiles, ReadBackAsTheyWereWritten) {
  const plan p = planned(dialogue());
  const plan back = read(file_of(p)).value();
  EXPECT_EQ(back.parents, p.parents);
  EXPECT_EQ(back.samples, p.samples);
  EXPECT_EQ(back.replicas[0].partition, p.replicas[0].partition);
  EXPECT_EQ(back.hash, p.hash);
  EXPECT_EQ(file_of(back), file_of(p));
  std::vector<target_run> unweighted = p.targets;
  for (target_run& t : unweighted) t.weight = 1;
  EXPECT_EQ(back.targets, unweighted);
}

TEST(ForestFiles, OfRandomForestsReadBackAsTheyWereWritten) {
  for (int seed = 1; seed <= tests::cases(10); ++seed) {
    slimpack::testing::generator random(static_cast<std::uint64_t>(seed));
    const plan p = planned(slimpack::testing::trial_forest(random, random.between(1, 20), {1000}));
    const result<plan> back = read(file_of(p));
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().detail;
    EXPECT_EQ(back.value().parents, p.parents) << "seed " << seed;
    EXPECT_EQ(file_of(back.value()), file_of(p)) << "seed " << seed;
  }
}

TEST(ForestFiles, HaveParentsSamplesAndTargetsOfFormat2) {
  const json document = json::parse(file_of(planned(dialogue())));
  EXPECT_EQ(document["format"], "slimpack-plan/2");
  EXPECT_EQ(document["parents"], json::parse("[-1,0,1,1,0,-1]"));
  EXPECT_EQ(document["samples"], json::parse("[[1,390,1],[2,430,1],[3,460,2],[4,400,1],[4,428,1],[5,500,1]]"));
  EXPECT_EQ(document["targets"], json::parse("[[1,300,90,4],[2,390,40,1],[3,400,60,2],[5,1,499,1]]"));
}

// Also of a list whose samples train on some of their tokens alone.
TEST(ForestFiles, HaveWhatTheBatchHas) {
  forest list{.lengths = {{300}, {90}}, .parents = {}, .samples = {}, .targets = {{{0}, {200}, {100}}}};
  const json document = json::parse(file_of(planned(list)));
  EXPECT_EQ(document["format"], "slimpack-plan/2");
  EXPECT_FALSE(document.contains("parents") || document.contains("samples"));
  EXPECT_EQ(document["targets"], json::parse("[[0,200,100,1]]"));
  list.targets.clear();
  EXPECT_NE(file_of(planned(list)).find("\"slimpack-plan/1\""), std::string::npos);
}

// Weights change gradients and no plan; all else is a plan of its own.
TEST(ForestFiles, HaveAHashOfTheirForest) {
  const plan p = planned(dialogue());
  plan other = p;
  for (target_run& t : other.targets) t.weight *= 2;
  EXPECT_EQ(hash_of(other), hash_of(p));
  using change = std::function<void(plan&)>;
  for (const change& make :
       std::vector<change>{[](plan& q) { q.parents[3] = {0}; }, [](plan& q) { q.parents.clear(); },
                           [](plan& q) { q.samples.clear(); }, [](plan& q) { q.samples[2].count = 3; },
                           [](plan& q) { q.samples[0].at = {380}; }, [](plan& q) { q.targets.clear(); },
                           [](plan& q) { q.targets[1].count = 2; }, [](plan& q) { q.targets[2].begin = {410}; },
                           [](plan& q) { q.targets[2].length = {59}; }, [](plan& q) { q.targets[0].sequence = {4}; }}) {
    other = p;
    make(other);
    EXPECT_NE(hash_of(other), hash_of(p));
  }
}

TEST(ForestFiles, AreRefusedWithThePlaceThatIsWrong) {
  const plan p = planned(dialogue());
  const auto refusal = [&](const std::function<void(json&)>& change) {
    json document = json::parse(file_of(p));
    change(document);
    const result<plan> made = read(document.dump());
    return made ? std::string("no error") : made.error().detail.substr(std::string("plan: ").size());
  };
  EXPECT_EQ(refusal([](json& d) { d["parents"].erase(0); }), "parents has size 5, expected 6, one per sequence");
  EXPECT_EQ(
      refusal([](json& d) { d["parents"][2] = 2; }).find("parents is an array, expected the parents of a forest: "),
      0u);
  EXPECT_NE(refusal([](json& d) { d["parents"][5] = 2; }), "no error") << "its tree is left";
  EXPECT_EQ(refusal([](json& d) { d["parents"][2] = 6; }), "parents[2] is 6, expected a whole number from -1 to 5");
  EXPECT_EQ(refusal([](json& d) { d["parents"][0] = -2; }), "parents[0] is -2, expected a whole number from -1 to 5");
  EXPECT_EQ(refusal([](json& d) { d["samples"][0][1] = 391; }),
            "samples is an array, expected ends of samples in their sequences, in order: sample 0 is of tokens [390, "
            "391) of sequence 1, which has [300, 390)");
  EXPECT_EQ(refusal([](json& d) { d["samples"][1] = 7; }), "samples[1] is 7, expected an array");
  EXPECT_EQ(refusal([](json& d) { d["samples"][1].erase(2); }),
            "samples[1] has size 2, expected 3, [sequence, end, count]");
  EXPECT_EQ(refusal([](json& d) { d["samples"][1][0] = 6; }),
            "samples[1][0] is 6, expected a whole number from 0 to 5");
  EXPECT_EQ(refusal([](json& d) { d["samples"][1][2] = 0; }),
            "samples[1][2] is 0, expected a whole number from 1 to 4294967295");
  EXPECT_EQ(refusal([](json& d) { d["targets"][3][1] = 0; }),
            "targets[3][1] is 0, expected a whole number from 1 to 2147483647");
  EXPECT_EQ(
      refusal([](json& d) { d["targets"][1][2] = 41; }),
      "targets is an array, expected runs of tokens of their sequences, in order and without overlap: target 1 is "
      "of tokens [390, 431) of sequence 2, which has [390, 430)");
  EXPECT_EQ(refusal([](json& d) { d["targets"][3].push_back(1.5); }),
            "targets[3] has size 5, expected 4, [sequence, begin, length, count]");
  EXPECT_EQ(refusal([](json& d) { d["format"] = "slimpack-plan/1", d.erase("transfers"); }),
            "parents is not a known key");
}

// Slices begin at the depth of their sequence, and run in the order of paths.
TEST(ForestFiles, OfAnotherOrderAreRefused) {
  const plan p = planned(dialogue());
  const auto refusal = [&](const std::function<void(json&)>& change) {
    json document = json::parse(file_of(p));
    change(document);
    const result<plan> made = read(document.dump());
    return made ? std::string("no error") : made.error().detail;
  };
  const auto slice_of = [](json& d, const char* way, int sequence) -> json& {
    for (json& pack : d["replicas"][0][way])
      for (json& s : pack["slices"])
        if (s[0] == sequence) return s;
    throw std::out_of_range("no slice of the sequence");
  };
  EXPECT_NE(refusal([&](json& d) {
              slice_of(d, "forward", 2)[1] = 389;
            }).find("[1] is 389, expected a whole number from 390 to 429"),
            std::string::npos);
  const std::string early = refusal([&](json& d) { std::swap(slice_of(d, "forward", 0), slice_of(d, "forward", 4)); });
  EXPECT_NE(early.find("replicas whose stages can run what they have: sequence "), std::string::npos) << early;
  EXPECT_NE(refusal([](json& d) { d["parents"] = {-1, 0, 0, 1, 0, -1}; }), "no error");
  EXPECT_NE(refusal([](json& d) { d.erase("parents"), d.erase("samples"), d.erase("targets"); }), "no error");
}

TEST(ForestFiles, HaveAPageThatKnowsParents) {
  const plan p = planned(dialogue());
  std::ostringstream page;
  io::write_timeline(page, std::vector<plan>{p}).value();
  EXPECT_NE(page.str().find("\"parents\":[-1,0,1,1,0,-1]"), std::string::npos);
  plan list = planned({.lengths = {{300}, {90}}, .parents = {no_parent, no_parent}, .samples = {}, .targets = {}});
  std::ostringstream other;
  io::write_timeline(other, std::vector<plan>{list}).value();
  EXPECT_EQ(other.str().find("\"parents\":"), std::string::npos) << "nothing is shared";
}

// A page that timeline_page_test.py opens: 60 sequences of some trees.
TEST(ForestTimelinePage, IsWrittenForTheBrowser) {
  const char* path = std::getenv("SLIMPACK_FOREST_PAGE");
  if (path == nullptr) GTEST_SKIP() << "SLIMPACK_FOREST_PAGE names no file";
  slimpack::testing::generator random(5);
  const plan p = planned(slimpack::testing::trial_forest(random, 60, {2000}));
  ASSERT_TRUE(io::write_file(path, [&](std::ostream& out) { return io::write_timeline(out, std::vector<plan>{p}); }));
}

/// A root of which all samples go on, so that replicas have copies of it, and of what is behind it.
forest one_tree(slimpack::testing::generator& random) {
  forest made{.lengths = {{3000}}, .parents = {no_parent}};
  const auto grow = [&](std::uint32_t parent, std::int64_t least) {
    made.lengths.push_back({random.between(least, 3 * least)});
    made.parents.push_back({parent});
    return static_cast<std::uint32_t>(made.lengths.size() - 1);
  };
  for (int i = 0; i < 7; ++i)
    for (int k = 0, child = static_cast<int>(grow(0, 400)); k < 4; ++k) {
      const std::uint32_t turn = grow(static_cast<std::uint32_t>(child), 200);
      for (int answers = k % 2 == 0 ? 0 : 2; answers > 0; --answers) grow(turn, 100);
    }
  const std::vector<sequence> all = batch_view(made).sequences();
  for (const sequence& s : all)
    if (std::find(made.parents.begin(), made.parents.end(), s.id) == made.parents.end())
      made.samples.push_back({s.id, s.end()});
  return made;
}

TEST(ForestFiles, HaveAPageThatKnowsCopiesAndTheSequencesOfEachPlan) {
  slimpack::testing::generator random(5);
  const plan p = planned(one_tree(random), 3), other = planned(dialogue());
  ASSERT_FALSE(p.copies.empty());
  std::ostringstream page;
  io::write_timeline(page, std::vector<plan>{p, p, other}).value();
  const path_copy& first = p.copies.front();
  const std::string copies = "\"copies\":[[" + std::to_string(first.sequence.value) + "," +
                             std::to_string(first.of.value) + "," + std::to_string(first.until.value) + "]";
  const std::string text = page.str(), lengths = "\"lengths\":[";
  EXPECT_NE(text.find(copies), std::string::npos);
  std::size_t told = 0;
  for (std::size_t at = text.find(lengths); at != std::string::npos; at = text.find(lengths, at + 1)) ++told;
  EXPECT_EQ(told, 2u) << "of the page, and of the plan that has others";
}

// A page that timeline_page_test.py opens: a tree of which three replicas have parts, and its samples flat.
TEST(CopiesTimelinePage, IsWrittenForTheBrowser) {
  const char* path = std::getenv("SLIMPACK_COPIES_PAGE");
  if (path == nullptr) GTEST_SKIP() << "SLIMPACK_COPIES_PAGE names no file";
  slimpack::testing::generator random(4);
  const forest tree = one_tree(random);
  forest flat;
  for (const sample_end& s : tree.samples) flat.lengths.push_back(s.at);
  std::vector<plan> plans{planned(tree, 3), planned(flat, 3)};
  plans[0].planner = "slimpack", plans[1].planner = "flat";
  ASSERT_FALSE(plans[0].copies.empty());
  ASSERT_TRUE(io::write_file(path, [&](std::ostream& out) { return io::write_timeline(out, plans); }));
}

}  // namespace
}  // namespace forest_files_test
