#include <slimpack/io/forests/tree_lines.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tree_lines_test {
namespace {

using slimpack::forest;
using slimpack::no_parent;
using slimpack::sample_end;
using slimpack::sequence_id;
using slimpack::target_run;
using slimpack::tokens;
using slimpack::io::forest_list;
using slimpack::io::read_tree_lines;

forest_list read(const std::string& text) {
  std::istringstream in(text);
  return read_tree_lines(in, "trees.tsv").value();
}

/// What is said of a file behind its name.
std::string refusal(const std::string& text) {
  std::istringstream in(text);
  return complaint(read_tree_lines(in, "trees.tsv"), "trees.tsv", slimpack::errc::invalid_input);
}

const std::string prompt = "-1\t512\t0\t0\n";

TEST(ReadTreeLines, MakesSequencesOfNodes) {
  const forest_list made = read(prompt + "0\t90\t90\t1\r\n\n0\t70\t20\t2\n-1\t8\t7\t1");
  EXPECT_EQ(made.all, (forest{.lengths = {{512}, {90}, {70}, {8}},
                              .parents = {no_parent, {0}, {0}, no_parent},
                              .samples = {{{1}, {602}}, {{2}, {582}, 2}, {{3}, {8}}},
                              .targets = {{{1}, {512}, {90}}, {{2}, {562}, {20}, 2, 2}, {{3}, {1}, {7}}}}));
  EXPECT_EQ(made.rows, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(made.notes.empty());
}

TEST(ReadTreeLines, MergesNodesThatEndOnlyBecauseASampleDoes) {
  const forest_list made = read("-1\t10\t2\t1\n0\t5\t2\t1\n1\t7\t7\t1\n1\t3\t3\t1\n");
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{15}, {7}, {3}}));
  EXPECT_EQ(made.all.samples, (std::vector<sample_end>{{{0}, {10}}, {{0}, {15}}, {{1}, {22}}, {{2}, {18}}}));
  EXPECT_EQ(made.rows, (std::vector<std::uint64_t>{0, 2, 3}));
}

//  Both answers are targets throughout, so their samples train on the last 2 tokens of the prompt as well; the sample
//  that ends there does, too.
TEST(ReadTreeLines, CountsTheSamplesThatTrainOnTargets) {
  const forest_list made = read("-1\t10\t2\t1\n0\t5\t5\t1\n0\t7\t7\t2\n0\t4\t3\t1\n");
  EXPECT_EQ(made.all.targets.front(), (target_run{{0}, {8}, {2}, 4, 4}));
}

TEST(ReadTreeLines, TakesRunsOfTargetsFromAFifthColumn) {
  const forest_list made = read(prompt + "0\t70\t20\t1\t0-10,60-70*0.5\n0\t30\t5\t3\t25-30x2\n");
  EXPECT_EQ(made.all.targets,
            (std::vector<target_run>{{{1}, {512}, {10}}, {{1}, {572}, {10}, 1, .5}, {{2}, {537}, {5}, 2, 2}}));
  EXPECT_EQ(read("-1\t9\t4\t0\t5-9x2*-1e-1\n0\t1\t1\t1\t0-1\n0\t1\t1\t1\t0-1\n").all.targets.front(),
            (target_run{{0}, {5}, {4}, 2, -.1}));
}

TEST(ReadTreeLines, LeavesOutTokensBehindTheLastTarget) {
  const forest_list made = read(prompt + "0\t70\t20\t1\t0-20\n0\t30\t0\t1\n");
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{532}}));
  EXPECT_EQ(made.all.samples, (std::vector<sample_end>{{{0}, {512}}, {{0}, {532}}}));
  EXPECT_EQ(made.notes, std::vector<std::string>{"80 of 612 tokens are left out, since no target comes behind them"});
  EXPECT_EQ(read(prompt + "0\t5\t0\t1\n").notes,
            std::vector<std::string>{"no token is trained on, so that all are kept"});
}

TEST(ReadTreeLines, RefusesWhatIsNoNode) {
  EXPECT_EQ(refusal(""),
            "holds no nodes, expected one a line: parent, length, targets and samples, with tabs between "
            "them");
  EXPECT_EQ(refusal(prompt + "0 5 0 1\n"),
            "line 2: has 1 columns, expected 4 with tabs between them: parent, length, targets and samples; or 5, with "
            "runs of targets behind them");
  EXPECT_EQ(refusal("parent\tlength\ttargets\tsamples\n"),
            "line 1: parent is \"parent\", expected a whole number from -1 to 4294967294");
  EXPECT_EQ(refusal(prompt + "0\t0\t0\t1\n"), "line 2: length is \"0\", expected a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal(prompt + "0\t5\t-1\t1\n"),
            "line 2: targets is \"-1\", expected a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal(prompt + "0\t5\t6\t1\n"), "line 2: has 6 targets in 5 tokens");
  EXPECT_EQ(refusal(prompt + "0\t5\t5\t0\n"), "line 2: no sample ends at the node, or at one behind it");
}

TEST(ReadTreeLines, RefusesNodesThatAreInNoForest) {
  EXPECT_EQ(refusal(prompt + "2\t5\t5\t1\n0\t5\t5\t1\n"),
            "line 2: the node has the parent 2, and its own number is 1: a parent comes before its children");
  EXPECT_EQ(refusal(prompt + "0\t5\t5\t1\n0\t5\t5\t1\n1\t5\t5\t1\n"),
            "line 4: the node has the parent 1, behind which another tree or branch began: a subtree is in one piece");
  EXPECT_EQ(refusal("-1\t2147483647\t0\t0\n0\t1\t1\t1\n"),
            "line 2: the path of the node has 2147483648 tokens, more than the 2147483647 that are supported");
}

TEST(ReadTreeLines, RefusesTargetsThatAreNone) {
  EXPECT_EQ(refusal("-1\t5\t5\t1\n"), "line 1: the first token of a root is a target, and nothing predicts it");
  EXPECT_EQ(refusal("-1\t5\t2\t0\n0\t4\t3\t1\n"),
            "line 1: has 2 targets that are of no sample: those of a sample are the unbroken run that ends it");
  EXPECT_EQ(refusal(prompt + "0\t5\t2\t1\t4-6\n"), "line 2: the run \"4-6\" ends beyond its node, which has 5 tokens");
  EXPECT_EQ(refusal(prompt + "0\t5\t4\t1\t0-3,2-3\n"),
            "line 2: the run \"2-3\" begins before the end of another one: runs are in order, without overlap");
  EXPECT_EQ(refusal(prompt + "0\t5\t4\t1\t0-3\n"), "line 2: has 4 targets, and its runs have 3");
  EXPECT_EQ(refusal(prompt + "0\t5\t3\t1\t0-3x2\n"),
            "line 2: 2 samples are said to train on a run, and 1 have the node");
  for (const std::string run : {"3-0", "3-3", "0-3x0", "0-3*", "0-3*inf", "0-3*1x2", "0:3", "-1-3"})
    EXPECT_EQ(refusal(prompt + "0\t5\t3\t1\t" + run).find("line 2: \"" + run + "\" is no run of targets, expected "),
              0U)
        << run;
  EXPECT_EQ(refusal(prompt + "0\t5\t3\t1\t0-3\n0\t5\t2\t1\n"),
            "line 3: has 2 targets, and does not say which, as line 2 does in a fifth column");
}

/// What the README of data says of a list.
struct totals {
  std::int64_t samples, sequences, flat, different, targets_once, targets;
};
totals totals_of(const forest& f) {
  totals t{};
  for (const tokens length : f.lengths) ++t.sequences, t.different += length.value;
  for (const sample_end& s : f.samples) t.samples += s.count, t.flat += s.count * s.at.value;
  for (const target_run& r : f.targets) t.targets_once += r.length.value, t.targets += r.count * r.length.value;
  return t;
}

//  Of tau_airline_turns 116 nodes are forks and 200 have no children; all others are chains.
TEST(ReadTreeLines, FindsInShippedListsWhatTheirDescriptionSays) {
  for (const auto& [name, said] :
       {std::pair{"mooncake_sessions_512", totals{512, 812, 8633098, 1913355, 188841, 188841}},
        {"tau_airline_turns", totals{2454, 316, 6821628, 374105, 144555, 144922}}}) {
    SCOPED_TRACE(name);
    const forest_list made = read_tree_lines(data("trees") / (std::string(name) + ".tsv")).value();
    ASSERT_FALSE(slimpack::batch_view(made.all).fault()) << *slimpack::batch_view(made.all).fault();
    const totals found = totals_of(made.all);
    EXPECT_EQ(found.samples, said.samples);
    EXPECT_EQ(found.sequences, said.sequences);
    EXPECT_EQ(found.flat, said.flat);
    EXPECT_EQ(found.different, said.different);
    EXPECT_EQ(found.targets_once, said.targets_once);
    EXPECT_EQ(found.targets, said.targets);
    EXPECT_TRUE(made.notes.empty());
  }
}

}  // namespace
}  // namespace tree_lines_test
