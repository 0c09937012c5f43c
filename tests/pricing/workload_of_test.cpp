#include <slimpack/simulators/plan_graphs.hpp>

#include <slimpack/planner.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::workload_of_test {
namespace {

// Replicas that share nothing run as their plan says, without the cost model that priced them: to the last bit.
TEST(WorkloadOf, RunsAPlanAgain) {
  testing::generator random(11);
  for (const int replicas : {1, 2}) {
    std::vector<tokens> lengths;
    for (int i = 0; i < 12; ++i) lengths.push_back(random.length({8192}));
    const plan p = planner{shape{.stages = 3, .replicas = replicas}, slicers::equal_cost{},
                           costs::quadratic{.per_pack = {6e-5}, .hop = {2e-5}},
                           solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = 1}}(lengths)
                       .value();
    ASSERT_TRUE(p.merges.empty());
    for (std::size_t i = 0; i < p.replicas.size(); ++i) {
      const workload work = simulators::workload_of(p, i);
      const std::vector<program>& programs = p.replicas[i].programs;
      EXPECT_EQ(work.shape, p.shape);
      EXPECT_EQ(simulators::makespan(work, programs).value(), p.replicas[i].makespan) << "replica " << i << ", seed 11";
      EXPECT_EQ(simulators::peak_memory(work, programs), p.replicas[i].peak_memory) << "replica " << i << ", seed 11";
    }
  }
}

// A plan of a file has no memory rates: stages then hold the tokens in flight.
TEST(WorkloadOf, APlanWithoutRatesCountsTokens) {
  const std::vector<tokens> lengths{{900}, {4000}, {100}};
  plan p = planner{shape{.stages = 2}}(lengths).value();
  const std::vector<double> tokens_held = p.replicas[0].peak_memory;
  p.replicas[0].rates.clear();
  const workload work = simulators::workload_of(p, 0);
  EXPECT_EQ(work.rates.size(), 2u);
  EXPECT_EQ(simulators::peak_memory(work, p.replicas[0].programs), tokens_held);
}

}  // namespace
}  // namespace slimpack::workload_of_test
