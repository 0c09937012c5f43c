#include <slimpack/shapes/even_stages.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace slimpack::even_stages_test {
namespace {

using shapes::even_stages;
using shapes::layer_times;

/// How busy the busiest stage is.
double busiest(const layer_times& times, const std::vector<int>& layers, const shape& on) {
  std::vector<double> stage(static_cast<std::size_t>(on.stages));
  stage.front() += times.first.value, stage.back() += times.last.value;
  std::size_t next = 0;
  for (std::size_t part = 0; part < layers.size(); ++part)
    for (int i = 0; i < layers[part]; ++i) stage[part % stage.size()] += times.layers[next++].value;
  return *std::max_element(stage.begin(), stage.end());
}

/// The fewest layers that a part may have: the embedding or the output layer is work, too, where it takes time.
int fewest(const layer_times& times, const shape& on, std::size_t part) {
  if (on.vocabulary == vocabulary::spread) return 1;
  const bool is_last = part + 1 == static_cast<std::size_t>(on.parts());
  return (part == 0 && times.first.value > 0) || (is_last && times.last.value > 0) ? 0 : 1;
}

/// The least that any division has.
double least(const layer_times& times, const shape& on) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> counts(static_cast<std::size_t>(on.parts()));
  const std::function<void(std::size_t, int)> fill = [&](std::size_t part, int left) {
    if (part + 1 == counts.size()) {
      if (left < fewest(times, on, part)) return;
      counts[part] = left;
      best = std::min(best, busiest(times, counts, on));
      return;
    }
    for (int n = fewest(times, on, part); n <= left; ++n) counts[part] = n, fill(part + 1, left - n);
  };
  fill(0, static_cast<int>(times.layers.size()));
  return best;
}

layer_times drawn(testing::generator& random, int layers, bool alike) {
  layer_times times;
  for (int i = 0; i < layers; ++i) times.layers.push_back({alike ? 1 : random.ratio()});
  times.first = {random.between(0, 1) == 0 ? 0 : random.ratio()};
  times.last = {random.between(0, 1) == 0 ? 0 : 3 * random.ratio()};
  return times;
}

// Llama-3.1-8B's 32 layers on 4 stages: logits are worth 4.6 layers, so the last stage has 5 of them.
TEST(EvenStages, GivesTheStageOfTheVocabularyFewerLayers) {
  const layer_times times{std::vector<seconds>(32, seconds{1}), {}, {4.6}};
  EXPECT_EQ(even_stages(times, {.stages = 4}), (std::vector<int>{9, 9, 9, 5}));
  EXPECT_EQ(even_stages(times, {.stages = 1}), (std::vector<int>{32}));
  const std::vector<int> chunks = even_stages(times, {.stages = 4, .chunks = 2});  // 9 9 9 5, in two parts each
  for (std::size_t stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(chunks[stage] + chunks[stage + 4], 9);
    EXPECT_LE(std::abs(chunks[stage] - chunks[stage + 4]), 1);
  }
  EXPECT_EQ(chunks[3] + chunks[7], 5);
}

// 8 layers and logits that are worth 4 on 3 stages: 4, 4 and 0 + 4. With a layer on each stage one would have 5.
TEST(EvenStages, GivesTheStageOfALargeVocabularyNoLayer) {
  const layer_times times{std::vector<seconds>(8, seconds{1}), {}, {4}};
  EXPECT_EQ(even_stages(times, {.stages = 3}), (std::vector<int>{4, 4, 0}));
  const std::vector<int> chunks = even_stages(times, {.stages = 2, .chunks = 2});  // 6 and 2 + 4, the logits in a part
                                                                                   // of their own
  EXPECT_EQ(chunks, (std::vector<int>{3, 2, 3, 0}));
  EXPECT_EQ(even_stages(times, {.stages = 3, .vocabulary = vocabulary::spread}), (std::vector<int>{3, 4, 1}))
      << "all stages have words";
  EXPECT_EQ(even_stages({std::vector<seconds>(8, seconds{1}), {4}, {}}, {.stages = 3}), (std::vector<int>{0, 4, 4}))
      << "of the embedding";
}

TEST(EvenStages, NoOtherDivisionIsLessBusy) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    testing::generator random(seed);
    const shape on{.stages = static_cast<int>(random.between(1, 5))};
    const layer_times times = drawn(random, static_cast<int>(random.between(on.stages, 12)), false);
    const std::vector<int> found = even_stages(times, on);
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::size_t{0}), times.layers.size());
    for (std::size_t part = 0; part < found.size(); ++part)
      EXPECT_GE(found[part], fewest(times, on, part)) << "seed " << seed;
    EXPECT_NEAR(busiest(times, found, on), least(times, on), 1e-12) << "seed " << seed;
  }
}

TEST(EvenStages, NoOtherDivisionIntoVirtualStagesIsLessBusyWhereLayersAreAlike) {
  int shorter = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    testing::generator random(seed);
    const shape on{.stages = static_cast<int>(random.between(2, 3)), .chunks = 2};
    const bool alike = seed % 2 == 0;
    const layer_times times = drawn(random, static_cast<int>(random.between(on.parts(), 12)), alike);
    const double found = busiest(times, even_stages(times, on), on), best = least(times, on);
    if (alike) {
      EXPECT_NEAR(found, best, 1e-12) << "seed " << seed;
    }
    worst = std::max(worst, found / best);
    shorter += found > best * (1 + 1e-12);
  }
  std::printf("layers that differ, on virtual stages: %d of 100 divisions could be better, the worst by %.1f %%\n",
              shorter, 100 * (worst - 1));
  EXPECT_LE(worst, 1.25);
}

}  // namespace
}  // namespace slimpack::even_stages_test
