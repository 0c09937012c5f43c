#include <slimpack/executors/packflow.hpp>
#include <slimpack/executors/row_traffic.hpp>

#include "../laws/cases.hpp"
#include "everywhere.hpp"
#include "one_at_a_time.hpp"
#include "planned.hpp"
#include "shared_prefix_model.hpp"

#include <slimpack/core/relays/legs.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::packflow_relays_test {
namespace {

template <class Compute>
class PackflowRelays : public ::testing::Test {};
using forms = ::testing::Types<shared_prefix_stage<backward_cuts::any>, shared_prefix_graphs<true>>;
TYPED_TEST_SUITE(PackflowRelays, forms);

/// Every sequence on all replicas, whose nodes are groups of so many.
plan relayed_plan(const shape& on, const std::vector<tokens>& lengths, exchange how, const solvers::relaying& relays) {
  return tests::planned(on, lengths, slicers::equal_cost{},
                        solvers::context_parallel{.exchange = how, .relays = relays}, schedules::one_f_one_b{})
      .value();
}

template <class Compute>
void is_exact(const plan& p, const std::vector<tokens>& lengths, const std::vector<result<step_report>>& reports,
              std::vector<Compute>& stages, const std::string& where) {
  const prefix_model::gradients expected = prefix_model::whole(lengths, p.shape.parts() * 2);
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", " << where;
    EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << where;
    for (std::size_t k = 0; k < stages[rank].gradient().size(); ++k)
      EXPECT_EQ(stages[rank].gradient()[k], expected.weight[static_cast<std::size_t>(stages[rank].part(0)) * 2 + k])
          << "rank " << rank << ", " << where;
    const row_format format = stages[rank].rows(0);
    const executors::row_traffic sent = executors::row_traffic_of(p, static_cast<int>(rank), {&format, 1}).value();
    EXPECT_EQ(reports[rank].value().exchanged, bytes{static_cast<double>(sent.bytes.forward + sent.bytes.backward)})
        << "rank " << rank << ", " << where;
  }
}

/// Nodes of 2 x 2, 2 x 4 and 3 x 2 replicas, with one stage and two. Numbers are integers that doubles hold exactly, so
/// equality is meant to the last bit.
TYPED_TEST(PackflowRelays, GiveTheGradientsOfUncutSequences) {
  std::size_t strands = 0, plans = 0;
  int k = 0;
  for (int seed = 1; seed <= 6; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    for (const auto& [stages, replicas, on_node] :
         {std::array{1, 4, 2}, std::array{1, 8, 4}, std::array{2, 4, 2}, std::array{1, 6, 2}}) {
      const shape on{.stages = stages, .replicas = replicas, .quantum = {random.between(1, 4)}};
      std::vector<tokens> lengths{{random.between(120, 200)}, {random.between(40, 80)}, {random.between(8, 30)}};
      const exchange how = seed % 2 == 0 ? exchange::ring : exchange::queries;
      const solvers::relaying relays{static_cast<std::uint32_t>(random.between(1, 3)),
                                     static_cast<std::uint32_t>(on_node), 1};
      if (!tests::is_tried(k++)) continue;
      const plan p = relayed_plan(on, lengths, how, relays);
      ++plans;
      for (const merge& m : p.merges)
        for (const relay& r : m.relays) strands += r.out.size();
      std::vector<TypeParam> computes = tests::one_per_rank<TypeParam>(p);
      const std::string where = "seed " + std::to_string(seed) + ", " + std::to_string(stages) + " stages, " +
                                std::to_string(replicas) + " replicas, " + std::to_string(relays.segments) +
                                " segments, " + std::string(name_of(how));
      is_exact(p, lengths, tests::run_everywhere(p, computes), computes, where);
      tests::one_at_a_time world(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
      std::vector<TypeParam> again = tests::one_per_rank<TypeParam>(p);
      is_exact(p, lengths, tests::run_everywhere(world, std::vector<const plan*>(again.size(), &p), again), again,
               where + ", one at a time");
    }
  }
  EXPECT_GT(strands, 25 * plans / 3);
}

/// Any replicas share any sequences, on nodes of two or three and adapters that some of them share.
TYPED_TEST(PackflowRelays, RunBetweenAnySharers) {
  const int cases = tests::cases(24);
  int relayed = 0;
  for (int seed = 1; seed <= cases; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 2)),
                   .replicas = static_cast<int>(random.between(4, 6)),
                   .quantum = {random.between(1, 4)}};
    const std::vector<tokens> lengths{{random.between(40, 90)}, {random.between(10, 40)}, {random.between(1, 24)}};
    solution given = testing::random_sharers(lengths, on, random, seed % 2 == 0 ? exchange::ring : exchange::queries);
    const solvers::relaying relays{static_cast<std::uint32_t>(random.between(1, 4)),
                                   static_cast<std::uint32_t>(random.between(2, 3)), 1};
    for (merge& m : given.merges) m.relays = relays.between(m.replicas), relayed += static_cast<int>(m.relays.size());
    const plan p = tests::planned(on, lengths, slicers::equal_cost{}, testing::detail::solution_as_given{&given},
                                  schedules::one_f_one_b{})
                       .value();
    std::vector<TypeParam> computes = tests::one_per_rank<TypeParam>(p);
    tests::one_at_a_time world(tests::ranks_of(p), static_cast<std::uint64_t>(seed));
    is_exact(p, lengths, tests::run_everywhere(world, std::vector<const plan*>(computes.size(), &p), computes),
             computes, "seed " + std::to_string(seed));
  }
  EXPECT_GT(relayed, cases / 2);
}

TEST(PackflowRelaysFailures, ALegThatLacksAPartyIsRefused) {
  plan p = relayed_plan({.replicas = 4, .quantum = {4}}, {{64}}, exchange::ring, {1, 2, 1});
  ASSERT_EQ(p.merges.size(), 1u);
  ASSERT_EQ(p.merges[0].relays.size(), 2u);
  EXPECT_EQ(p.merges[0].relays[0], (relay{{1, 0}, {2, 3}, 1}));
  EXPECT_EQ(p.merges[0].relays[1], (relay{{3, 2}, {0, 1}, 1}));
  p.merges[0].relays[0].out.pop_back();
  using stage = shared_prefix_stage<backward_cuts::any>;
  std::vector<stage> computes = tests::one_per_rank<stage>(p);
  for (const auto& report : tests::run_everywhere(p, computes)) {
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().detail.find("sequence 0 has a relay from replica 1 with a leg that lacks a party, 1 "
                                         "replicas that send across and 2 that hear: name as many in `in` as in `out`"),
              std::string::npos)
        << report.error().detail;
  }
}

}  // namespace
}  // namespace slimpack::packflow_relays_test
