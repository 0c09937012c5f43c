#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/rooted_graph.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>

#include "workloads.hpp"

#include <gtest/gtest.h>
#include <boost/concept/assert.hpp>
#include <boost/graph/graph_concepts.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::rooted_graph_test {
namespace {

BOOST_CONCEPT_ASSERT((boost::concepts::VertexListGraphConcept<simulators::rooted_graph>));
BOOST_CONCEPT_ASSERT((boost::concepts::IncidenceGraphConcept<simulators::rooted_graph>));

TEST(RootedGraph, LeadsFromItsSourceToAllThatWaitForNothing) {
  const workload work = tests::uniform_work(2, 2, {});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
  const simulators::rooted_graph rooted(graph.tasks(), graph.rows(), graph.targets());
  std::size_t edges = 0;
  for (auto [v, end] = vertices(rooted); v != end; ++v)
    for (auto [e, last] = out_edges(*v, rooted); e != last; ++e, ++edges) {
      EXPECT_EQ(source(*e, rooted), *v);
      EXPECT_EQ(target(*e, rooted), rooted.successors(*v)[(*e).rank]);
      EXPECT_EQ(rooted.weight(*e), *v == rooted.root() ? seconds{} : graph.tasks()[*v].duration);
    }
  EXPECT_EQ(out_degree(rooted.root(), rooted), 1u);  // stage 0's first forward; all else waits
  EXPECT_EQ(edges, graph.edges() + 1);
}

// 0 -> 1 -> 2, 0 -> 2, and 3 alone: the source, 4, leads to 0 and 3.
TEST(RootedGraph, ReadsCompressedRows) {
  const std::vector<simulators::task> tasks(4);
  const std::vector<std::uint32_t> rows{0, 2, 3, 3, 3};
  const std::vector<simulators::task_graph::node> targets{1, 2, 2};
  const simulators::rooted_graph rooted(tasks, rows, targets);
  EXPECT_EQ(num_vertices(rooted), 5u);
  EXPECT_EQ(rooted.root(), 4u);
  const auto successors = [&](simulators::rooted_graph::node n) {
    const auto found = rooted.successors(n);
    return std::vector<simulators::rooted_graph::node>(found.begin(), found.end());
  };
  using nodes = std::vector<simulators::rooted_graph::node>;
  EXPECT_EQ(successors(4), (nodes{0, 3}));
  EXPECT_EQ(successors(0), (nodes{1, 2}));
  EXPECT_EQ(successors(1), nodes{2});
  EXPECT_TRUE(successors(2).empty());
  EXPECT_TRUE(successors(3).empty());
}

// Nothing waits for nothing, so that the source leads nowhere.
TEST(RootedGraph, OfNoTasksIsItsSource) {
  const std::vector<std::uint32_t> rows{0};
  const simulators::rooted_graph rooted({}, rows, {});
  EXPECT_EQ(num_vertices(rooted), 1u);
  EXPECT_EQ(out_degree(rooted.root(), rooted), 0u);
}

}  // namespace
}  // namespace slimpack::rooted_graph_test
