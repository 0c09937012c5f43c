#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/hooks.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack::workload_test {
namespace {

struct apart {
  static constexpr bool splits_weight_gradients = true;
};
struct undecided {};
static_assert(weight_gradients_of<apart> == weight_gradients::apart);
static_assert(weight_gradients_of<undecided> == weight_gradients::with_inputs);

/// Two packs on two stages of two chunks: forward takes 1 s and so on by (pack, part), backward 10 s more, weights 20
/// s.
workload numbered() {
  workload work;
  work.shape = {.stages = 2, .chunks = 2};
  for (int i = 1; i <= 8; ++i) {
    work.times.calls[pass::forward].push_back({1.0 * i});
    work.times.calls[pass::backward].push_back({10.0 + i});
    work.times.calls[instruction_kind::weights].push_back({20.0 + i});
  }
  return work;
}

// Pack 1 on chunk 1 of stage 0 is part 2 of 4: the seventh entry.
TEST(TimeOf, FindsAnInstructionByPackChunkAndStage) {
  const workload work = numbered();
  EXPECT_EQ(time_of(work.times, {instruction_kind::forward, {1}, 1}, 0, work.shape), seconds{7});
  EXPECT_EQ(time_of(work.times, {instruction_kind::backward, {1}, 1}, 0, work.shape), seconds{17});
  EXPECT_EQ(time_of(work.times, {instruction_kind::weights, {1}, 1}, 0, work.shape), seconds{27});
  EXPECT_EQ(time_of(work.times, {instruction_kind::forward, {0}, 0}, 1, work.shape), seconds{2});
}

/// `numbered`, to be had in B of 1 s and W of 100 s more by pack and part.
workload numbered_parts() {
  workload work = numbered();
  work.times.calls[instruction_kind::weights].clear();
  work.times.before.backward = {0, 1, 2};
  for (int i = 1; i <= 8; ++i) {
    work.split.inputs.push_back({1.0 + i});
    work.split.weights.push_back({100.0 + i});
  }
  return work;
}

TEST(Settled, TakesThePartsOfPacksThatAreApart) {
  const workload made = settled(numbered_parts(), std::vector<std::uint8_t>{0, 1});
  EXPECT_EQ(made.times.apart.flags, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(time_of(made.times, {instruction_kind::backward, {0}, 1}, 1, made.shape), seconds{14}) << "whole";
  EXPECT_EQ(time_of(made.times, {instruction_kind::backward, {1}, 0}, 0, made.shape), seconds{6});
  EXPECT_EQ(time_of(made.times, {instruction_kind::weights, {1}}, 0, made.shape), seconds{105});
  EXPECT_TRUE(made.split.inputs.empty()) << "nothing is left to decide";
}

TEST(Settled, FollowsThePrograms) {
  const workload work = numbered_parts();
  const std::vector<program> whole(2, {{instruction_kind::backward, {0}}, {instruction_kind::backward, {1}}});
  EXPECT_EQ(settled(work, whole).times, work.times);
  std::vector<program> programs = whole;
  for (program& code : programs) code.push_back({instruction_kind::weights, {1}});
  EXPECT_EQ(settled(work, programs).times.apart.flags, (std::vector<std::uint8_t>{0, 1}));
}

TEST(Settled, LeavesAWorkloadThatOffersNothingAsItIs) {
  const workload work = numbered();
  EXPECT_EQ(settled(work, std::vector<std::uint8_t>{1, 1}).times, work.times);
}

// After packs of 3 and 5 bytes forward, and the first of them backward, stage 1 keeps 5; stage 0 keeps nothing beside.
TEST(Workload, CountsWhatIsKeptBesideTokens) {
  workload work;
  work.times.before.forward = work.times.before.backward = {0, 1, 2};
  work.times.kept.forward = {0, 0, 0, 0, 3, 8};
  work.times.kept.backward = {0, 0, 0, 0, 3, 8};
  EXPECT_EQ(work.kept(0, 2, 1), 0);
  EXPECT_EQ(work.kept(1, 2, 1), 5);
  EXPECT_EQ(work.times.kept_by(pass::forward, 1, 1), 5);
}

}  // namespace
}  // namespace slimpack::workload_test
