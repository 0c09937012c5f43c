#include "../laws/cases.hpp"
#include "exact_step.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace slimpack::exactness_test {
namespace {

using tests::exact_batch;

/// The matrix: every planner and schedule, p in 1..4, dp in 1..3, both kinds of backward cuts, virtual stages.
std::vector<shape> every_shape(tokens quantum) {
  std::vector<shape> all;
  for (int p = 1; p <= 4; ++p)
    for (int dp = 1; dp <= 3; ++dp) all.push_back({.stages = p, .replicas = dp, .quantum = quantum});
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

TEST(Exactness, LossAndGradientsAreThoseOfUncutSequences) {
  double worst = 0;
  int steps = 0;
  int uneven = 0;
  const int seeds = tests::cases(2);
  for (int seed = 1; seed <= seeds; ++seed) {
    const exact_batch batch(static_cast<std::uint64_t>(seed));
    for (const tests::named_planner& planner : tests::every_planner()) {
      for (const shape& on : every_shape(batch.quantum)) {
        const result<plan> made = planner.make(on, batch.lengths);
        if (on.chunks > 1 && !made) continue;  // list is for one chunk
        const plan& p = made.value();
        uneven += tests::asymmetric(p);
        const double any = worst_error<train::model_stage<double>>(batch, p);
        const double whole = worst_error<tests::whole_pieces>(batch, p);
        EXPECT_LT(std::max(any, whole), 1e-11) << planner.name << ", p " << on.stages << ", dp " << on.replicas << ", v "
                                               << on.chunks << ", seed " << seed;
        worst = std::max({worst, any, whole});
        steps += 2;
      }
    }
  }
  std::printf("%d steps, %d of their plans asymmetric, largest relative error %.2g, seeds 1 to %d\n", steps, 2 * uneven, worst, seeds);
  EXPECT_GT(worst, 0) << "sums in another order differ in their last bits";
  EXPECT_GT(uneven, steps / 8) << "forward and backward packs must differ for this to show anything";
}

}  // namespace
}  // namespace slimpack::exactness_test
