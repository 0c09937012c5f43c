#include <slimpack/concepts.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <tuple>
#include <vector>

namespace slimpack::zero_bubble_test {
namespace {

using schedules::one_f_one_b;
using schedules::zero_bubble;
using schedules::zero_bubble_order;

constexpr zero_bubble automatic{};
constexpr zero_bubble h1{.order = zero_bubble_order::h1};
constexpr zero_bubble h2{.order = zero_bubble_order::h2};

static_assert(schedule_for<zero_bubble>);
static_assert(weight_gradients_of<zero_bubble> == weight_gradients::apart);

/// What a micro-batch takes on a stage.
struct times {
  double forward{};
  double inputs{};
  double weights{};
  double hop{};
};

/// m packs of a sequence each, weight gradients to be had apart.
workload split_work(int stages, std::uint32_t m, const times& t, int chunks = 1) {
  workload work = tests::uniform_work(
      stages, m, {.forward = {t.forward}, .backward = {t.inputs + t.weights}, .hop = {t.hop}}, chunks);
  work.split.inputs.assign(work.times.calls[pass::backward].size(), {t.inputs});
  work.split.weights.assign(work.times.calls[pass::backward].size(), {t.weights});
  return work;
}

workload limited(workload work, double packs) {
  work.shape.memory = memory_limit{memory_unit::token, 128.0 * packs};
  return work;
}

seconds makespan(const workload& work, const std::vector<program>& programs) {
  simulators::task_graph graph;
  graph.assign(settled(work, programs), programs).value();
  std::vector<seconds> start;
  return graph.sweep(start);
}

/// The longest time from a stage's first to its last instruction.
seconds span(const workload& work, const std::vector<program>& programs) {
  seconds longest{};
  const simulators::timeline run = simulators::simulate(settled(work, programs), programs).value();
  for (const auto& lane : run.stages) longest = std::max(longest, lane.back().end - lane.front().begin);
  return longest;
}

/// Packs that the fullest stage holds.
double packs_held(const workload& work, const std::vector<program>& programs) {
  const std::vector<double> peak = simulators::peak_memory(settled(work, programs), programs);
  return *std::max_element(peak.begin(), peak.end()) / 128;
}

// Qi et al., section 2: (p - 1)(F + B - W) with h1, in the memory of 1F1B; a message adds 4 c to each stage's share.
TEST(ZeroBubble, LeavesThePublishedBubbleOfH1) {
  for (const int p : {2, 4, 8})
    for (const times& t : {times{1, 1, 1, 0}, times{4, 4, 2, 0}, times{8, 8, 5, 0}, times{16, 16, 8, 1}}) {
      const std::uint32_t m = static_cast<std::uint32_t>(3 * p);
      const workload work = split_work(p, m, t);
      const std::vector<program> programs = h1.programs(work).value();
      EXPECT_EQ(span(work, programs), seconds{m * (t.forward + t.inputs + t.weights) +
                                              (p - 1) * (t.forward + t.inputs - t.weights + 4 * t.hop)})
          << p << ' ' << t.weights << ' ' << t.hop;
      EXPECT_EQ(packs_held(work, programs), p);
    }
}

// Section 2: (p - 1)(F + B - 2W) with h2, which is nothing when all three take the same, in the memory of 2p - 1 packs.
TEST(ZeroBubble, LeavesThePublishedBubbleOfH2) {
  for (const int p : {2, 4, 8})
    for (const times& t : {times{1, 1, 1, 0}, times{4, 4, 2, 0}, times{8, 8, 6, 0}, times{16, 16, 8, 1}}) {
      const std::uint32_t m = static_cast<std::uint32_t>(4 * p);
      const workload work = split_work(p, m, t);
      const std::vector<program> programs = h2.programs(work).value();
      EXPECT_EQ(span(work, programs), seconds{m * (t.forward + t.inputs + t.weights) +
                                              (p - 1) * (t.forward + t.inputs - 2 * t.weights + 2 * t.hop)})
          << p << ' ' << t.weights << ' ' << t.hop;
      EXPECT_EQ(packs_held(work, programs), 2 * p - 1);
    }
}

// p = 2, m = 2, all of a second. Stage 1 starts at 1, and its B1 ends at 5: stage 0 has filled its waits with W0.
//   stage 0   F0 F1 .  B0 W0 B1 W1      stage 1   .  F0 B0 F1 B1 W0 W1
TEST(ZeroBubble, PutsWeightGradientsWhereAStageWouldWait) {
  const auto f = [](std::uint32_t i) { return instruction{instruction_kind::forward, {i}}; };
  const auto b = [](std::uint32_t i) { return instruction{instruction_kind::backward, {i}}; };
  const auto w = [](std::uint32_t i) { return instruction{instruction_kind::weights, {i}}; };
  const workload work = split_work(2, 2, {1, 1, 1, 0});
  EXPECT_EQ(h1.programs(work).value(),
            (std::vector<program>{{f(0), f(1), b(0), w(0), b(1), w(1)}, {f(0), b(0), f(1), b(1), w(0), w(1)}}));
  EXPECT_EQ(makespan(work, h1.programs(work).value()), seconds{7});
}

// The last stage starts after (p - 1)(F + c) and need not wait again.
TEST(ZeroBubble, ReachesTheLeastMakespanWithEnoughMemory) {
  for (const int p : {2, 4, 8})
    for (const times& t : {times{1, 1, 1, 0}, times{4, 4, 3, 0}, times{16, 17, 12, 1}}) {
      const std::uint32_t m = static_cast<std::uint32_t>(6 * p);
      const workload work = split_work(p, m, t);
      EXPECT_EQ(makespan(work, automatic.programs(work).value()),
                seconds{m * (t.forward + t.inputs + t.weights) + (p - 1) * (t.forward + t.hop)})
          << p;
    }
}

TEST(ZeroBubble, IsNeverSlowerThanWithWeightGradientsInside) {
  testing::generator random(216);
  for (int i = tests::cases(100); i > 0; --i) {
    testing::random_replica made = testing::any_replica({.longest = {65536}}, random);
    testing::offer_weights(made, random);
    workload whole = made.work;
    for (std::size_t k = 0; k < whole.times.calls[pass::backward].size(); ++k)
      whole.times.calls[pass::backward][k] = made.work.split.inputs[k] + made.work.split.weights[k];
    whole.split = {};
    const auto inside = [&](const auto& schedule) { return makespan(whole, schedule.programs(whole).value()).value; };
    const double best = std::min(inside(one_f_one_b{}), inside(schedules::list{}));
    for (const auto& [rule, least] :
         {std::tuple{automatic, best}, {h1, inside(one_f_one_b{.lead = 1})}, {h2, inside(one_f_one_b{.lead = 2})}})
      EXPECT_LE(makespan(made.work, rule.programs(made.work).value()).value, least * (1 + 1e-12))
          << rule << " (seed 216)";
  }
}

// A stage that holds 1F1B's memory and no more: what h1 needs is what automatic gets by with.
TEST(ZeroBubble, IsAsGoodAsH1InTheMemoryOf1F1B) {
  for (const int p : {2, 4, 8}) {
    const workload work = limited(split_work(p, static_cast<std::uint32_t>(4 * p), {4, 4, 3, 0.25}), p);
    const std::vector<program> found = automatic.programs(work).value();
    EXPECT_LE(packs_held(work, found), p);
    EXPECT_LE(makespan(work, found), makespan(work, h1.programs(work).value()));
  }
}

// h1 and h2 hold what 1F1B of their lead does, also where packs differ and share sequences.
TEST(ZeroBubble, HoldsNoMoreThanTheOrderItFills) {
  testing::generator random(82);
  for (int i = tests::cases(60); i > 0; --i) {
    testing::random_replica made = testing::any_replica({.longest = {16384}}, random);
    testing::offer_weights(made, random);
    const workload whole = made.work;  // 1F1B's order and memory do not depend on times
    for (const auto& [rule, lead] : {std::tuple{h1, 1}, {h2, 2}}) {
      const std::vector<program> programs = rule.programs(made.work).value();
      const std::vector<double> peak = simulators::peak_memory(settled(made.work, programs), programs);
      const std::vector<double> order =
          simulators::peak_memory(whole, one_f_one_b{.lead = lead}.programs(whole).value());
      EXPECT_LE(*std::max_element(peak.begin(), peak.end()), *std::max_element(order.begin(), order.end()))
          << rule << " (seed 82)";
    }
  }
}

// 1F1B holds p packs of 3 bytes a token, here in room for 1.5 p. Weight gradients need 3 more.
TEST(ZeroBubble, MakesRoomForWhatWeightGradientsNeedBesideActivations) {
  const int p = 4;
  for (const zero_bubble& rule : {automatic, h1, h2}) {
    workload work = split_work(p, 24, {4, 4, 3, 0});
    for (memory_rates& r : work.rates) r.live_token = r.weight_token = 3;
    work.shape.memory = memory_limit{memory_unit::byte, 4.5 * p * 128};
    const std::vector<program> programs = rule.programs(work).value();
    EXPECT_LE(packs_held(work, programs), 4.5 * p) << rule;
    EXPECT_FALSE(weights_apart(programs, 24).empty()) << rule;
    work.shape.memory->amount = 4 * 128;  // a pack and its backward, but not what its weight gradients need
    if (rule != automatic)
      EXPECT_EQ(rule.programs(work).error().code, errc::out_of_memory) << rule;
    else
      EXPECT_TRUE(weights_apart(rule.programs(work).value(), 24).empty());
  }
}

// Bytes kept beside tokens serve B alone: where they are half of a pack's, W may wait twice as long.
TEST(ZeroBubble, DelaysMoreWhereBackwardReleasesMost) {
  const int p = 4;
  workload work = split_work(p, 24, {4, 4, 2, 0});
  work.shape.memory = memory_limit{memory_unit::byte, 2.0 * p * 128};
  const seconds all_until_weights = span(work, automatic.programs(work).value());
  for (memory_rates& r : work.rates) r.live_token = 0.5;
  for (const pass way : both_passes)
    for (int r = 0; r < p; ++r)
      for (int i = 0; i <= 24; ++i) work.times.kept[way].push_back(64.0 * i);
  const std::vector<program> programs = automatic.programs(work).value();
  EXPECT_LT(span(work, programs), all_until_weights);
  EXPECT_LE(packs_held(work, programs), 2 * p);
}

/// Where weight gradients begin to run apart; all stages say the same.
std::size_t first_apart(const workload& work, const std::vector<program>& programs) {
  const std::vector<std::uint8_t> apart = weights_apart(programs, work.times.packs(pass::backward));
  return static_cast<std::size_t>(std::find(apart.begin(), apart.end(), 1) - apart.begin());
}

// A launch costs as much as a W saves, so no W pays.
TEST(ZeroBubble, LeavesPacksWholeWhereLaunchesCostWhatTheySave) {
  workload work = split_work(4, 16, {4, 4, 2, 0});
  for (seconds& w : work.split.weights) w = {20};
  EXPECT_EQ(automatic.timed(work).value(), schedules::list{}.timed(work).value());
}

// Of many packs the last stage's wait at the end, 3 x 4 s, is worth the launches of a few W, not of all.
TEST(ZeroBubble, SplitsTheLastPacksWhereLaunchesCost) {
  workload work = split_work(4, 64, {4, 4, 4, 0});
  for (seconds& w : work.split.weights) w = {4.5};
  const timed_programs found = automatic.timed(work).value();
  EXPECT_LT(found.makespan, schedules::list{}.timed(work).value().makespan);
  EXPECT_GT(first_apart(work, found.programs), 0u);
  EXPECT_LT(first_apart(work, found.programs), 64u);
}

TEST(ZeroBubble, IsNeverSlowerThanListWithoutWeightGradientsApart) {
  testing::generator random(83);
  int faster = 0;
  for (int i = tests::cases(100); i > 0; --i) {
    testing::random_replica made = testing::any_replica({.longest = {65536}}, random);
    testing::offer_weights(made, random);
    const seconds found = automatic.timed(made.work).value().makespan;
    const seconds inside = schedules::list{}.timed(made.work).value().makespan;
    EXPECT_LE(found, inside) << "seed 83";
    faster += found < inside;
  }
  EXPECT_GT(faster, 0) << "seed 83";
}

TEST(ZeroBubble, RefusesWhatDoesNotFitWithItsNumbers) {
  for (const zero_bubble& rule : {automatic, h1, h2}) {
    workload work = limited(split_work(4, 8, {1, 1, 1, 0}), 1);
    EXPECT_TRUE(rule.programs(work).has_value()) << rule;
    work.shape.memory->amount = 127;
    const result<std::vector<program>> answer = rule.programs(work);
    ASSERT_FALSE(answer.has_value()) << rule;
    EXPECT_EQ(answer.error().code, errc::out_of_memory);
    EXPECT_NE(answer.error().detail.find("127"), std::string::npos) << answer.error().detail;
  }
}

TEST(ZeroBubble, GivesEmptyProgramsForNoPacks) {
  for (const zero_bubble& rule : {automatic, h1, h2})
    EXPECT_EQ(rule.programs(split_work(3, 0, {})).value(), std::vector<program>(3));
}

TEST(ZeroBubble, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << automatic << ' ' << h2;
  EXPECT_EQ(text.str(),
            "schedules::zero_bubble{.order = schedules::zero_bubble_order::automatic} "
            "schedules::zero_bubble{.order = schedules::zero_bubble_order::h2}");
}

}  // namespace
}  // namespace slimpack::zero_bubble_test
