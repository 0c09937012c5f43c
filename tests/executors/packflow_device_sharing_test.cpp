#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "../transports/device_world.hpp"
#include "../transports/nccl_world.hpp"
#include "everywhere.hpp"
#include "launched_sharer.hpp"
#include "planned.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
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
  return tests::planned(
      on, lengths, slicers::equal_cost{},
      solvers::two_phase{
          .effort = solvers::search_budget::fast(), .most_sharers = sharers, .exchanges = exchange_set::only(how)},
      schedules::list{});
}

/// What all ranks of a step made.
struct outcome {
  std::vector<std::optional<result<step_report>>> reports;
  std::vector<std::vector<double>> gradients;
  std::vector<bytes> held;
  std::vector<int> rows;  // calls of rows, by rank
  int waits{};
};

template <class World>
using end_of = std::remove_cvref_t<decltype(std::declval<World&>().endpoint(0))>;

/// fails_at: which call of a row, on a rank
template <template <class> class Stage = launched_sharer, class World>
outcome run(World& world, const plan& p, int failing = -1, int fails_at = 0) {
  const auto ranks = static_cast<std::size_t>(tests::ranks_of(p));
  outcome made{std::vector<std::optional<result<step_report>>>(ranks), std::vector<std::vector<double>>(ranks),
               std::vector<bytes>(ranks), std::vector<int>(ranks), 0};
  std::vector<int> waits(ranks);
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    auto&& endpoint = world.endpoint(rank);
    Stage<end_of<World>> stage(rank % p.shape.stages, p.shape.stages, p.shape.chunks, endpoint);
    if (rank == failing) stage.fails_at = fails_at;
    made.reports[at].emplace(executors::packflow{}.execute(p, stage, endpoint));
    made.gradients[at].assign(stage.gradient().begin(), stage.gradient().end());
    made.held[at] = stage.held();
    waits[at] = stage.waits();
    made.rows[at] = stage.rows_run();
  });
  for (const int w : waits) made.waits += w;
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
        EXPECT_EQ(made.gradients[rank][2 * c + l], expected.weight[2 * (c * stages + rank % stages) + l])
            << "rank " << rank << what;
  }
}

/// A long sequence or two, and short ones.
std::vector<tokens> long_and_short(testing::generator& random) {
  std::vector<tokens> lengths{{random.between(60, 120)}};
  for (int i = 0; i < 5; ++i) lengths.push_back({random.between(1, 24)});
  if (random.once_in(2)) lengths.push_back({random.between(40, 90)});
  return lengths;
}

/// Calls check(plan, device, what) with plans that share sequences, by each exchange, of 1 to 3 stages and 2 to 4
/// replicas.
template <class Check>
void on_shared_plans(int cases, const Check& check) {
  std::array<int, 3> shared{};
  for (int seed = 1; seed <= cases; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const std::size_t how = static_cast<std::size_t>(seed) % 3;
    const std::int64_t deepest = all_exchanges[how] == exchange::ring ? 1 + seed % 4 / 3 : 3;  // a sequence of one row
                                                                                               // is for few stages
    const shape on{.stages = static_cast<int>(random.between(1, deepest)),
                   .replicas = static_cast<int>(random.between(2, 4)),
                   .quantum = {random.between(1, 4)}};
    const std::vector<tokens> lengths = long_and_short(random);
    const plan p =
        shared_plan(on, lengths, static_cast<std::uint32_t>(random.between(2, on.replicas)), all_exchanges[how])
            .value();
    shared[how] += !p.merges.empty();
    const std::string what = "\nseed " + std::to_string(seed) + ", exchange " +
                             std::string(name_of(all_exchanges[how])) + ", " + std::to_string(on.stages) + " stages, " +
                             std::to_string(on.replicas) + " replicas";
    check(p,
          devices::host::options{
              .seed = static_cast<std::uint64_t>(seed), .delay = {20e-6}, .in_issue_order = seed / 3 % 2 == 0},
          what);
  }
  for (std::size_t how = 0; how < 3; ++how)
    EXPECT_GT(shared[how], cases / 9) << name_of(all_exchanges[how]) << " of " << cases;
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

// What no solver here makes: rows of which some sharers have nothing, in random packs.
/// Four replicas on two nodes.
TEST(PackflowSharingOverDevices, RelaysRowsThatGoRoundBetweenNodes) {
  for (int seed = 1; seed <= 4; ++seed) {
    if (!tests::is_tried(seed - 1)) continue;
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = 1 + seed % 2, .replicas = 4, .quantum = {random.between(1, 4)}};
    const solvers::context_parallel rings{
        .exchange = seed % 3 == 0 ? exchange::queries : exchange::ring,
        .relays = {.segments = static_cast<std::uint32_t>(1 + seed % 3), .replicas_per_node = 2}};
    const plan p =
        tests::planned(on, long_and_short(random), slicers::equal_cost{}, rings, schedules::one_f_one_b{}).value();
    EXPECT_TRUE(std::any_of(p.merges.begin(), p.merges.end(), [](const merge& m) { return m.relays.size() == 2; }));
    const devices::host::options device{
        .seed = static_cast<std::uint64_t>(seed), .delay = {20e-6}, .in_issue_order = seed < 3};
    const std::string what = "\nseed " + std::to_string(seed);
    device_world streams(tests::ranks_of(p), device, {10});
    expect_exact(run(streams, p), p, what);
    nccl_world communicators(tests::ranks_of(p), device, {10}, seed % 2 == 0);
    expect_exact(run(communicators, p), p, what);  // makes communicators
    const outcome again = run(communicators, p);
    expect_exact(again, p, what);
    EXPECT_EQ(again.waits, 0) << "calls at which a host may wait for its device" << what;
  }
}

TEST(PackflowSharingOverDevices, RunsRowsOfWhichSharersHaveNothing) {
  const int cases = tests::cases(16);
  int absent = 0;
  for (int seed = 1; seed <= cases; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 3)),
                   .replicas = static_cast<int>(random.between(2, 4)),
                   .quantum = {random.between(1, 4)}};
    std::vector<tokens> lengths{{random.between(30, 60)}};
    for (int i = 0; i < 3; ++i) lengths.push_back({random.between(1, 24)});
    solution given = testing::random_sharers(lengths, on, random);
    random.shuffle(given.merges);
    const plan p = tests::planned(on, lengths, slicers::equal_cost{}, testing::detail::solution_as_given{&given},
                                  schedules::list{})
                       .value();
    for (const merge& m : p.merges)
      for (const pass way : both_passes)
        for (const auto& row : m.of(way)) absent += static_cast<int>(std::count(row.begin(), row.end(), merge::none));
    const std::string what = "\nseed " + std::to_string(seed);
    const devices::host::options device{
        .seed = static_cast<std::uint64_t>(seed), .delay = {20e-6}, .in_issue_order = seed % 2 == 0};
    device_world copies(tests::ranks_of(p), device, {10});
    expect_exact(run(copies, p), p, what);
    nccl_world world(tests::ranks_of(p), device, {10}, seed % 3 != 0);
    expect_exact(run(world, p), p, what);
    const outcome again = run(world, p);
    expect_exact(again, p, what);
    EXPECT_EQ(again.waits, 0) << what;
  }
  std::cout << cases << " plans, sharers without tokens of a row " << absent << " times\n";
  EXPECT_GT(absent, cases);
}

template <class World>
void expect_exact_after_failure(World& world, const plan& p, testing::generator& random, const std::string& what) {
  const outcome first = run(world, p);
  expect_exact(first, p, what);
  if (p.merges.empty()) return;
  const std::vector<std::uint32_t>& sharers = p.merges[0].replicas;
  const int failing =
      static_cast<int>(
          sharers[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(sharers.size()) - 1))]) *
          p.shape.stages +
      static_cast<int>(random.between(0, p.shape.stages - 1));
  const outcome failed =
      run(world, p, failing, static_cast<int>(random.between(1, first.rows[static_cast<std::size_t>(failing)])));
  for (std::size_t rank = 0; rank < failed.reports.size(); ++rank) {
    ASSERT_FALSE(*failed.reports[rank]) << what;
    EXPECT_NE(failed.reports[rank]->error().detail.find("a kernel that cannot be launched"), std::string::npos)
        << failed.reports[rank]->error().detail << what;
    EXPECT_EQ(failed.held[rank], bytes{0}) << what;
  }
  expect_exact(run(world, p), p, what);
}

TEST(PackflowSharingOverDevices, RunsTheNextStepExactlyAfterOneThatFailed) {
  on_shared_plans(tests::cases(24), [](const plan& p, devices::host::options device, const std::string& what) {
    testing::generator random(device.seed);
    device_world copies(tests::ranks_of(p), device, {10});
    expect_exact_after_failure(copies, p, random, what);
    nccl_world world(tests::ranks_of(p), device, {10}, device.seed % 2 == 0);
    expect_exact_after_failure(world, p, random, what);
  });
}

TEST(PackflowSharingOverDevices, EvaluatesWithTheLossOfTheStep) {
  on_shared_plans(tests::cases(24), [](const plan& p, devices::host::options device, const std::string& what) {
    nccl_world world(tests::ranks_of(p), device, {10}, device.seed % 2 == 0);
    const double expected = prefix_model::whole(p.lengths, p.shape.parts() * 2).loss;
    tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
      launched_sharer<nccl_world::end> stage(rank % p.shape.stages, p.shape.stages, p.shape.chunks,
                                             world.endpoint(rank));
      const result<step_report> done = executors::packflow{}.evaluate(p, stage, world.endpoint(rank));
      ASSERT_TRUE(done) << done.error().detail << what;
      EXPECT_EQ(done.value().loss_sum, expected) << what;
      EXPECT_EQ(stage.held(), bytes{0}) << what;
    });
  });
}

// Each rank plans the group of its replica alone; groups have orders of transfers of their own.
TEST(PackflowSharingOverDevices, RunsWhatEachRankHasPlanned) {
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  const solvers::two_phase_estimated solver{{.effort = solvers::search_budget::fast(), .threads = 1}};
  int shared = 0;
  for (int seed = 1; seed <= tests::steps(6); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 2)),
                   .replicas = static_cast<int>(random.between(3, 4)),
                   .quantum = {random.between(1, 4)}};
    std::vector<tokens> lengths{{random.between(120, 160)}};
    for (int i = 0; i < 12; ++i) lengths.push_back({random.between(1, 40)});
    const basic_planner plan_batch{on, slicers::equal_cost{}, cost, solver, schedules::list{}, simulators::sweep{}};
    std::vector<rank_plan> parts;
    for (int replica = 0; replica < on.replicas; ++replica)
      parts.push_back(plan_batch.of_replica(lengths, static_cast<std::uint32_t>(replica)).value());
    for (const rank_plan& one : parts) shared += !one.part.merges.empty();
    const prefix_model::gradients expected = prefix_model::whole(lengths, on.parts() * 2);
    nccl_world world(on.stages * on.replicas,
                     {.seed = static_cast<std::uint64_t>(seed), .delay = {20e-6}, .in_issue_order = seed % 2 == 0},
                     {10});
    for (int step = 0; step < 2; ++step)
      tests::on_every_rank(on.stages * on.replicas, [&](int rank) {
        const int on_stage = rank % on.stages;
        launched_sharer<nccl_world::end> stage(on_stage, on.stages, on.chunks, world.endpoint(rank));
        const result<step_report> done = executors::packflow{.step = step}.execute(
            parts[static_cast<std::size_t>(rank / on.stages)], stage, world.endpoint(rank));
        ASSERT_TRUE(done) << done.error().detail << ", seed " << seed;
        EXPECT_EQ(done.value().loss_sum, expected.loss) << "seed " << seed;
        for (std::size_t l = 0; l < 2; ++l)
          EXPECT_EQ(stage.gradient()[l], expected.weight[2 * static_cast<std::size_t>(on_stage) + l])
              << "rank " << rank << ", seed " << seed;
      });
  }
  EXPECT_GT(shared, 6) << "sequences must be shared for this to show anything";
}

/// Sums each chunk as soon as its gradients are final.
template <class End>
class reducing_sharer : public launched_sharer<End> {
 public:
  using launched_sharer<End>::launched_sharer;
  template <class Group>
  result<void> reduce(Group&) {
    return success();
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    return sums.start(std::span(this->gradient_).subspan(2 * chunk, 2));
  }
};

// Ranks that run one thing at a time, in the order of issue, would report sums and exchanges that wait for each other:
// of seed 20, where one sharer's gradients of a chunk are final before the other's exchanges of the chunk before.
TEST(PackflowSharingOverDevices, GivesTheSameBitsWhereSumsRunBesideTheProgram) {
  int beside = 0, chunked = 0;
  for (int seed = 1; seed <= tests::steps(24); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 2)),
                   .replicas = static_cast<int>(random.between(2, 3)),
                   .chunks = seed % 6 == 0 ? 1 : 2,
                   .quantum = {random.between(1, 4)}};
    std::vector<tokens> lengths = long_and_short(random);
    for (int i = 0; i < 8; ++i) lengths.push_back({random.between(1, 24)});
    plan p = shared_plan(on, lengths, static_cast<std::uint32_t>(on.replicas), all_exchanges[seed % 2]).value();
    p.reduction.emplace();
    beside += !p.merges.empty(), chunked += !p.merges.empty() && on.chunks > 1;
    const std::string what = "\nseed " + std::to_string(seed);
    nccl_world world(tests::ranks_of(p),
                     {.seed = static_cast<std::uint64_t>(seed), .delay = {20e-6}, .in_issue_order = seed % 3 != 0},
                     {10}, seed % 2 == 0);
    expect_exact(run<reducing_sharer>(world, p), p, what);
    const outcome again = run<reducing_sharer>(world, p);
    expect_exact(again, p, what);
    EXPECT_EQ(again.waits, 0) << what;
  }
  std::cout << beside << " plans share sequences, " << chunked << " of these on several chunks\n";
  EXPECT_GT(beside, 6);
  EXPECT_GT(chunked, 3);
}

/// What ranks say of a step that does not begin.
template <class Compute>
std::vector<std::string> refusals(const plan& p) {
  nccl_world world(tests::ranks_of(p), {.delay = {0}}, {10});
  std::vector<std::string> said(static_cast<std::size_t>(tests::ranks_of(p)));
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    Compute stage(rank % p.shape.stages, p.shape.stages, p.shape.chunks);
    const result<step_report> step = executors::packflow{}.execute(p, stage, world.endpoint(rank));
    said[static_cast<std::size_t>(rank)] = step ? "no error" : step.error().detail;
  });
  return said;
}

TEST(PackflowSharingOverDevices, RefusesAComputeThatWorksOnMemoryOfTheHost) {
  const std::vector<tokens> lengths{{160}, {12}, {7}};
  for (const exchange how : {exchange::keep, exchange::queries}) {
    const plan p = shared_plan({.stages = 2, .replicas = 2, .quantum = {4}}, lengths, 2, how).value();
    ASSERT_FALSE(p.merges.empty());
    const std::string expected =
        std::string("it does not offer make_tensor, copy_rows") + (how == exchange::keep ? ", add_rows (" : " (");
    bool is_said = false;
    for (const std::string& line : refusals<shared_prefix_stage<backward_cuts::any>>(p)) {
      is_said |= line.find(expected) != std::string::npos;
      EXPECT_NE(line, "no error");
    }
    EXPECT_TRUE(is_said) << name_of(how);
  }
}

/// Its tensors are too small for what is asked.
template <class End>
class short_tensors : public launched_sharer<End> {
 public:
  using launched_sharer<End>::launched_sharer;
  devices::host::memory make_tensor(tokens size) { return launched_sharer<End>::make_tensor(size - tokens{1}); }
};

TEST(PackflowSharingOverDevices, RefusesTensorsThatAreTooSmallForRows) {
  const plan p = shared_plan({.stages = 1, .replicas = 2, .quantum = {4}}, std::vector<tokens>{{160}, {12}, {7}}, 2,
                             exchange::keep)
                     .value();
  ASSERT_FALSE(p.merges.empty());
  nccl_world world(2, {.delay = {0}}, {10});
  for (const auto& report : run<short_tensors>(world, p).reports) {
    ASSERT_FALSE(*report);
    EXPECT_NE(report->error().detail.find("as rows that replicas share"), std::string::npos) << report->error().detail;
  }
}

}  // namespace
}  // namespace slimpack::packflow_device_sharing_test
