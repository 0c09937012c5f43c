#include "replay.hpp"
#include "agreement.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace slimpack::tests {
namespace {

constexpr shape two_stages{.stages = 2};
constexpr instruction f0{instruction_kind::forward, {0}}, f1{instruction_kind::forward, {1}},
    b0{instruction_kind::backward, {0}}, b1{instruction_kind::backward, {1}};
constexpr instruction w0{instruction_kind::weights, {0}}, w1{instruction_kind::weights, {1}};
constexpr seconds never{std::numeric_limits<double>::infinity()};

/// One sequence in each of two packs; F, B and W take 1 s each, a message half a second.
seconds makespan(program first, program second) {
  plan p;
  p.shape = two_stages;
  replica_plan& r = p.replicas.emplace_back();
  for (std::uint32_t s = 0; s < 2; ++s)
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) {
      packs->push({{s}, {0}, {128}});
      packs->close();
    }
  for (const instruction_kind k : {instruction_kind::forward, instruction_kind::backward, instruction_kind::weights})
    r.times.calls[k].assign(4, {1});
  for (const pass way : both_passes) r.times.messages[way].assign(4, {0.5});
  r.times.apart = {{1, 1}};
  r.programs = {std::move(first), std::move(second)};
  return replay(p, {0}, as_planned(p)).makespans()[0];
}

// stage 0   F0 0 to 1, F1 1 to 2,              B0 4 to 5, B1 6 to 7, W0 7 to 8, W1 8 to 9
// stage 1   F0 1.5 to 2.5, B0 to 3.5, F1 to 4.5, B1 to 5.5, W0, W1
TEST(Replay, RunsWeightGradientsInTheOrderOfTheProgram) {
  EXPECT_EQ(makespan({f0, f1, b0, b1, w0, w1}, {f0, b0, f1, b1, w0, w1}), seconds{9});
}

// On stage 0 W0 runs while B1 waits for its message, from 5 to 6.
TEST(Replay, RunsWeightGradientsWhileAStageWouldWait) {
  EXPECT_EQ(makespan({f0, f1, b0, w0, b1, w1}, {f0, b0, f1, b1, w0, w1}), seconds{8});
}

TEST(Replay, NeverEndsWhereABackwardComesBeforeItsForward) {
  EXPECT_EQ(makespan({f0, f1, b0, b1, w0, w1}, {b0, f0, f1, b1, w0, w1}), never);
}

TEST(Replay, NeverEndsWhereWeightGradientsComeBeforeTheirBackward) {
  EXPECT_EQ(makespan({f0, f1, w0, b0, b1, w1}, {f0, b0, f1, b1, w0, w1}), never);
}

TEST(Replay, NeverEndsWhereStagesWaitForEachOther) {
  EXPECT_EQ(makespan({f0, b0, f1, b1, w0, w1}, {f0, f1, b0, b1, w0, w1}), never);
}

TEST(Agreement, IsWithNothingOnceAnEndIsNoNumber) {
  constexpr seconds none{std::numeric_limits<double>::quiet_NaN()};
  for (const auto& [simgrid, simulator] : {std::pair{never, never}, {none, seconds{1}}}) {
    agreement found;
    found.compare(simgrid, simulator, {1});
    found.compare({1}, {1}, {1});
    EXPECT_FALSE(found.largest() <= found.close);
  }
}

}  // namespace
}  // namespace slimpack::tests
