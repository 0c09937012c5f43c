#include <slimpack/costs/quadratic.hpp>
#include <slimpack/costs/with_vocabulary.hpp>
#include <slimpack/pricing/detail/searched_times.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/graph/makespan.hpp>

#include <gtest/gtest.h>

#include <stop_token>

namespace slimpack::vocabulary_turn_test {
namespace {

using layers_and_ends = costs::with_vocabulary<costs::quadratic>;

layers_and_ends by_hand() {
  const costs::quadratic layers{
      .linear = 1, .attention = 0, .backward_linear = 2, .backward_attention = 0, .per_pack = {10}, .hop = {0.5}};
  return {layers,
          {.embed = {1, 0.25},
           .output = {2, 0.5},
           .output_weights = {3, 1},
           .embed_gradients = {4, 2},
           .hidden = {7},
           .partial = {9}}};
}

// A search asks for a pipeline with a stage more, which takes no time and holds nothing.
TEST(VocabularyTurn, CountsTheEndsToLayersAndTurnsOneStageLater) {
  for (const int chunks : {1, 2}) {
    const shape on{.stages = 3, .chunks = chunks, .quantum = {1}, .vocabulary = vocabulary::spread};
    const shape searched = detail::vocabulary_turn::searched(on);
    EXPECT_EQ(searched.stages, 4);
    EXPECT_EQ(searched.vocabulary, vocabulary::last);
    const layers_and_ends model = by_hand();
    detail::time_faults faults{std::stop_token{}};
    const detail::searched_times cost(model, faults, on);
    const slice ten{{0}, {0}, {10}};
    for (int part = 0; part < searched.parts(); ++part) {
      const bool turns = part % 4 == 3;
      // Forward 10 and E's 2.5 and V's 5 of the stage, backward 20, U's 10 and G's 20; a chunk its part of these.
      EXPECT_DOUBLE_EQ(cost.time(ten, pass::forward, part).value, turns ? 0 : 10 + 7.5 / chunks) << part;
      EXPECT_DOUBLE_EQ(cost.time(ten, pass::backward, part).value, turns ? 0 : 20 + 30.0 / chunks) << part;
      EXPECT_DOUBLE_EQ(cost.overhead(pass::forward, part).value, turns ? 0 : 10 + 3.0 / chunks) << part;
      EXPECT_DOUBLE_EQ(cost.overhead(pass::backward, part).value, turns ? 0 : 10 + 7.0 / chunks) << part;
    }
    // Hidden rows 7, V 2 + 5 on another stage, its part 9, V 7 on the last.
    EXPECT_DOUBLE_EQ(message_time(cost, {10}, pass::forward, searched.parts() - 2).value, 7 + 7 + 9 + 7);
    EXPECT_DOUBLE_EQ(message_time(cost, {10}, pass::backward, searched.parts() - 1).value, 0);
    EXPECT_DOUBLE_EQ(message_time(cost, {10}, pass::forward, 0).value, 0.5);
    if (chunks == 2) {
      EXPECT_DOUBLE_EQ(message_time(cost, {10}, pass::forward, 2).value, 0.5)
          << "to chunk 1, by way of the stage where packs turn";
      EXPECT_DOUBLE_EQ(message_time(cost, {10}, pass::forward, 3).value, 0);
    }
    EXPECT_FALSE(faults.any());
  }
}

// One pack: there, the way of its gradients and what that waits for, and back.
TEST(VocabularyTurn, IsInTheTimesThatSchedulesSee) {
  const shape on{.stages = 2, .quantum = {1}, .vocabulary = vocabulary::spread};
  const layers_and_ends model = by_hand();
  detail::time_faults faults{std::stop_token{}};
  const detail::searched_times cost(model, faults, on);
  const shape searched = detail::vocabulary_turn::searched(on);
  partition packs;
  packs.forward.append({{0}, {0}, {10}}), packs.forward.close();
  packs.backward.append({{0}, {0}, {10}}), packs.backward.close();
  const workload work = price(packs, cost, searched, rates_of(cost, searched).value());
  const double forward = 10 + 10 + 7.5 + 3, backward = 20 + 10 + 30 + 7;
  EXPECT_DOUBLE_EQ(work.turn_wait.value, 0.7 * (forward + backward));
  const result<timed_programs> made = schedules::list{}.timed(work);
  ASSERT_TRUE(made);
  EXPECT_DOUBLE_EQ(made.value().makespan.value, 2 * forward + 0.5 + 30 + work.turn_wait.value + 2 * backward + 0.5);
}

TEST(VocabularyTurn, IsNoneWhereTheVocabularyIsInOnePlace) {
  const shape on{.stages = 3};
  EXPECT_EQ(detail::vocabulary_turn::searched(on), on);
  EXPECT_TRUE(detail::vocabulary_turn(by_hand(), on).empty());
}

}  // namespace
}  // namespace slimpack::vocabulary_turn_test
