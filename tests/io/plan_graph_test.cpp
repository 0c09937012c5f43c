#include <slimpack/io/plan_graph.hpp>

#include <slimpack/planner.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace slimpack::plan_graph_test {
namespace {

using io::write_graph;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string drawn(const plan& p) {
  std::ostringstream out;
  write_graph(out, p).value();
  return out.str();
}

TEST(PlanGraph, DrawsEachInstructionAndEachMessage) {
  const plan p = planner{{.stages = 2}}(std::vector<tokens>{{3000}, {500}}).value();
  std::size_t instructions = 0;
  for (const program& code : p.replicas[0].programs) instructions += code.size();
  const std::size_t packs = p.replicas[0].partition.forward.size() + p.replicas[0].partition.backward.size();
  const std::string text = drawn(p);
  EXPECT_EQ(text.rfind("digraph G {", 0), 0u);
  EXPECT_EQ(count(text, "shape=box"), instructions);
  EXPECT_EQ(count(text, "shape=plaintext"), packs);  // between two stages each pack is sent once
  EXPECT_NE(text.find("label=\"F0\\nreplica 0, stage 1\\n"), std::string::npos);
}

// One sequence on two stages: F F B B, each with its message, is one chain, all of it critical.
TEST(PlanGraph, DrawsTheCriticalPathInRed) {
  const plan p = planner{{.stages = 2, .quantum = {4096}}}(std::vector<tokens>{{4096}}).value();
  ASSERT_EQ(p.replicas[0].partition.forward.size(), 1u);
  ASSERT_EQ(p.replicas[0].partition.backward.size(), 1u);
  const std::string text = drawn(p);
  EXPECT_EQ(count(text, "shape="), 6u);  // 4 instructions, 2 messages
  EXPECT_EQ(count(text, "->"), 6u);      // F, message, F, B, message, B; and F before B on the first stage
  EXPECT_EQ(count(text, "color=red, fontcolor=red"), 6u + 5u);
}

/// The lines of a drawing with a text.
std::vector<std::string> lines_with(const std::string& drawing, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(drawing);
  for (std::string line; std::getline(in, line);)
    if (line.find(text) != std::string::npos) found.push_back(line);
  return found;
}

// Replica 1 is done long before replica 0: nothing of it holds up the step.
TEST(PlanGraph, DrawsOnlyTheGroupThatEndsLastInRed) {
  const plan p = planner{{.stages = 2, .replicas = 2, .quantum = {4096}}}(std::vector<tokens>{{4096}, {1024}}).value();
  ASSERT_TRUE(p.merges.empty());
  const bool first_is_last = p.replicas[0].makespan > p.replicas[1].makespan;
  ASSERT_NE(p.replicas[0].makespan, p.replicas[1].makespan);
  const std::string drawing = drawn(p);
  const std::string last = first_is_last ? "replica 0," : "replica 1,",
                    early = first_is_last ? "replica 1," : "replica 0,";
  ASSERT_EQ(lines_with(drawing, last).size(), 4u);
  ASSERT_EQ(lines_with(drawing, early).size(), 4u);
  for (const std::string& line : lines_with(drawing, last)) {
    EXPECT_NE(line.find("color=red"), std::string::npos) << line;
    EXPECT_NE(line.find("slack 0 s"), std::string::npos) << line;
  }
  for (const std::string& line : lines_with(drawing, early)) {
    EXPECT_EQ(line.find("color=red"), std::string::npos) << line;
    EXPECT_EQ(line.find("slack 0 s"), std::string::npos) << line;
  }
  EXPECT_EQ(count(drawing, "color=red, fontcolor=red"), 6u + 5u);  // the one chain of the last
}

TEST(PlanGraph, DrawsReplicasThatEndTogetherBothInRed) {
  const plan p = planner{{.stages = 2, .replicas = 2, .quantum = {4096}}}(std::vector<tokens>{{4096}, {4096}}).value();
  ASSERT_TRUE(p.merges.empty());
  EXPECT_EQ(count(drawn(p), "color=red, fontcolor=red"), 2 * (6u + 5u));
}

// Replicas that share a sequence are one drawing: each row of it has a gate on each stage, and names its replica.
TEST(PlanGraph, DrawsTheGatesOfSharedSequences) {
  const plan p =
      planner{{.stages = 2, .replicas = 2, .quantum = {4096}}}(std::vector<tokens>{{32768}, {2048}, {1024}}).value();
  ASSERT_EQ(p.merges.size(), 1u);
  const merge& shared = p.merges.front();
  ASSERT_EQ(shared.replicas.size(), 2u);
  const std::string drawing = drawn(p);
  EXPECT_EQ(count(drawing, "shape=point"), 2 * (shared.forward.size() + shared.backward.size()));
  for (std::size_t r = 0; r < 2; ++r) {
    std::size_t instructions = 0;
    for (const program& code : p.replicas[r].programs) instructions += code.size();
    EXPECT_EQ(lines_with(drawing, "replica " + std::to_string(r) + ", stage ").size(), instructions);
  }
  const std::vector<std::string> red = lines_with(drawing, "color=red");
  EXPECT_TRUE(std::any_of(red.begin(), red.end(),
                          [](const std::string& line) { return line.find("->") != std::string::npos; }));
  EXPECT_TRUE(std::any_of(red.begin(), red.end(),
                          [](const std::string& line) { return line.find("shape=point") != std::string::npos; }));
  EXPECT_EQ(lines_with(drawing, "slack 0 s").empty(), false);
}

TEST(PlanGraph, RefusesWhatNobodyCouldRead) {
  const plan p = planner{{.stages = 8}}(std::vector<tokens>(64, tokens{16384})).value();
  std::ostringstream out;
  const result<void> answer = write_graph(out, p);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::invalid_input);
  EXPECT_NE(answer.error().detail.find("more than 2000 tasks"), std::string::npos);
  EXPECT_TRUE(out.str().empty());
}

}  // namespace
}  // namespace slimpack::plan_graph_test
