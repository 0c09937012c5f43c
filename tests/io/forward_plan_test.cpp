#include <slimpack/io/plan_graph.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/timeline.hpp>
#include <slimpack/io/trace.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/solvers/packed_forward.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

// What is written of a plan that runs forward alone.
namespace slimpack::forward_plan_test {
namespace {

const std::vector<tokens> lengths{{3000}, {700}, {128}, {5000}, {64}, {900}};
const costs::quadratic cost{.per_pack = {1e-5}, .hop = {1e-4}};

plan forward_plan() {
  return planner{
      {.stages = 3, .replicas = 2, .memory = memory_limit{memory_unit::token, 6000}}, slicers::equal_cost{}, cost}
      .plan_forward(lengths)
      .value();
}

/// Of a baseline, whose model knows what evaluations hold.
plan baseline_plan() {
  struct evaluates : costs::quadratic {
    [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{.fixed = 800, .live_token = 30}; }
    [[nodiscard]] std::optional<memory_rates> evaluation_memory(int) const {
      return memory_rates{.fixed = 100, .live_token = 2, .forward_token = 9};
    }
  };
  const shape on{.stages = 3, .replicas = 2, .memory = memory_limit{memory_unit::byte, 100 + 11 * 5000}};
  const auto usual = baselines::megatron(on);
  return planner{on, usual.slicer, evaluates{cost}, usual.solver, usual.schedule}
      .plan_forward<solvers::packed_forward>(lengths)
      .value();
}

class ForwardPlan : public ::testing::TestWithParam<plan (*)()> {};
INSTANTIATE_TEST_SUITE_P(Planners, ForwardPlan, ::testing::Values(forward_plan, baseline_plan));

TEST_P(ForwardPlan, ReadsBackExactly) {
  const plan p = GetParam()();
  std::stringstream file;
  ASSERT_TRUE(io::write_plan(file, p));
  const plan back = io::read_plan(file).value();
  EXPECT_TRUE(is_forward_only(back));
  EXPECT_EQ(back.hash, p.hash);
  ASSERT_EQ(back.replicas.size(), 2u);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(back.replicas[r].partition, p.replicas[r].partition);
    EXPECT_EQ(back.replicas[r].programs, p.replicas[r].programs);
    EXPECT_EQ(back.replicas[r].times.calls[pass::forward], p.replicas[r].times.calls[pass::forward]);
    EXPECT_EQ(back.replicas[r].peak_memory, p.replicas[r].peak_memory);
  }
}

TEST_P(ForwardPlan, ShowsEveryForwardOnAPageAndInATrace) {
  const plan p = GetParam()();
  std::size_t instructions = 0;
  for (const replica_plan& r : p.replicas)
    for (const program& code : r.programs) instructions += code.size();
  std::ostringstream page, trace;
  ASSERT_TRUE(io::write_timeline(page, std::vector<plan>{p}));
  EXPECT_NE(page.str().find("</html>"), std::string::npos);
  ASSERT_TRUE(io::write_trace(trace, p));
  std::size_t shown = 0;
  const nlohmann::json events = nlohmann::json::parse(trace.str());
  for (const nlohmann::json& event : events["traceEvents"])
    shown += event.value("ph", "") == "X" && event.value("name", "").starts_with("F");
  EXPECT_EQ(shown, instructions);
  std::ostringstream graph;
  EXPECT_TRUE(io::write_graph(graph, p));
}

}  // namespace
}  // namespace slimpack::forward_plan_test
