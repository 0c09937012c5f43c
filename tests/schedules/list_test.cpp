#include <slimpack/schedules/detail/greedy_chunks.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "../simulators/workloads.hpp"
#include "../support/plain_list.hpp"
#include "../support/plain_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <utility>
#include <vector>

namespace slimpack::list_test {
namespace {

using schedules::list;

seconds makespan(const workload& work, const list& rule) {
  simulators::task_graph graph;
  graph.assign(work, rule.programs(work).value()).value();
  std::vector<seconds> start;
  return graph.sweep(start);
}

TEST(ListSchedule, TakesTheClosedFormOfUniformPacks) {
  for (const int p : {1, 2, 4, 8})
    for (const std::uint32_t m : {1u, 4u, 16u})
      for (const double b : {1.0, 2.0, 3.0})
        EXPECT_EQ(makespan(tests::uniform_work(p, m, {{1}, {b}}), list{}), seconds{(m - 1.0 + p) * (1 + b)})
            << p << ' ' << m;
}

// With 1F1B's memory of p packs on stage 0, it is no slower than 1F1B: (m+p-1)(f+b).
TEST(ListSchedule, NeedsNoMoreMemoryThan1F1BForTheSameTime) {
  for (const int p : {2, 4, 8}) {
    workload work = tests::uniform_work(p, 16, {{1}, {2}});
    work.shape.memory = memory_limit{memory_unit::token, 128.0 * p};
    EXPECT_EQ(makespan(work, list{}), seconds{(16.0 + p - 1) * 3});
  }
}

// One sequence a pack; each chunk takes f and b. Interleaved 1F1B takes v m units and p - 1 of fill and drain where
// packs are a multiple of p, and more otherwise. The rule is as fast, but once in a while for a part of a unit.
TEST(ListSchedule, TakesTheClosedFormOfVirtualStages) {
  for (const int p : {2, 4})
    for (const int v : {2, 3})
      for (const std::uint32_t m : {4u, 8u, 16u, 7u, 13u}) {
        const workload work = tests::uniform_work(p, m, {{1}, {2}}, v);
        if (m % static_cast<unsigned>(p) == 0) {
          EXPECT_NEAR(makespan(work, list{}).value, (1.0 * v * m + p - 1) * 3, v == 2 ? 0 : 1)
              << p << ' ' << v << ' ' << m;
        }
        simulators::task_graph graph;
        std::vector<seconds> start;
        graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
        EXPECT_LE(makespan(work, list{}), graph.sweep(start) + seconds{v == 2 ? 0.0 : 1.0})
            << p << ' ' << v << ' ' << m;
      }
}

// No stage waits for ever, and every limit that the least of 1F1B meets is kept, to the token.
TEST(ListSchedule, RunsVirtualStagesUnderAnyLimit) {
  testing::generator random(67);
  int shorter = 0, limited = 0, tried = 0;
  double ratio = 0;
  for (int i = tests::cases(60); i > 0; --i) {
    workload work = testing::any_replica({.longest = {16384}, .chunks = 4}, random).work;
    if (work.shape.chunks == 1) continue;
    work.shape.memory.reset();
    const std::vector<program> least = schedules::one_f_one_b{.lead = 0}.programs(work).value();
    const std::vector<double> peak = simulators::peak_memory(work, least);
    const double room = *std::max_element(peak.begin(), peak.end());
    for (const double limit : {0.0, 1.0, 1.3, 2.0}) {
      if (limit > 0)
        work.shape.memory = memory_limit{work.shape.memory ? work.shape.memory->unit : memory_unit::byte, limit * room};
      const result<timed_programs> made = list{}.timed(work);
      ASSERT_TRUE(made) << "seed 67, " << made.error().detail;
      simulators::task_graph graph;
      ASSERT_TRUE(graph.assign(work, made.value().programs)) << "seed 67";
      std::vector<seconds> start;
      EXPECT_EQ(graph.sweep(start), made.value().makespan);
      if (limit > 0) {
        const std::vector<double> held = simulators::peak_memory(work, made.value().programs);
        EXPECT_LE(*std::max_element(held.begin(), held.end()), work.shape.memory->amount);
      }
      graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
      const seconds classic = graph.sweep(start);
      ++tried, limited += limit > 0;
      shorter += made.value().makespan <= classic;
      ratio += made.value().makespan / classic;
    }
  }
  std::printf("%d workloads with virtual stages, %d under a limit: %d no longer than 1F1B, mean ratio %.4f\n", tried,
              limited, shorter, ratio / tried);
  EXPECT_GT(shorter, tried * 8 / 10);
  EXPECT_LT(ratio, tried * 0.98);
}

TEST(ListSchedule, IsNotHurtByTheMirroredPass) {
  testing::generator random(61);
  for (int i = tests::cases(100); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {32768}}, random).work;
    EXPECT_LE(makespan(work, list{}).value, makespan(work, list{.passes = 1}).value * (1 + 1e-12)) << "seed 61";
  }
}

// Backward first suits the fill and spoils some drains; those the mirrored pass repairs.
TEST(ListSchedule, IsHelpedByTheMirroredPass) {
  testing::generator random(62);
  int better = 0;
  for (int i = 0; i < 100; ++i) {
    const workload work = testing::any_replica({.longest = {32768}}, random).work;
    better += makespan(work, list{}) < makespan(work, list{.passes = 1});
  }
  EXPECT_GT(better, 0);
}

TEST(ListSchedule, KeepsALimitThatItMeetsExactly) {
  testing::generator random(63);
  for (int i = tests::cases(60); i > 0; --i) {
    workload work = testing::any_replica({.longest = {16384}}, random).work;
    const schedules::one_f_one_b least{.lead = 0};  // holds what the turns need and nothing more
    const std::vector<double> peak = simulators::peak_memory(work, least.programs(work).value());
    const double cap = *std::max_element(peak.begin(), peak.end());
    work.shape.memory = memory_limit{memory_unit::byte, cap};
    const result<std::vector<program>> at_cap = list{}.programs(work);
    ASSERT_TRUE(at_cap.has_value()) << at_cap.error().detail << " (seed 63)";
    for (const double held : simulators::peak_memory(work, at_cap.value())) EXPECT_LE(held, cap) << "seed 63";
  }
}

// In tokens, what lead 0 holds is what every program holds at least.
TEST(ListSchedule, FitsTheLeastThatAnyOrderNeedsAndRefusesOneTokenLess) {
  testing::generator random(64);
  for (int i = tests::cases(60); i > 0; --i) {
    workload work = testing::any_replica({.longest = {16384}}, random).work;
    for (memory_rates& r : work.rates) r = {};
    std::int64_t least = 0;  // every backward right after the forwards it needs
    for (std::size_t b = 0; b < work.times.packs(pass::backward); ++b)
      least = std::max(least, work.times.before.forward[work.turn[b] + 1] - work.times.before.backward[b]);
    work.shape.memory = memory_limit{memory_unit::token, static_cast<double>(least)};
    EXPECT_TRUE(list{}.programs(work).has_value()) << "seed 64";
    work.shape.memory->amount -= 1;
    const result<std::vector<program>> answer = list{}.programs(work);
    ASSERT_FALSE(answer.has_value()) << "seed 64";
    EXPECT_EQ(answer.error().code, errc::out_of_memory);
  }
}

// Packs that take no time start together; the order in which they were decided must survive.
TEST(ListSchedule, KeepsItsOrderWherePacksTakeNoTime) {
  workload work = tests::uniform_work(3, 8, {{0}, {0}});
  work.shape.memory = memory_limit{memory_unit::token, 3 * 128};
  for (const int passes : {1, 2, 3, 4}) {
    const std::vector<program> programs = list{.passes = passes}.programs(work).value();
    EXPECT_TRUE(simulators::task_graph{}.assign(work, programs).has_value());
    for (const double held : simulators::peak_memory(work, programs)) EXPECT_LE(held, 3 * 128);
  }
}

/// What lead 0 holds, and a random share more; tokens, so that it fits.
workload limited(workload work, testing::generator& random) {
  for (memory_rates& r : work.rates) r = {};
  std::int64_t least = 0;
  for (std::size_t b = 0; b < work.times.packs(pass::backward); ++b)
    least = std::max(least, work.times.before.forward[work.turn[b] + 1] - work.times.before.backward[b]);
  work.shape.memory = memory_limit{memory_unit::token, static_cast<double>(least) * (1 + random.ratio())};
  return work;
}

// Bursts are a faster way to the same decisions, as long as nothing takes no time: then ties are decided by the order
// in which equal starts are looked at.
TEST(ListSchedule, DecidesAsTheRuleDoesEventByEvent) {
  testing::generator random(65);
  for (int i = tests::cases(300); i > 0; --i) {
    workload work = testing::any_replica({.longest = {65536}}, random).work;
    for (const pass p : both_passes)
      for (seconds& s : work.times.calls[p]) s = std::max(s, seconds{1e-6});
    if (random.once_in(2)) work = limited(std::move(work), random);
    for (const int passes : {1, 2, 3, 4})
      EXPECT_EQ(list{.passes = passes}.programs(work).value(), tests::plain::list(work, passes))
          << passes << " passes (seed 65)";
  }
}

// Where packs take whole numbers of seconds, many are ready at the same time, and the order of choice decides.
TEST(ListSchedule, DecidesAsTheRuleDoesEventByEventWithVirtualStages) {
  using namespace slimpack::detail::greedy;
  testing::generator random(68);
  for (int i = tests::cases(200); i > 0; --i) {
    workload work = testing::any_replica({.longest = {16384}, .chunks = 4}, random).work;
    if (random.once_in(2))
      for (const pass p : both_passes) {
        for (seconds& s : work.times.calls[p]) s = {1 + std::floor(3 * random.ratio())};
        for (seconds& s : work.times.messages[p]) s = {};
      }
    const part_pipeline step = part_pipeline::of(work), image = step.mirrored();
    part_rule rule;
    part_order found, prior;
    for (int pass = 0; pass < 4; ++pass) {
      const part_pipeline& here = pass % 2 == 0 ? step : image;
      rule.run(here, pass == 0 ? nullptr : &prior, found);
      const part_order plain = tests::plain::schedule(here, pass == 0 ? nullptr : &prior);
      EXPECT_EQ(programs_of(found), programs_of(plain)) << "pass " << pass << " (seed 68)";
      EXPECT_EQ(found.makespan, plain.makespan) << "pass " << pass << " (seed 68)";
      prior = found;
    }
  }
}

// Also where it is the mirror image's order that is kept, whose times are as late as they may be.
TEST(ListSchedule, TellsTheMakespanOfTheTaskGraphToTheBit) {
  testing::generator random(66);
  for (int i = tests::cases(300); i > 0; --i) {
    workload work = testing::any_replica({.longest = {65536}}, random).work;
    if (random.once_in(2)) work = limited(std::move(work), random);
    for (const int passes : {1, 2, 3}) {
      const timed_programs found = list{.passes = passes}.timed(work).value();
      simulators::task_graph graph;
      graph.assign(work, found.programs).value();
      std::vector<seconds> start;
      EXPECT_EQ(found.makespan, graph.sweep(start)) << passes << " passes (seed 66)";
    }
  }
}

TEST(ListSchedule, NamesWhatExceedsTheLimit) {
  testing::generator random(67);
  for (int i = tests::cases(60); i > 0; --i) {
    workload work = testing::any_replica({.longest = {16384}}, random).work;
    for (memory_rates& r : work.rates)
      for (double memory_rates::*rate : {&memory_rates::fixed, &memory_rates::live_token, &memory_rates::gradient_token,
                                         &memory_rates::forward_token, &memory_rates::backward_token})
        r.*rate = static_cast<double>(random.between(0, 5));
    work.shape.memory = memory_limit{memory_unit::token, std::floor(3e4 * random.ratio())};
    const result<std::vector<program>> answer = list{}.programs(work);
    if (answer) continue;
    std::istringstream detail(answer.error().detail.substr(answer.error().detail.find("holds ") + 6));
    double named = 0;
    detail >> named;
    EXPECT_GT(named, work.shape.memory->amount) << answer.error().detail << " (seed 67)";
  }
}

TEST(ListSchedule, RefusesNoPasses) {
  EXPECT_EQ(list{.passes = 0}.programs(tests::uniform_work(2, 2, {})).error().code, errc::invalid_input);
}

TEST(ListSchedule, GivesEmptyProgramsForNoPacks) {
  EXPECT_EQ(list{}.programs(tests::uniform_work(3, 0, {})).value(), std::vector<program>(3));
  EXPECT_EQ(list{}.programs(tests::uniform_work(3, 0, {}, 2)).value(), std::vector<program>(3));
}

TEST(ListSchedule, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << list{};
  EXPECT_EQ(text.str(), "schedules::list{.passes = 2}");
}

}  // namespace
}  // namespace slimpack::list_test
