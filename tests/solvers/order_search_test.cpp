#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/gradient_reduction.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/improve/detail/order_search.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/naive/slices.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace slimpack::order_search_test {
namespace {

/// Bytes that are no whole numbers, accumulators among them.
struct with_bytes : costs::quadratic {
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return memory_rates{.fixed = 1e9 / 3,
                        .live_token = 100.0 / 3 + stage,
                        .gradient_token = 10.0 / 3,
                        .forward_token = 5.0 / 3,
                        .backward_token = 7.0 / 3,
                        .weight_token = 8.0 / 3,
                        .forward_pair = 1e-2 / 3,
                        .backward_pair = 2e-2 / 3};
  }
};

/// Whose first packs wait for weights, and whose sums are late to last packs: the larger they are, the less.
struct with_reduction : with_bytes {
  static constexpr gradient_bucket buckets[]{{0, {1e-3}, {2e-3}}, {0.5, {2e-3}, {4e-3}}};
  [[nodiscard]] std::span<const gradient_bucket> gradient_buckets(int) const { return buckets; }
};

/// Whether packs run each token once, from the fronts of sequences forward and from their ends backward, along paths.
bool complete(const micropacks& packs, pass p, const std::vector<sequence>& own) {
  const auto slices = testing::naive::by_sequence(packs);
  return slices.size() == own.size() && !testing::naive::broken_path(packs, own, p) &&
         std::all_of(own.begin(), own.end(),
                     [&](const sequence& s) { return !testing::naive::gap(slices.at(s.id), s.whole(), p); });
}

/// What a search makes of packs of equal work, checked by the task graph and the memory account.
/// most: of the time of the steps before; shares: whether samples share beginnings
template <class Slicer, class Schedule = schedules::list, class Cost = with_bytes>
void improve(const Slicer& slicer, std::uint64_t seed, double most, int chunks = 1, const Schedule& schedule = {},
             const Cost& cost = {{.per_pack = {6e-5}, .hop = {2e-5}}}, bool shares = false) {
  testing::generator random(seed);
  detail::splitmix choices;
  double before = 0, after = 0;
  for (int i = 0; i < 30; ++i) {
    forest batch;
    if (shares)
      batch = testing::trial_forest(random, random.between(1, 40), {6000});
    else
      batch.lengths = tests::random_lengths(random, 40, {6000});
    const std::vector<sequence> own = batch_view(batch).sequences();
    shape on{.stages = static_cast<int>(random.between(1, 6)), .replicas = 2, .chunks = chunks};
    const cut_budget base{{}, {7000}, on.quantum, 0, true};
    partition packs;
    for (const pass p : {pass::forward, pass::backward}) {
      const seconds size{1e-3 * static_cast<double>(random.between(1, 4))};
      ASSERT_TRUE(detail::fill(
          p == pass::forward ? packs.forward : packs.backward, shares ? testing::any_order(own, p, random) : own, p,
          slicer, cost, base, [&](seconds) { return size; }, [](const sequence&) { return false; }));
    }
    const std::vector<memory_rates> rates = rates_of(cost, on).value();
    const detail::cost_behind searched(cost);
    const auto priced = [&](const partition& of, std::span<const program> programs) {
      return settled(searched.priced(of, on, rates, weight_gradients_of<Schedule>, {}, batch.parents), programs);
    };
    const timed_programs start =
        schedule.timed(searched.priced(packs, on, rates, weight_gradients_of<Schedule>, {}, batch.parents)).value();
    const std::vector<double> held = simulators::peak_memory(priced(packs, start.programs), start.programs);
    on.memory = {memory_unit::byte, 1.02 * *std::max_element(held.begin(), held.end())};

    detail::order_search search(packs, start.programs, priced(packs, start.programs), std::span<const sequence>(own),
                                slicer, cost, base, choices);
    search.run(200'000, std::stop_token{});
    const partition made = search.packs();
    EXPECT_TRUE(complete(made.forward, pass::forward, own)) << "seed " << seed << ", batch " << i;
    EXPECT_TRUE(complete(made.backward, pass::backward, own)) << "seed " << seed << ", batch " << i;
    for (const micropacks* side : {&made.forward, &made.backward})
      for (std::size_t pack = 0; pack < side->size(); ++pack) EXPECT_LE(size_of((*side)[pack]), base.size);
    const std::vector<program> programs = search.programs();
    const workload work = priced(made, programs);
    simulators::task_graph graph;
    const result<void> built = graph.assign(work, programs);
    ASSERT_TRUE(built) << built.error().detail << ", seed " << seed << ", batch " << i;
    std::vector<seconds> starts;
    const seconds makespan = graph.sweep(starts);
    EXPECT_NEAR(makespan.value, search.makespan().value, 1e-9 * makespan.value) << "seed " << seed << ", batch " << i;
    EXPECT_LE(makespan.value, start.makespan.value * (1 + 1e-9)) << "seed " << seed << ", batch " << i;
    for (const double peak : simulators::peak_memory(work, programs)) EXPECT_LE(peak, on.memory->amount);
    before += start.makespan.value, after += makespan.value;
  }
  std::cout << "seed " << seed << ": steps of " << before << " s before, " << after << " s after\n";
  EXPECT_LT(after, most * before);
}

TEST(OrderSearch, ShortensStepsWithinMemoryWhereSlicesAreOfEqualCost) { improve(slicers::equal_cost{}, 3, 0.99); }
TEST(OrderSearch, ShortensStepsWithinMemoryWhereSlicesAreOfOneLength) { improve(slicers::uniform{{512}}, 4, 0.99); }
TEST(OrderSearch, ShortensStepsWithinMemoryWhereNothingIsCut) { improve(slicers::whole{}, 5, 0.999); }
TEST(OrderSearch, ShortensStepsWithinMemoryWithChunks) {
  improve(slicers::equal_cost{}, 6, 0.995, 2);
  improve(slicers::uniform{{512}}, 7, 0.995, 3);
}
TEST(OrderSearch, ShortensStepsWithinMemoryWhereWeightGradientsRunApart) {
  improve(slicers::equal_cost{}, 8, 0.995, 1, schedules::zero_bubble{});
  improve(slicers::equal_cost{}, 9, 0.995, 2, schedules::zero_bubble{});
}
TEST(OrderSearch, CountsWhatTheFirstPackWaitsForWeightsAndTheStepForLateSums) {
  const with_reduction cost{{{.per_pack = {6e-5}, .hop = {2e-5}}}};
  improve(slicers::equal_cost{}, 10, 0.995, 1, schedules::list{}, cost);
  improve(slicers::uniform{{512}}, 11, 0.995, 2, schedules::list{}, cost);
}

TEST(OrderSearch, ShortensStepsOfSamplesThatShareBeginnings) {
  const with_bytes cost{{.per_pack = {6e-5}, .hop = {2e-5}}};
  improve(slicers::equal_cost{}, 12, 0.995, 1, schedules::list{}, cost, true);
  improve(slicers::uniform{{512}}, 13, 0.998, 2, schedules::list{}, cost, true);
  improve(slicers::equal_cost{}, 14, 0.995, 1, schedules::zero_bubble{}, cost, true);
}

}  // namespace
}  // namespace slimpack::order_search_test
