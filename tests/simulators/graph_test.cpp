#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>

#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::graph_test {
namespace {

seconds makespan(const workload& work, const std::vector<program>& programs) {
  simulators::task_graph graph;
  graph.assign(work, programs).value();
  std::vector<seconds> start;
  return graph.sweep(start);
}

seconds one_f_one_b(const workload& work, int lead) {
  return makespan(work, schedules::one_f_one_b{.lead = lead}.programs(work).value());
}

program code(const std::string& letters) {
  program p;
  std::uint32_t next[2] = {0, 0};
  for (const char c : letters)
    p.push_back({c == 'F' ? instruction_kind::forward : instruction_kind::backward, {next[c == 'B']++}, 0});
  return p;
}

// The last stage starts after p - 1 forwards, runs m forwards and m backwards without a pause, and p - 1 backwards
// follow: (p-1) f + m (f+b) + (p-1) b = (m+p-1)(f+b).
TEST(TaskGraph, UniformOneFOneBTakesItsClosedForm) {
  for (const int p : {1, 2, 3, 4, 8})
    for (const std::uint32_t m : {1u, 2u, 5u, 8u, 32u})
      for (const double f : {1.0, 3.0})
        for (const double b : {1.0, 2.0, 5.0})
          EXPECT_EQ(one_f_one_b(tests::uniform_work(p, m, {{f}, {b}}), 1), seconds{(m - 1.0 + p) * (f + b)})
              << "p " << p << " m " << m << " f " << f << " b " << b;
}

// SimGrid 3.32, an independent simulator, gives the same figures for the same pipelines (f, b and a hop of 0.1 s
// latency and 1 MB at 1 GB/s): 10, 33, 117, and 34.616 = (8+4-1)(1+2) + 16 x 0.101.
TEST(TaskGraph, AgreesWithSimGrid) {
  EXPECT_EQ(one_f_one_b(tests::uniform_work(2, 4, {{1}, {1}}), 1), seconds{10});
  EXPECT_EQ(one_f_one_b(tests::uniform_work(4, 8, {{1}, {2}}), 1), seconds{33});
  EXPECT_EQ(one_f_one_b(tests::uniform_work(8, 32, {{1}, {2}}), 1), seconds{117});
  EXPECT_NEAR(one_f_one_b(tests::uniform_work(4, 8, {{1}, {2}, {0.101}}), 1).value, 34.616, 1e-12);
}

/// SlimPipe's programs for sequences of n slices: n + lead (p-1-r) forwards, then one backward, one forward.
std::vector<program> slice_level_1f1b(const workload& work, std::size_t n, std::size_t lead) {
  const auto stages = static_cast<std::size_t>(work.shape.stages);
  std::vector<program> programs(stages);
  for (std::size_t r = 0; r < stages; ++r) {
    std::size_t run = 0;
    for (std::size_t i = 0; i < work.times.packs(pass::backward); ++i) {
      for (; run < std::min(work.times.packs(pass::forward), n + lead * (stages - 1 - r) + i); ++run)
        programs[r].push_back({instruction_kind::forward, {static_cast<std::uint32_t>(run)}, 0});
      programs[r].push_back({instruction_kind::backward, {static_cast<std::uint32_t>(i)}, 0});
    }
  }
  return programs;
}

// Equal slices fill the pipeline n times as finely: m n packs take (m n + p-1)(f+b), a bubble of (p-1)/(p-1+m n),
// with n + lead (p-1-r) packs in flight on stage r.
TEST(TaskGraph, UniformSlicesLeaveTheirClosedFormBubble) {
  for (const int p : {1, 2, 4, 8})
    for (const std::uint32_t m : {1u, 2u, 4u})
      for (const std::uint32_t n : {1u, 4u, 16u})
        for (const double b : {1.0, 2.0, 3.0})
          for (const std::uint32_t lead : {1u, 2u}) {
            const workload work = tests::sliced_work(p, m, n, {{1}, {b}});
            const std::vector<program> programs = slice_level_1f1b(work, n, lead);
            const seconds step = makespan(work, programs);
            const double packs = m * n;
            EXPECT_EQ(step, seconds{(packs + p - 1) * (1 + b)})
                << "p " << p << " m " << m << " n " << n << " lead " << lead;
            EXPECT_NEAR(1 - packs * (1 + b) / step.value, (p - 1) / (p - 1 + packs), 1e-12);
            for (int r = 0; r < p; ++r)
              EXPECT_EQ(simulators::peak_memory(work, programs)[static_cast<std::size_t>(r)],
                        128 * std::min(packs, n + lead * static_cast<double>(p - 1 - r)));
          }
}

// What a lead of 2 is for. p = 8, m = 4, n = 16, f = 1, b = 2, hop 0.1; without messages (64 + 7) 3 = 213.
// Lead 2 pays the hops of fill and drain only: 213 + 2 x 7 x 0.1 = 214.4, a bubble of 1 - 192 / 214.4 = 0.104.
// With lead 1 the steady state waits for hops too; an independent simulation gave a bubble of 0.138.
TEST(TaskGraph, LeadTwoHidesMessages) {
  const workload work = tests::sliced_work(8, 4, 16, {{1}, {2}, {0.1}});
  EXPECT_NEAR(makespan(work, slice_level_1f1b(work, 16, 2)).value, 214.4, 1e-9);
  EXPECT_NEAR(1 - 192 / makespan(work, slice_level_1f1b(work, 16, 1)).value, 0.138, 5e-4);
}

// stage 0  F0 1s   F1 1s              B0 2s        B1 2s
//             \ .5    \ .5          / .5        / .5
// stage 1        F0 1s   B0 2s   F1 1s   B1 2s
// stage 1: F0 from 1.5 to 2.5, B0 to 4.5, F1 (arrived at 2.5) to 5.5, B1 to 7.5;
// stage 0: B0 arrives at 5.0 and ends at 7.0; B1 arrives at 8.0 and ends at 10.0.
TEST(TaskGraph, FollowsMessagesBothWays) {
  const workload work = tests::uniform_work(2, 2, {{1}, {2}, {0.5}});
  EXPECT_EQ(makespan(work, {code("FFBB"), code("FBFB")}), seconds{10});
}

// One stage sends no messages: 1 + 1 + 2 + 2.
TEST(TaskGraph, OneStageIsTheSumOfItsWork) {
  EXPECT_EQ(makespan(tests::uniform_work(1, 2, {{1}, {2}, {9}}), {code("FFBB")}), seconds{6});
}

TEST(TaskGraph, HasNoNodesWithoutPacks) {
  simulators::task_graph graph;
  EXPECT_TRUE(graph.assign(tests::uniform_work(3, 0, {}), std::vector<program>(3)).has_value());
  EXPECT_EQ(graph.size(), 0u);
}

// p stages run 2 m instructions each, and p - 1 messages carry each pack of each pass.
TEST(TaskGraph, NumbersItsNodesTopologically) {
  const workload work = tests::sliced_work(4, 3, 5, {});
  simulators::task_graph graph;
  graph.assign(work, schedules::one_f_one_b{}.programs(work).value()).value();
  EXPECT_EQ(graph.size(), 4u * 2 * 15 + 3u * 2 * 15);
  std::size_t edges = 0;
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    for (const std::uint32_t next : graph.successors(n)) {
      EXPECT_GT(next, n);
      ++edges;
    }
  EXPECT_EQ(edges, graph.edges());
}

errc refusal(const workload& work, const std::vector<program>& programs, const std::string& detail) {
  simulators::task_graph graph;
  const result<void> built = graph.assign(work, programs);
  if (built) return errc{-1};
  EXPECT_NE(built.error().detail.find(detail), std::string::npos) << built.error().detail;
  return built.error().code;
}

TEST(TaskGraph, RefusesProgramsThatDoNotRunEachPackOnce) {
  const workload work = tests::uniform_work(2, 2, {});
  EXPECT_EQ(refusal(work, {code("FFBB")}, "1 programs for 2 stages"), errc::invalid_input);
  EXPECT_EQ(refusal(work, {code("FFBB"), code("FFB")}, "stage 1 runs 3 instructions, its packs need 4"),
            errc::invalid_input);
  EXPECT_EQ(refusal(work, {code("FFFB"), code("FBFB")}, "stage 0, instruction 2"), errc::invalid_input);
  program swapped = code("FFBB");
  std::swap(swapped[0], swapped[1]);
  EXPECT_EQ(refusal(work, {swapped, code("FFBB")}, "stage 0, instruction 0"), errc::invalid_input);
  program other_chunk = code("FFBB");
  other_chunk[0].chunk = 1;
  EXPECT_EQ(refusal(work, {other_chunk, code("FFBB")}, "stage 0, instruction 0"), errc::invalid_input);
  // A chunk whose place, 2^31 x 2 stages, is 0 in 32 bits.
  other_chunk[0].chunk = 1u << 31;
  EXPECT_EQ(refusal(work, {other_chunk, code("FFBB")}, "stage 0, instruction 0"), errc::invalid_input);
}

// Stage 0 wants B0 before it runs F1, but stage 1 runs F1 before B0.
TEST(TaskGraph, NamesTheInstructionsOfADeadlock) {
  EXPECT_EQ(refusal(tests::uniform_work(2, 2, {}), {code("FBFB"), code("FFBB")}, "stage 0 at B0, stage 1 at F1"),
            errc::cyclic_schedule);
}

TEST(TaskGraph, CanBeAssignedAgain) {
  const workload large = tests::uniform_work(3, 9, {});
  const workload small = tests::uniform_work(2, 2, {{1}, {2}});
  simulators::task_graph graph;
  std::vector<seconds> start;
  graph.assign(large, schedules::one_f_one_b{}.programs(large).value()).value();
  EXPECT_FALSE(graph.assign(small, std::vector<program>{code("FBFB"), code("FFBB")}).has_value());
  graph.assign(small, std::vector<program>{code("FFBB"), code("FBFB")}).value();
  EXPECT_EQ(graph.sweep(start), seconds{(2 + 2 - 1) * 3});
  EXPECT_EQ(start.size(), graph.size());
}

/// All sequences of `n` numbers up to `most` that do not fall, each at least `least`.
void rising(std::size_t n, std::uint32_t least, std::uint32_t most, std::vector<std::uint32_t>& now,
            std::vector<std::vector<std::uint32_t>>& all) {
  if (now.size() == n) return all.push_back(now);
  for (std::uint32_t x = least; x <= most; ++x) {
    now.push_back(x);
    rising(n, x, most, now, all);
    now.pop_back();
  }
}
std::vector<std::vector<std::uint32_t>> rising(std::size_t n, std::uint32_t most) {
  std::vector<std::uint32_t> now;
  std::vector<std::vector<std::uint32_t>> all;
  rising(n, 0, most, now, all);
  return all;
}

/// a[i] forwards before backward i, and the rest of them after the last.
program with_counts(const std::vector<std::uint32_t>& a, std::uint32_t packs) {
  program p;
  std::uint32_t run = 0;
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    for (; run < a[i]; ++run) p.push_back({instruction_kind::forward, {run}, 0});
    p.push_back({instruction_kind::backward, {i}, 0});
  }
  for (; run < packs; ++run) p.push_back({instruction_kind::forward, {run}, 0});
  return p;
}

// The theorem that schedules rest on, that nobody waits for ever exactly where each stage runs no fewer forwards before
// a backward than the next, and the last all that it needs. By exhaustion: every number of forwards before every
// backward on every stage, for every turn phi, of up to 3 packs a pass on up to 3 stages.
TEST(TaskGraph, IsAcyclicExactlyWhereForwardsComeBeforeWhatNeedsThem) {
  simulators::task_graph graph;
  std::int64_t free = 0;
  std::int64_t stuck = 0;
  for (std::size_t stages = 1; stages <= 3; ++stages) {
    for (std::uint32_t forwards = 1; forwards <= 3; ++forwards) {
      for (std::size_t backwards = 1; backwards <= 3; ++backwards) {
        const std::vector<std::vector<std::uint32_t>> counts = rising(backwards, forwards);
        workload work;
        work.shape.stages = static_cast<int>(stages);
        for (const pass way : {pass::forward, pass::backward}) {
          const std::size_t packs = way == pass::forward ? forwards : backwards;
          work.times.calls[way].resize(packs * stages);
          work.times.messages[way].resize(packs * stages);
          work.times.before[way].resize(packs + 1);
        }
        for (const std::vector<std::uint32_t>& phi : rising(backwards, forwards - 1)) {
          if (phi.back() != forwards - 1) continue;  // every sequence runs backward
          work.turn = phi;
          std::vector<std::size_t> pick(stages, 0);
          for (bool more = true; more;) {
            std::vector<program> programs;
            bool rule = true;
            for (std::size_t r = 0; r < stages; ++r) {
              programs.push_back(with_counts(counts[pick[r]], forwards));
              for (std::size_t i = 0; i < backwards; ++i)
                rule = rule && counts[pick[r]][i] >= (r + 1 < stages ? counts[pick[r + 1]][i] : phi[i] + 1);
            }
            const result<void> built = graph.assign(work, programs);
            ASSERT_EQ(built.has_value(), rule);
            ASSERT_TRUE(built || built.error().code == errc::cyclic_schedule) << built.error().detail;
            ++(rule ? free : stuck);
            std::size_t digit = 0;
            while (digit < stages && ++pick[digit] == counts.size()) pick[digit++] = 0;
            more = digit < stages;
          }
        }
      }
    }
  }
  EXPECT_GT(free, 100);
  EXPECT_GT(stuck, 10000);
}

// One pack on two stages of two chunks: stage 0 wants F0 back from the chunk that stage 1 runs after it.
TEST(TaskGraph, NamesTheChunksOfProgramsThatWaitForEachOther) {
  const auto f = [](std::uint32_t chunk) { return instruction{instruction_kind::forward, {0}, chunk}; };
  const auto b = [](std::uint32_t chunk) { return instruction{instruction_kind::backward, {0}, chunk}; };
  simulators::task_graph graph;
  const std::vector<program> programs{{f(1), f(0), b(1), b(0)}, {f(0), f(1), b(1), b(0)}};
  const result<void> built = graph.assign(tests::uniform_work(2, 1, {}, 2), programs);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, errc::cyclic_schedule);
  EXPECT_EQ(built.error().detail, "the programs wait for each other; stuck: stage 0 at F0.1, stage 1 at F0.0.");
}

}  // namespace
}  // namespace slimpack::graph_test
