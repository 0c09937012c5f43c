// costs::transformer as trainings run it: lines through the sums of kernels that profiled_of tabulates.
#include <slimpack/costs/detail/analytic/training_rates.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/costs/profiled_of.hpp>
#include <slimpack/costs/transformer.hpp>
#include <slimpack/testing/cost_model_laws.hpp>

#include "../laws/cases.hpp"
#include "models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::training_rates_test {
namespace {

using costs::recompute;
using costs::stage_options;
using costs::transformer;

transformer cost_of(const costs::model_shape& m, const shape& on, const stage_options& with = {}) {
  return transformer::make(m, costs::gpus::h100(), on, with).value();
}

/// A pack of long sequences: what each pack costs besides is little of it.
std::vector<slice> large_pack() {
  std::vector<slice> pack;
  for (std::uint32_t i = 0; i < 4; ++i) pack.push_back({{i}, {0}, {16384}});
  return pack;
}

// The same kernels, asked one by one: the tables of profiled_of, made of sustained rates.
TEST(TrainingRates, AreWhatTheirKernelsAddUpTo) {
  const costs::gpu device = costs::gpus::h100();
  const costs::kernel_times kernels = detail::sustained_kernels(device);
  const costs::network net(device);
  const std::vector<slice> pack = large_pack();
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::mixtral_8x7b()})
    for (const shape& on :
         {shape{.stages = 4, .tensor = 2}, shape{.stages = 2, .replicas = 4, .tensor = 8}, shape{.stages = 1}})
      for (const recompute again : costs::all_recompute)
        for (const costs::attention_kind kind : {costs::attention_kind::flash, costs::attention_kind::unfused}) {
          stage_options with{.recompute = again, .attention = kind};
          with.longest = tokens{65536};
          const costs::profiled sums = costs::profiled_of(m, on, kernels, net, with).value();
          const transformer lines = cost_of(m, on, with);
          for (const pass p : {pass::forward, pass::backward})
            for (const int part : {0, on.stages - 1}) {
              const seconds expected = pack_time(sums, std::span<const slice>(pack), p, part);
              EXPECT_NEAR(lines.time(pack, p, part) / expected, 1, 0.02)
                  << m.name << ", pp " << on.stages << ", tp " << on.tensor << ", part " << part << ", recompute "
                  << static_cast<int>(again) << ", " << (p == pass::forward ? "forward" : "backward");
            }
          EXPECT_EQ(lines.reduce_time(), sums.reduce_time());
        }
}

TEST(TrainingRates, AreSlowerThanTheDataSheet) {
  const shape on{.stages = 4, .replicas = 2, .tensor = 2};
  const std::vector<slice> pack = large_pack();
  for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::mixtral_8x7b(), tests::deepseek_v3()}) {
    const transformer real = cost_of(m, on), sheet = transformer::sheet(m, costs::gpus::h100(), on).value();
    for (const pass p : {pass::forward, pass::backward})
      for (int part = 0; part < on.stages; ++part)
        EXPECT_GT(real.time(pack, p, part), sheet.time(pack, p, part)) << m.name << ", part " << part;
    EXPECT_GT(real.reduce_time(), sheet.reduce_time()) << "the optimizer";
  }
}

TEST(TrainingRates, TellWhatIsComputedAgainFromWhatIsUseful) {
  const shape on{.stages = 4, .tensor = 2};
  const slice whole{{0}, {0}, {8192}};
  const transformer none = cost_of(tests::llama_3_1_8b(), on);
  EXPECT_EQ(none.useful(whole, pass::backward, 1), none.time(whole, pass::backward, 1));
  const transformer full = cost_of(tests::llama_3_1_8b(), on, {.recompute = recompute::full});
  EXPECT_EQ(full.useful(whole, pass::backward, 1), none.time(whole, pass::backward, 1));
  EXPECT_NEAR(
      (full.time(whole, pass::backward, 1) - none.time(whole, pass::backward, 1)) / none.time(whole, pass::forward, 1),
      1, 0.02);
}

// Collectives are what useful work takes longer than over links that cost nothing.
TEST(TrainingRates, TellCollectivesFromTheRestOfUsefulWork) {
  costs::gpu free = costs::gpus::h100();
  free.inside = free.between = {{}, 1e30};
  const slice whole{{0}, {0}, {65536}};
  for (const auto& [m, on] :
       {std::pair{tests::llama_3_1_8b(), shape{.stages = 4, .tensor = 4}},
        std::pair{tests::mixtral_8x7b(), shape{.stages = 4, .replicas = 8, .tensor = 2, .expert = 8}}})
    for (const recompute again : {recompute::none, recompute::full}) {
      const transformer cost = cost_of(m, on, {.recompute = again});
      const transformer no_waits = transformer::make(m, free, on, {.recompute = again}).value();
      for (const pass p : {pass::forward, pass::backward})
        for (int part = 0; part < on.stages; ++part) {
          const seconds waited = cost.useful(whole, p, part) - no_waits.useful(whole, p, part);
          EXPECT_NEAR(cost.collectives(whole, p, part) / waited, 1, 1e-6) << m.name << ", part " << part;
          EXPECT_GT(waited, cost.useful(whole, p, part) * 0.01);
        }
    }
  EXPECT_EQ(cost_of(tests::llama_3_1_8b(), {.stages = 4}).collectives(whole, pass::forward, 1), seconds{});
}

TEST(TrainingRates, OfContextParallelRanksShareTheWork) {
  const slice whole{{0}, {0}, {131072}};
  const transformer one = cost_of(tests::llama_3_1_8b(), {.stages = 2, .tensor = 2});
  const transformer four = cost_of(tests::llama_3_1_8b(), {.stages = 2, .tensor = 2, .context = 4});
  for (const pass p : {pass::forward, pass::backward})
    EXPECT_NEAR(four.least(whole, p, 0) * 4 / one.least(whole, p, 0), 1, 0.03);
}

TEST(TrainingRates, PutMessagesThatAreWaitedForIntoPacks) {
  const shape on{.stages = 4, .tensor = 8};
  const std::vector<slice> pack = large_pack();
  const transformer beside = cost_of(tests::llama_3_1_8b(), on);
  const transformer waits = cost_of(tests::llama_3_1_8b(), on, {.messages = costs::messages::waited_for});
  EXPECT_EQ(waits.message({65536}, pass::forward, 0), seconds{});
  const seconds message = beside.message({65536}, pass::forward, 0) * stage_options{}.slowdown.exposed;
  EXPECT_NEAR((waits.time(pack, pass::forward, 0) - beside.time(pack, pass::forward, 0)) / message, 1, 1e-9);
}

TEST(TrainingRates, ObeyTheLawsOfCostModels) {
  for (const recompute again : costs::all_recompute)
    for (const shape& on :
         {shape{.stages = 4, .tensor = 2}, shape{.stages = 2, .replicas = 2, .context = 4, .chunks = 2}})
      for (const costs::model_shape& m : {tests::llama_3_1_8b(), tests::mixtral_8x7b(), tests::deepseek_v3()}) {
        const testing::report found =
            testing::cost_model_laws(cost_of(m, on, {.recompute = again}), on.parts(), {.cases = tests::cases(10)});
        EXPECT_TRUE(found) << m.name << '\n' << found;
      }
}

}  // namespace
}  // namespace slimpack::training_rates_test
