#include <slimpack/testing/naive/joint_run.hpp>

#include "../simulators/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::joint_run_test {
namespace {

namespace naive = testing::naive;

constexpr instruction f(std::uint32_t pack, std::uint32_t chunk = 0) {
  return {instruction_kind::forward, {pack}, chunk};
}
constexpr instruction b(std::uint32_t pack, std::uint32_t chunk = 0) {
  return {instruction_kind::backward, {pack}, chunk};
}
constexpr instruction w(std::uint32_t pack) { return {instruction_kind::weights, {pack}}; }

// Every F, B, E, V, U and G, with virtual stages and without, the vocabulary in one place and spread: what one sends to
// another, the other hears from it.
TEST(NaiveRun, SendsWhatIsHeard) {
  for (const auto where : {vocabulary::last, vocabulary::spread})
    for (const int stages : {2, 3})
      for (const int chunks : {1, 2}) {
        const shape on{.stages = stages, .chunks = chunks, .vocabulary = where};
        const auto places = [&](char kind) {
          return static_cast<std::size_t>(kind == 'F' || kind == 'B' ? on.parts() : stages);
        };
        const std::string kinds = where == vocabulary::spread ? "EFVBUG" : "FB";
        int sent = 0;
        for (const char from : kinds)
          for (std::size_t i = 0; i < places(from); ++i)
            for (const char to : kinds)
              for (std::size_t j = 0; j < places(to); ++j) {
                const std::vector<naive::spot> out = naive::receivers_of({from, i}, on),
                                               in = naive::senders_to({to, j}, on);
                const auto count = [](const std::vector<naive::spot>& spots, char kind, std::size_t place) {
                  return std::count_if(spots.begin(), spots.end(),
                                       [&](const naive::spot& s) { return s.kind == kind && s.place == place; });
                };
                EXPECT_EQ(count(out, to, j), count(in, from, i))
                    << from << i << " to " << to << j << ", " << stages << " x " << chunks;
                sent += static_cast<int>(count(out, to, j));
              }
        // Between parts there and back; of a spread vocabulary embedded rows round all stages to F, hidden and partial
        // ones to and from the last stage, what it makes of them back to the others, and gradients from B round all
        // stages.
        const int layers = 2 * (on.parts() - 1), ends = stages + 3 * (stages - 1) + stages;
        EXPECT_EQ(sent, where == vocabulary::spread ? layers + ends : layers);
      }
}

/// What is wrong with a program of two packs a pass.
std::string wrong(const program& code, const shape& on = {}, const std::vector<std::uint8_t>& apart = {}) {
  const partition packs = tests::sliced(2, 1);
  return naive::miscount(code, packs, on, apart).value_or("nothing");
}

TEST(NaiveRun, CountsWhatAProgramRuns) {
  EXPECT_EQ(wrong({f(0), f(1), b(0), b(1)}), "nothing");
  EXPECT_EQ(wrong({f(0), f(1), b(0)}), "B of 1 of 2 packs");
  EXPECT_EQ(wrong({f(0), b(0), b(1)}), "F of 1 of 2 packs");
  EXPECT_EQ(wrong({f(1), f(0), b(0), b(1)}), name_of(f(1), 2) + " where pack 0 is next");
  EXPECT_EQ(wrong({f(0), f(0), b(0), b(1)}), name_of(f(0), 2) + " where pack 1 is next");
  EXPECT_EQ(wrong({f(0, 1)}), name_of(f(0, 1), 2) + " of 1 chunks");
  EXPECT_EQ(wrong({f(0), f(1), f(0, 1), f(1, 1), b(0, 1), b(1, 1), b(0), b(1)}, {.chunks = 2}), "nothing");
  EXPECT_EQ(wrong({f(0), f(1), b(0), b(1)}, {.chunks = 2}), "F of 0 of 2 packs");
}

TEST(NaiveRun, CountsWeightGradientsThatRunApart) {
  EXPECT_EQ(wrong({f(0), f(1), b(0), b(1), w(1)}, {}, {0, 1}), "nothing");
  EXPECT_EQ(wrong({f(0), f(1), b(0), w(1), b(1)}, {}, {0, 1}), name_of(w(1), 2) + " before its backward");
  EXPECT_NE(wrong({f(0), f(1), b(0), b(1)}, {}, {0, 1}), "nothing");
  EXPECT_NE(wrong({f(0), f(1), b(0), b(1), w(0)}, {}, {0, 1}), "nothing") << "of the other pack";
}

const auto no_message = [](naive::spot, naive::spot, std::uint32_t) { return seconds{}; };
const auto one_and_two = [](const instruction& i, std::size_t) {
  return seconds{i.pass() == pass::forward ? 1.0 : 2.0};
};

// Two stages, two packs: (m + p - 1) (1 + 2) = 9 s, of which each works 6.
TEST(NaiveRun, TakesTheClosedFormOf1F1B) {
  const partition packs = tests::sliced(2, 1);
  const std::vector<program> programs{{f(0), f(1), b(0), b(1)}, {f(0), b(0), f(1), b(1)}};
  const naive::outcome made = naive::run(packs, programs, {.stages = 2}, one_and_two, no_message);
  EXPECT_EQ(made.stuck, std::nullopt);
  EXPECT_EQ(made.makespan, seconds{9});
  EXPECT_EQ(made.busy, (std::vector<seconds>{{6}, {6}}));
  EXPECT_EQ(made.first, (std::vector<seconds>{{1}, {2}}));
  EXPECT_EQ(made.gradients, (std::vector<gradient_span>{{{7}, {9}}, {{5}, {7}}}));
  // A message of half a second each way, of one pack: 1 + .5 + 1 + 2 + .5 + 2.
  const auto message = [](naive::spot, naive::spot, std::uint32_t) { return seconds{0.5}; };
  const std::vector<program> alone(2, program{f(0), b(0)});
  EXPECT_EQ(naive::run(tests::sliced(1, 1), alone, {.stages = 2}, one_and_two, message).makespan, seconds{7});
}

// Stage 0 wants B0 before it runs F1, and stage 1 F1 before it runs B0.
TEST(NaiveRun, SaysWhereProgramsWaitForEachOther) {
  const std::vector<program> programs{{f(0), b(0), f(1), b(1)}, {f(0), f(1), b(0), b(1)}};
  const naive::outcome made = naive::run(tests::sliced(2, 1), programs, {.stages = 2}, one_and_two, no_message);
  EXPECT_EQ(made.stuck, " stage 0 at " + name_of(b(0), 2) + " stage 1 at " + name_of(f(1), 2));
}

// Two slices of one sequence on one stage: its backward waits for all of its forward, though no program says so.
TEST(NaiveRun, TurnsASequenceWhereItEnds) {
  const partition packs = tests::sliced(1, 2);
  const std::vector<program> early{{f(0), b(0), f(1), b(1)}}, late{{f(0), f(1), b(0), b(1)}};
  EXPECT_TRUE(naive::run(packs, early, {}, one_and_two, no_message).stuck);
  EXPECT_FALSE(naive::run(packs, late, {}, one_and_two, no_message).stuck);
}

// Replica 0 has 3 s to do before the row that both share; in it 4 tokens take 4 s and 1 token 1, forward and backward
// alike.
//   replica 0   F0 0-3 | F1 3-7 | B0 7-11 | B1 11-14
//   replica 1            F0 3-7 | B0 7-11
TEST(NaiveRun, RunsThePacksOfARowTogether) {
  partition first, second;
  for (const pass p : both_passes) {
    const slice alone{{1}, {0}, {3}}, shared{{0}, {0}, {4}};
    const std::vector<slice> in_order = p == pass::forward ? std::vector{alone, shared} : std::vector{shared, alone};
    for (const slice& s : in_order) first.of(p).push(s), first.of(p).close();
    second.of(p).push({{0}, {4}, {1}}), second.of(p).close();
  }
  const std::vector<program> long_way{{f(0), f(1), b(0), b(1)}}, short_way{{f(0), b(0)}};
  const naive::running both[]{{&first, long_way}, {&second, short_way}};
  const std::vector<merge> merges{
      {.sequence = {0}, .replicas = {0, 1}, .forward = {{{1}, {0}}}, .backward = {{{0}, {0}}}}};
  const auto time = [&](std::size_t replica, const instruction& i, std::size_t) {
    return seconds{static_cast<double>(size_of((replica == 0 ? first : second).of(i.pass())[i.pack.value]).value)};
  };
  const auto message = [](std::size_t, naive::spot, naive::spot, std::uint32_t) { return seconds{}; };
  const std::vector<naive::outcome> made =
      naive::joint_run(std::span(both), std::span(merges), shape{.replicas = 2}, time, message)();
  EXPECT_EQ(made[0].makespan, seconds{14});
  EXPECT_EQ(made[1].makespan, seconds{11});
  EXPECT_EQ(made[1].busy, std::vector<seconds>{{8}}) << "a sharer waits in its row";
}

// Rows in another order than the other's are never run.
TEST(NaiveRun, SaysWhereRowsWaitForEachOther) {
  partition packs[2];
  for (const std::uint32_t r : {0u, 1u})
    for (const pass p : both_passes)
      for (const std::uint32_t k : {0u, 1u})
        packs[r].of(p).push({{r == 0 ? k : 1 - k}, {r}, {1}}), packs[r].of(p).close();
  const std::vector<program> code{{f(0), f(1), b(0), b(1)}};
  const naive::running both[]{{&packs[0], code}, {&packs[1], code}};
  const std::vector<merge> crossed{
      {.sequence = {0}, .replicas = {0, 1}, .forward = {{{0}, {1}}}, .backward = {{{0}, {1}}}},
      {.sequence = {1}, .replicas = {0, 1}, .forward = {{{1}, {0}}}, .backward = {{{1}, {0}}}}};
  for (const naive::outcome& made : naive::run(both, crossed, {.replicas = 2}))
    EXPECT_EQ(made.stuck, " stage 0 at " + name_of(f(0), 2));
}

// Stage 1 lends stage 0 its time: F1 of stage 0 and F0 of stage 1 begin together and end with the longer.
TEST(NaiveRun, RunsInstructionsTogetherThatLend) {
  const partition packs = tests::sliced(2, 1);
  const std::vector<program> programs{{f(0), f(1), b(0), b(1)}, {f(0), b(0), f(1), b(1)}};
  const std::vector<loan> loans{{{0, f(1)}, {1, f(0)}, {}, {}}};
  const naive::running one{&packs, programs, loans};
  const auto time = [](std::size_t, const instruction& i, std::size_t place) {
    return seconds{i == f(1) && place == 0 ? 5.0 : 1.0};
  };
  const auto message = [](std::size_t, naive::spot, naive::spot, std::uint32_t) { return seconds{}; };
  const naive::outcome made =
      naive::joint_run(std::span(&one, 1), std::span<const merge>{}, shape{.stages = 2}, time, message)().front();
  EXPECT_EQ(made.first, (std::vector<seconds>{{1}, {6}})) << "F0 of stage 1 takes 5 s with F1 of stage 0";
  EXPECT_EQ(made.makespan, seconds{1 + 5 + 1 + 1 + 1 + 1});
}

}  // namespace
}  // namespace slimpack::joint_run_test
