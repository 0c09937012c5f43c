#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::makespan_test {
namespace {

/// As the graph of the same programs says; its error where it refuses them.
result<seconds> by_graph(const workload& work, const std::vector<program>& programs) {
  simulators::task_graph graph;
  if (result<void> built = graph.assign(work, programs); !built) return std::move(built).error();
  std::vector<seconds> start;
  return graph.sweep(start);
}

// p stages and m packs of 1 s forward and 2 s backward: (m + p - 1) 3.
TEST(Makespan, OfUniformPacksIsTheClosedFormOf1F1B) {
  for (const int p : {1, 3, 4})
    for (const std::uint32_t m : {1u, 5u}) {
      const workload work = tests::uniform_work(p, m, {{1}, {2}});
      EXPECT_EQ(simulators::makespan(work, schedules::one_f_one_b{.lead = 1}.programs(work).value()).value(),
                seconds{(p - 1.0 + m) * 3});
    }
  const workload chain = tests::uniform_work(3, 1, {{1}, {2}, {0.5}});  // 3 x 1 + 3 x 2 + 4 messages
  EXPECT_EQ(simulators::makespan(chain, schedules::one_f_one_b{}.programs(chain).value()).value(), seconds{11});
}

TEST(Makespan, OfNoPacksIsNothing) {
  EXPECT_EQ(simulators::makespan(tests::uniform_work(2, 0, {}), std::vector<program>(2)).value(), seconds{0});
}

TEST(Makespan, IsTheGraphsToTheBit) {
  int split = 0;
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    testing::random_replica made = testing::any_replica({.longest = {16384}, .chunks = 3}, random);
    if (random.once_in(2)) testing::offer_weights(made, random);
    const std::vector<program> programs = made.work.split.weights.empty()
                                              ? schedules::one_f_one_b{}.programs(made.work).value()
                                              : schedules::zero_bubble{}.programs(made.work).value();
    const workload work = settled(made.work, programs);
    split += !work.times.apart.flags.empty();
    EXPECT_EQ(simulators::makespan(work, programs).value(), by_graph(work, programs).value()) << "seed " << seed;
  }
  EXPECT_GT(split, 0);
}

// What is wrong with programs is said in the graph's words.
TEST(Makespan, RefusesWhatTheGraphRefuses) {
  const workload work = tests::uniform_work(2, 2, {{1}, {2}});
  const std::vector<program> right = schedules::one_f_one_b{.lead = 1}.programs(work).value();
  std::vector<std::vector<program>> wrong(3, right);
  wrong[0].pop_back();                        // a program is missing
  wrong[1][0].pop_back();                     // a pack is missing
  std::swap(wrong[2][1][1], wrong[2][1][2]);  // F0 F1 B0 B1, but
  wrong[2][0] = {right[0][0],
                 {instruction_kind::backward, {0}, 0},
                 {instruction_kind::forward, {1}, 0},
                 {instruction_kind::backward, {1}, 0}};
  for (const std::vector<program>& programs : wrong) {
    const result<seconds> found = simulators::makespan(work, programs);
    const result<seconds> graphs = by_graph(work, programs);
    ASSERT_FALSE(found);
    ASSERT_FALSE(graphs);
    EXPECT_EQ(found.error().code, graphs.error().code);
    EXPECT_EQ(found.error().detail, graphs.error().detail);
  }
  EXPECT_EQ(simulators::makespan(work, wrong[2]).error().code, errc::cyclic_schedule);
}

}  // namespace
}  // namespace slimpack::makespan_test
