#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::one_f_one_b_test {
namespace {

using schedules::one_f_one_b;

/// Forwards that a stage runs before its first backward.
std::size_t warm_up(const program& code) {
  return static_cast<std::size_t>(
      std::find_if(code.begin(), code.end(), [](const instruction& i) { return i.pass() == pass::backward; }) -
      code.begin());
}

template <class Schedule>
seconds makespan(const workload& work, const Schedule& schedule) {
  simulators::task_graph graph;
  graph.assign(work, schedule.programs(work).value()).value();
  std::vector<seconds> start;
  return graph.sweep(start);
}

workload limited(workload work, double limit) {
  work.shape.memory = memory_limit{memory_unit::token, limit};
  return work;
}

TEST(OneFOneB, IsPhiPlusOnePlusLeadAheadAndGetsThereOneForwardAtATime) {
  testing::generator random(51);
  for (int i = tests::cases(40); i > 0; --i) {
    const workload work = testing::any_replica({.longest = {16384}}, random).work;
    const int lead = static_cast<int>(random.between(0, 4));
    const std::vector<program> programs = one_f_one_b{.lead = lead}.programs(work).value();
    for (std::size_t r = 0; r < programs.size(); ++r) {
      const auto ahead = static_cast<std::int64_t>(lead) * static_cast<std::int64_t>(programs.size() - 1 - r);
      std::int64_t forwards = 0;
      for (const instruction& k : programs[r]) {
        if (k.pass() == pass::forward) {
          ++forwards;
          continue;
        }
        std::int64_t wanted = 0;
        for (std::size_t j = k.pack.value; j < work.times.packs(pass::backward); ++j)
          wanted = std::max(wanted, work.turn[j] + 1 - static_cast<std::int64_t>(j - k.pack.value));
        EXPECT_EQ(forwards, std::min(static_cast<std::int64_t>(work.times.packs(pass::forward)), wanted + ahead))
            << "seed 51";
      }
    }
  }
}

// m sequences of n equal slices, f = 1 and b = 2, messages free: a stage is busy 3 m n of 3 (m n + p - 1) seconds.
TEST(OneFOneB, TakesTheClosedFormOfUniformSlices) {
  for (const auto& [p, m, n] : {std::tuple{4, 3, 8}, {8, 4, 16}, {2, 5, 3}, {8, 1, 16}}) {
    const workload work = tests::sliced_work(p, static_cast<std::uint32_t>(m), n, {});
    EXPECT_NEAR(makespan(work, one_f_one_b{}).value, 3.0 * (m * n + p - 1), 1e-9) << p << ' ' << m << ' ' << n;
  }
}

// p = 4, 128 tokens a pack: stage r holds 1 + ceil(k (3-r) / 3) packs, k = 6 without a limit. At k = 3 it is 1F1B.
TEST(OneFOneB, LowersItsLeadToFitTheMemoryLimit) {
  const workload work = tests::uniform_work(4, 12, {});
  const auto warm_ups = [&](double limit) {
    std::vector<std::size_t> all;
    const std::vector<program> programs = one_f_one_b{}.programs(limited(work, limit)).value();
    for (const program& code : programs) all.push_back(warm_up(code));
    return all;
  };
  EXPECT_EQ(warm_ups(7 * 128), (std::vector<std::size_t>{7, 5, 3, 1}));
  EXPECT_EQ(warm_ups(7 * 128 - 1), (std::vector<std::size_t>{6, 5, 3, 1}));
  EXPECT_EQ(warm_ups(4 * 128), (std::vector<std::size_t>{4, 3, 2, 1}));
  EXPECT_EQ(warm_ups(128), (std::vector<std::size_t>{1, 1, 1, 1}));
}

// Messages of a twentieth of a forward; memory for p packs or a little more.
TEST(OneFOneB, LoweredIsNoSlowerThanListUnderTheSameLimit) {
  for (const int p : {4, 8, 16})
    for (const int packs : {p, p + p / 4, p + p / 2}) {
      const workload work =
          limited(tests::uniform_work(p, static_cast<std::uint32_t>(4 * p), {.hop = {0.05}}), 128.0 * packs);
      EXPECT_LE(makespan(work, one_f_one_b{}), makespan(work, schedules::list{})) << p << ' ' << packs;
      EXPECT_LE(makespan(work, one_f_one_b{}), makespan(work, one_f_one_b{.lead = 1})) << p << ' ' << packs;
    }
}

TEST(OneFOneB, RefusesWhatNotEvenLeadZeroFits) {
  const result<std::vector<program>> answer = one_f_one_b{}.programs(limited(tests::uniform_work(4, 12, {}), 127));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, errc::out_of_memory);
  EXPECT_NE(answer.error().detail.find("127"), std::string::npos) << answer.error().detail;
}

TEST(OneFOneB, RefusesANegativeLead) {
  EXPECT_EQ(one_f_one_b{.lead = -1}.programs(tests::uniform_work(2, 2, {})).error().code, errc::invalid_input);
}

TEST(OneFOneB, GivesEmptyProgramsForNoPacks) {
  EXPECT_EQ(one_f_one_b{}.programs(tests::uniform_work(3, 0, {})).value(), std::vector<program>(3));
}

// Megatron-LM, schedules.py, num_warmup_microbatches = 2 (p - rank - 1) + (chunks - 1) p; its steady state then runs a
// forward before each backward, hence one more.
TEST(OneFOneB, WarmsUpAsMegatronWhenInterleaved) {
  for (const int p : {2, 4, 8})
    for (const int v : {2, 3, 4}) {
      const std::vector<program> programs =
          one_f_one_b{}.programs(tests::uniform_work(p, static_cast<std::uint32_t>(4 * p), {}, v)).value();
      for (int r = 0; r < p; ++r)
        EXPECT_EQ(warm_up(programs[static_cast<std::size_t>(r)]),
                  static_cast<std::size_t>(2 * (p - r - 1) + (v - 1) * p + 1))
            << "p " << p << " v " << v << " rank " << r;
    }
}

// Megatron-LM, get_schedule_table, p = 2, m = 4, v = 2: packs 0 1 pass chunk 0, then chunk 1, then packs 2 3.
TEST(OneFOneB, OrdersUnitsAsMegatronWhenInterleaved) {
  const program code = one_f_one_b{}.programs(tests::uniform_work(2, 4, {}, 2)).value()[1];
  std::string order;
  for (const instruction& i : code)
    order += (i.pass() == pass::forward ? " F" : " B") + std::to_string(i.pack.value) + "." + std::to_string(i.chunk);
  EXPECT_EQ(order, " F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

// A chunk takes f and b; v m units and p - 1 of fill and drain: (v m + p-1)(f+b), a bubble of (p-1)/(p-1+m v).
TEST(OneFOneB, TakesTheInterleavedClosedForm) {
  for (const int p : {2, 4, 8})
    for (const int v : {2, 3, 4})
      for (const int groups : {1, 2, 4})
        for (const double b : {1.0, 2.0})
          EXPECT_EQ(
              makespan(tests::uniform_work(p, static_cast<std::uint32_t>(groups * p), {{1}, {b}}, v), one_f_one_b{}),
              seconds{(v * groups * p + p - 1) * (1 + b)})
              << "p " << p << " v " << v << " m " << groups * p;
}

// p = 2, chunks = 3, 3 packs: the last group has one pack only, and Megatron-LM's order waits for itself.
TEST(OneFOneB, RunsAnyNumberOfPacksWhenInterleaved) {
  for (std::uint32_t m = 1; m <= 9; ++m)
    for (const int p : {2, 3, 4}) {
      const workload work = tests::uniform_work(p, m, {}, 3);
      EXPECT_TRUE(simulators::task_graph{}.assign(work, one_f_one_b{}.programs(work).value()).has_value())
          << p << ' ' << m;
    }
}

TEST(OneFOneB, PrintsWhatWouldBuildIt) {
  std::ostringstream text;
  text << one_f_one_b{.lead = 1};
  EXPECT_EQ(text.str(), "schedules::one_f_one_b{.lead = 1}");
}

}  // namespace
}  // namespace slimpack::one_f_one_b_test
