#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/testing/naive.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace slimpack::weight_gradients_test {
namespace {

/// 1F1B with each W somewhere after its backward, in run order.
std::vector<program> with_weights(const workload& work, testing::generator& random) {
  workload whole = work;
  whole.times.apart = {};
  std::vector<program> programs = schedules::one_f_one_b{}.programs(whole).value();
  for (program& code : programs) {
    program delayed;
    std::vector<std::deque<instruction>> waiting(static_cast<std::size_t>(work.shape.chunks));
    for (const instruction& i : code) {
      delayed.push_back(i);
      if (i.pass() == pass::backward && work.times.apart.splits(i.pack.value))
        waiting[i.chunk].push_back({instruction_kind::weights, i.pack, i.chunk});
      for (auto& queue : waiting)
        for (; !queue.empty() && random.once_in(2); queue.pop_front()) delayed.push_back(queue.front());
    }
    for (const auto& queue : waiting) delayed.insert(delayed.end(), queue.begin(), queue.end());
    code = std::move(delayed);
  }
  return programs;
}

testing::random_replica any_split(testing::generator& random, int chunks) {
  testing::random_replica made = testing::any_replica({.longest = {4096}, .chunks = chunks}, random);
  testing::split_weights(made, random);
  if (random.once_in(2)) testing::keep_scores(made, random);
  if (random.once_in(2)) testing::keep_for_weights(made, random);
  return made;
}

TEST(WeightGradients, TakeTheTimeThatARunByTheRulesTakes) {
  testing::generator random(71);
  for (int k = tests::cases(60); k > 0; --k) {
    const testing::random_replica made = any_split(random, 3);
    const workload& work = made.work;
    const std::vector<program> programs = with_weights(work, random);
    simulators::task_graph graph;
    const result<void> built = graph.assign(work, programs);
    ASSERT_TRUE(built) << built.error().detail;
    std::vector<seconds> start;
    const auto parts = static_cast<std::size_t>(work.shape.parts());
    const testing::naive::outcome run = testing::naive::run(
        made.packs, programs, work.shape,
        [&](const instruction& i, std::size_t part) {
          const std::size_t cell = i.pack.value * parts + part;
          return i.is_weights() ? work.times.calls[instruction_kind::weights][cell] : work.times.calls[i.pass()][cell];
        },
        [&](testing::naive::spot from, testing::naive::spot, std::uint32_t pack) {
          return work.times.messages[from.kind == 'F' ? pass::forward : pass::backward][pack * parts + from.place];
        });
    ASSERT_FALSE(run.stuck) << *run.stuck;
    EXPECT_EQ(graph.sweep(start), run.makespan);
    EXPECT_EQ(simulators::makespan(work, programs).value(), run.makespan);
  }
}

TEST(WeightGradients, KeepTheirTokensAliveUntilTheyHaveRun) {
  testing::generator random(72);
  for (int k = tests::cases(60); k > 0; --k) {
    const testing::random_replica made = any_split(random, 2);
    const std::vector<program> programs = with_weights(made.work, random);
    const std::vector<double> peak = simulators::peak_memory(made.work, programs);
    for (std::size_t r = 0; r < programs.size(); ++r)
      EXPECT_EQ(peak[r], testing::naive::peak_memory(made.packs, programs[r], made.work.rates[r], made.work.shape,
                                                     static_cast<int>(r), made.scores, made.work.times.apart.flags));
  }
}

// Two packs of 128 and 64 tokens on one stage, 3 bytes a live token and 2 more from B to W.
TEST(WeightGradients, NeedWhatIsKeptForThemFromBToW) {
  workload work;
  work.times.before = {{0, 128, 192}, {0, 128, 192}};
  work.times.apart = {{0, 1}};
  work.gradient_running = {0, 0};
  work.gradient_before = {0, 0, 0};
  work.rates = {{.live_token = 3, .weight_token = 2}};
  const auto run = [](instruction_kind kind, std::uint32_t pack) { return instruction{kind, {pack}}; };
  const program code{run(instruction_kind::forward, 0), run(instruction_kind::backward, 0),
                     run(instruction_kind::forward, 1), run(instruction_kind::backward, 1),
                     run(instruction_kind::weights, 1)};
  std::vector<double> held;
  simulators::follow_memory(work, code, 0, [&](const instruction&, double bytes) { held.push_back(bytes); });
  EXPECT_EQ(held, (std::vector<double>{384, 384, 192, 192 + 128, 192 + 128}));
}

/// One pack over three stages, F = B = W = 1 s, no messages.
workload one_pack() {
  workload work;
  work.shape.stages = 3;
  for (const instruction_kind k : {instruction_kind::forward, instruction_kind::backward, instruction_kind::weights})
    work.times.calls[k].assign(3, {1});
  for (const pass p : both_passes) work.times.messages[p].resize(3), work.times.before[p] = {0, 128};
  work.times.apart = {{1}};
  work.turn = {0};
  work.gradient_running = {0};
  work.gradient_before = {0, 0};
  work.rates.resize(3);
  return work;
}

constexpr instruction f0{instruction_kind::forward, {0}};
constexpr instruction b0{instruction_kind::backward, {0}};
constexpr instruction w0{instruction_kind::weights, {0}};

TEST(WeightGradients, LetTheStageBeforeBeginEarlier) {
  const std::vector<program> programs(3, program{f0, b0, w0});
  simulators::task_graph graph;
  ASSERT_TRUE(graph.assign(one_pack(), programs));
  std::vector<seconds> start;
  EXPECT_EQ(graph.sweep(start), seconds{7});  // 3 F + 3 B + the W of stage 0; 9 s with W inside each B
}

TEST(WeightGradients, AreRefusedBeforeTheirBackwardTwiceOrNotAtAll) {
  for (const program& wrong : {program{f0, w0, b0}, program{f0, b0, w0, w0}, program{f0, b0}, program{w0, f0, b0}}) {
    simulators::task_graph graph;
    const result<void> built = graph.assign(one_pack(), std::vector<program>{wrong, {f0, b0, w0}, {f0, b0, w0}});
    ASSERT_FALSE(built);
    EXPECT_EQ(built.error().code, errc::invalid_input) << built.error().detail;
  }
}

TEST(WeightGradients, AreRefusedOfAPackThatKeepsThem) {
  workload work = one_pack();
  work.times.apart = {};
  simulators::task_graph graph;
  EXPECT_FALSE(graph.assign(work, std::vector<program>(3, program{f0, b0, w0})));
  EXPECT_FALSE(graph.assign(work, std::vector<program>(3, program{b0, w0})));  // of the right length
}

}  // namespace
}  // namespace slimpack::weight_gradients_test
