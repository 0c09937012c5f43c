#include "../laws/cases.hpp"
#include "exact_step.hpp"

#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload_of.hpp>
#include <slimpack/simulators/memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <vector>

namespace slimpack::exactness_test {
namespace {

using tests::exact_batch;

/// The matrix: every planner and schedule, p in 1..4, dp in 1..3 (2..4 where replicas share sequences), both kinds of
/// backward cuts, virtual stages.
std::vector<shape> every_shape(tokens quantum, int fewest, int most) {
  std::vector<shape> all;
  for (int p = 1; p <= 4; ++p)
    for (int dp = fewest; dp <= most; ++dp) all.push_back({.stages = p, .replicas = dp, .quantum = quantum});
  all.push_back({.stages = 2, .chunks = 2, .quantum = quantum});
  all.push_back({.stages = 2, .replicas = 2, .chunks = 2, .quantum = quantum});
  return all;
}

template <class Stage>
double worst_error(const exact_batch& batch, const plan& p) {
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  std::vector<double> errors(static_cast<std::size_t>(tests::ranks_of(p)));
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    errors[static_cast<std::size_t>(rank)] = batch.error_of<Stage>(p, endpoint).value();
  });
  return *std::max_element(errors.begin(), errors.end());
}

struct tally {
  double worst{};
  int steps{};
  int uneven{};
  int shared{};
};

/// Steps of plans by each of some planners, on shapes with fewest to most replicas.
tally run_all(const std::vector<tests::named_planner>& planners, int fewest, int most) {
  tally seen;
  auto& [worst, steps, uneven, shared] = seen;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (const tests::named_planner& planner : planners) {
      for (const shape& on : every_shape(batch.quantum, fewest, most)) {
        const result<plan> made = planner.make(on, batch.lengths);
        if (on.chunks > 1 && !made) continue;  // list is for one chunk
        const plan& p = made.value();
        uneven += 2 * tests::asymmetric(p);
        shared += p.merges.empty() ? 0 : 2;
        const double any = worst_error<train::model_stage<double>>(batch, p);
        const double whole = worst_error<tests::whole_pieces>(batch, p);
        EXPECT_LT(std::max(any, whole), 1e-11) << planner.name << ", p " << on.stages << ", dp " << on.replicas << ", v "
                                               << on.chunks << ", seed " << seed;
        worst = std::max({worst, any, whole});
        steps += 2;
      }
    }
  }
  std::printf("%d steps, %d of asymmetric plans, %d shared, largest relative error %.2g, seeds 1 to %d\n", steps, uneven, shared,
              worst, tests::cases(2));
  EXPECT_GT(worst, 0) << "sums in another order differ in their last bits";
  return seen;
}

TEST(Exactness, LossAndGradientsAreThoseOfUncutSequences) {
  const tally seen = run_all(tests::every_planner(), 1, 3);
  EXPECT_GT(seen.uneven, seen.steps / 4) << "forward and backward packs must differ for this to show anything";
}

TEST(Exactness, SoTheyAreWhereReplicasShareSequences) {
  const tally seen = run_all(tests::sharing_planners(), 2, 4);
  EXPECT_GT(seen.shared, seen.steps / 2) << "sequences must be shared for this to show anything";
}

/// Whether some pack of a replica holds a shared row and anything else: its rows run one after the other, and hold less
/// than all of the pack at once, which is what the plan counts.
bool mixes(const plan& p, std::uint32_t replica) {
  for (const pass way : both_passes) {
    const micropacks& packs = p.replicas[replica].partition.of(way);
    for (std::size_t i = 0; i < packs.size(); ++i) {
      std::set<sequence_id> in_pack;
      bool shared = false;
      for (const slice& s : packs[i]) {
        in_pack.insert(s.sequence);
        for (const merge& m : p.merges) shared = shared || m.sequence == s.sequence;
      }
      if (shared && in_pack.size() > 1) return true;
    }
  }
  return false;
}

// What the store holds at most, keys and values of the others' tokens and their accumulators included.
TEST(Exactness, AStageHoldsWhatThePlanSaysWhereReplicasShare) {
  int exact = 0;
  int ranks_tried = 0;
  for (int seed = 1; seed <= tests::cases(2); ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (const tests::named_planner& planner : tests::sharing_planners()) {
      for (int stages = 1; stages <= 3; ++stages) {
        for (int dp = 2; dp <= 4; ++dp) {
          const plan p = planner.make({.stages = stages, .replicas = dp, .quantum = batch.quantum}, batch.lengths).value();
          if (p.merges.empty()) continue;
          std::vector<memory_rates> rates;
          for (int stage = 0; stage < stages; ++stage)
            rates.push_back(train::model_stage<double>::rates(tests::small_model, p.shape, stage));
          transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
          std::vector<double> held(static_cast<std::size_t>(tests::ranks_of(p)));
          tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
            auto endpoint = world.endpoint(rank);
            train::model_stage<double> stage(tests::small_model, p.shape, rank % stages, batch.documents(), 7);
            executors::packflow<>{}.execute(p, stage, endpoint).value();
            held[static_cast<std::size_t>(rank)] = stage.peak().value;
          });
          const auto packs_of = [&](std::uint32_t one) -> const partition& { return p.replicas[one].partition; };
          for (std::uint32_t replica = 0; replica < p.replicas.size(); ++replica) {
            if (p.replicas[replica].sequences.empty()) continue;
            workload work = simulators::workload_of(p, replica);
            work.rates = rates;
            slimpack::detail::keep_others(simulators::shared_rows(p.merges, packs_of, replica), work);
            const std::vector<double> says = simulators::peak_memory(work, p.replicas[replica].programs);
            for (int stage = 0; stage < stages; ++stage) {
              const double found = held[replica * static_cast<std::size_t>(stages) + static_cast<std::size_t>(stage)];
              const double said = says[static_cast<std::size_t>(stage)];
              EXPECT_LE(found, said) << planner.name << ", p " << stages << ", dp " << dp << ", seed " << seed;
              EXPECT_TRUE(found == said || mixes(p, replica)) << found << " of " << said << ", " << planner.name << ", seed " << seed;
              exact += found == said;
              ++ranks_tried;
            }
          }
        }
      }
    }
  }
  std::printf("%d ranks, %d of them to the byte\n", ranks_tried, exact);
  EXPECT_GT(exact, ranks_tried / 4);
}

}  // namespace
}  // namespace slimpack::exactness_test
