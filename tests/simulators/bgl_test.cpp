#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulator/bgl.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <boost/concept/assert.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::bgl_test {
namespace {

BOOST_CONCEPT_ASSERT((boost::concepts::VertexListGraphConcept<simulators::task_graph>));
BOOST_CONCEPT_ASSERT((boost::concepts::IncidenceGraphConcept<simulators::task_graph>));

void expect_agreement(const workload& work, const std::vector<program>& programs) {
  simulators::task_graph graph;
  ASSERT_TRUE(graph.assign(work, programs).has_value());
  std::vector<seconds> start;
  const seconds certified = simulators::certified_makespan(graph).value();
  EXPECT_EQ(graph.sweep(start), certified);
  EXPECT_EQ(simulators::makespan(work, programs).value(), certified);
}

TEST(BoostGraph, FindsTheClosedFormOfUniform1F1B) {
  const workload work = tests::uniform_work(4, 8, {{1}, {2}});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value();
  EXPECT_EQ(simulators::certified_makespan(graph).value(), seconds{(8 + 4 - 1) * 3});
}

TEST(BoostGraph, AgreesExactlyWithTheSweepOnRandomPlans) {
  for (const std::uint64_t seed : {11u, 12u}) {
    SCOPED_TRACE(seed);
    testing::generator random(seed);
    for (int i = tests::cases(50); i > 0; --i) {
      const workload work = testing::any_replica({.longest = {32768}, .chunks = seed == 12 ? 3 : 1}, random).work;
      expect_agreement(work, schedules::one_f_one_b{}.programs(work).value());
      if (work.shape.chunks == 1) expect_agreement(work, schedules::list{}.programs(work).value());
    }
  }
}

TEST(BoostGraph, AgreesExactlyWhereDurationsAreNoDecimals) {
  testing::generator random(13);
  for (int i = tests::cases(50); i > 0; --i) {
    workload work = testing::any_replica({.longest = {32768}}, random).work;
    for (pass_timing* t : {&work.forward, &work.backward})
      for (std::vector<seconds>* times : {&t->time, &t->message})
        for (seconds& s : *times) s = {random.ratio()};
    expect_agreement(work, schedules::one_f_one_b{}.programs(work).value());
  }
}

TEST(BoostGraph, ListsEdgesAsTheGraphDoes) {
  const workload work = tests::uniform_work(2, 2, {});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
  std::size_t edges = 0;
  for (auto [v, end] = vertices(graph); v != end; ++v) {
    EXPECT_EQ(out_degree(*v, graph), graph.successors(*v).size());
    for (auto [e, last] = out_edges(*v, graph); e != last; ++e, ++edges) {
      EXPECT_EQ(source(*e, graph), *v);
      EXPECT_EQ(target(*e, graph), graph.successors(*v)[(*e).rank]);
    }
  }
  EXPECT_EQ(edges, graph.edges());
}

}  // namespace
}  // namespace slimpack::bgl_test
