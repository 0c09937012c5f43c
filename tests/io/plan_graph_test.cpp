#include <slimpack/io/plan_graph.hpp>

#include <slimpack/planner.hpp>

#include <gtest/gtest.h>

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
