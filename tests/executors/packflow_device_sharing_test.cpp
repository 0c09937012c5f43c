#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "../transports/device_world.hpp"
#include "../transports/nccl_world.hpp"
#include "everywhere.hpp"
#include "launched_sharer.hpp"
#include "planned.hpp"

#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/testing/detail/compute_steps.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::packflow_device_sharing_test {
namespace {

constexpr exchange all_exchanges[]{exchange::keep, exchange::queries, exchange::ring};

result<plan> shared_plan(const shape& on, std::span<const tokens> lengths, std::uint32_t sharers, exchange how) {
  return tests::planned(on, lengths, slicers::equal_cost{},
                        solvers::two_phase{.effort = solvers::search_budget::fast(), .most_sharers = sharers, .exchanges = exchange_set::only(how)},
                        schedules::list{});
}

/// What all ranks of a step made.
struct outcome {
  std::vector<std::optional<result<step_report>>> reports;
  std::vector<std::vector<double>> gradients;
  std::vector<bytes> held;
  int waits{};
  int rows{};
};

template <class World>
using end_of = std::remove_cvref_t<decltype(std::declval<World&>().endpoint(0))>;

/// fails_at: which call of a row, on the last rank
template <template <class> class Stage = launched_sharer, class World>
outcome run(World& world, const plan& p, int fails_at = 0) {
  const auto ranks = static_cast<std::size_t>(tests::ranks_of(p));
  outcome made{std::vector<std::optional<result<step_report>>>(ranks), std::vector<std::vector<double>>(ranks), std::vector<bytes>(ranks), 0, 0};
  std::vector<int> waits(ranks), rows(ranks);
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    auto&& endpoint = world.endpoint(rank);
    Stage<end_of<World>> stage(rank % p.shape.stages, p.shape.stages, p.shape.chunks, endpoint);
    if (rank + 1 == tests::ranks_of(p)) stage.fails_at = fails_at;
    made.reports[at].emplace(executors::packflow<>{}.execute(p, stage, endpoint));
    made.gradients[at].assign(stage.gradient().begin(), stage.gradient().end());
    made.held[at] = stage.held();
    waits[at] = stage.waits();
    rows[at] = stage.rows_run();
  });
  for (std::size_t rank = 0; rank < ranks; ++rank) made.waits += waits[rank], made.rows += rows[rank];
  return made;
}

// Numbers are integers that doubles hold exactly, so equality is meant to the last bit.
void expect_exact(const outcome& made, const plan& p, const std::string& what) {
  const auto stages = static_cast<std::size_t>(p.shape.stages), chunks = static_cast<std::size_t>(p.shape.chunks);
  const prefix_model::gradients expected = prefix_model::whole(p.lengths, p.shape.parts() * 2);
  for (std::size_t rank = 0; rank < made.reports.size(); ++rank) {
    ASSERT_TRUE(*made.reports[rank]) << made.reports[rank]->error().detail << what;
    EXPECT_EQ(made.reports[rank]->value().loss_sum, expected.loss) << what;
    for (std::size_t c = 0; c < chunks; ++c)
      for (std::size_t l = 0; l < 2; ++l)
        EXPECT_EQ(made.gradients[rank][2 * c + l], expected.weight[2 * (c * stages + rank % stages) + l]) << "rank " << rank << what;
  }
}

/// A long sequence or two, and short ones.
std::vector<tokens> long_and_short(testing::generator& random) {
  std::vector<tokens> lengths{{random.between(60, 120)}};
  for (int i = 0; i < 5; ++i) lengths.push_back({random.between(1, 24)});
  if (random.once_in(2)) lengths.push_back({random.between(40, 90)});
  return lengths;
}

/// Calls check(plan, device, what) with plans that share sequences, by each exchange, of 1 to 3 stages and 2 to 4 replicas.
template <class Check>
void on_shared_plans(int cases, const Check& check) {
  std::array<int, 3> shared{};
  for (int seed = 1; seed <= cases; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const std::size_t how = static_cast<std::size_t>(seed) % 3;
    const std::int64_t deepest = all_exchanges[how] == exchange::ring ? 1 + seed % 4 / 3 : 3;  // a sequence of one row is for few stages
    const shape on{.stages = static_cast<int>(random.between(1, deepest)), .replicas = static_cast<int>(random.between(2, 4)),
                   .quantum = {random.between(1, 4)}};
    const std::vector<tokens> lengths = long_and_short(random);
    const plan p = shared_plan(on, lengths, static_cast<std::uint32_t>(random.between(2, on.replicas)), all_exchanges[how]).value();
    shared[how] += !p.merges.empty();
    const std::string what = "\nseed " + std::to_string(seed) + ", exchange " + std::string(name_of(all_exchanges[how])) + ", " +
                             std::to_string(on.stages) + " stages, " + std::to_string(on.replicas) + " replicas";
    check(p, devices::host::options{.seed = static_cast<std::uint64_t>(seed), .delay = {20e-6}, .in_issue_order = seed / 3 % 2 == 0}, what);
  }
  for (std::size_t how = 0; how < 3; ++how) EXPECT_GT(shared[how], cases / 8) << name_of(all_exchanges[how]) << " of " << cases;
}

TEST(PackflowSharingOverDevices, GivesTheGradientsOfUncutSequences) {
  on_shared_plans(tests::cases(36), [](const plan& p, devices::host::options device, const std::string& what) {
    device_world world(tests::ranks_of(p), device, {10});
    expect_exact(run(world, p), p, what);
  });
}

TEST(PackflowSharingOverDevices, GivesThemOverCommunicatorsWithoutAWaitOfTheHost) {
  on_shared_plans(tests::cases(36), [](const plan& p, devices::host::options device, const std::string& what) {
    nccl_world world(tests::ranks_of(p), device, {10}, device.seed % 2 == 0);
    expect_exact(run(world, p), p, what);  // makes communicators
    const outcome again = run(world, p);
    expect_exact(again, p, what);
    EXPECT_EQ(again.waits, 0) << "calls at which a host may wait for its device" << what;
  });
}

}  // namespace
}  // namespace slimpack::packflow_device_sharing_test
