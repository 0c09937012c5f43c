#include <slimpack/executors/job/step_watch.hpp>

#include "prefix_model.hpp"

#include <slimpack/core/plan_hash.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/profiling/trials.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::step_watch_test {
namespace {

using executors::step_watch;
using executors::watched_step;

TEST(WatchedStep, IsTheSameWhereThePlanTheNumberAndThePassesAre) {
  constexpr watched_step step{7, 3, 1};
  EXPECT_EQ(step, (watched_step{7, 3, 1}));
  EXPECT_NE(step, (watched_step{8, 3, 1}));
  EXPECT_NE(step, (watched_step{7, 4, 1}));
  EXPECT_NE(step, (watched_step{7, 3, 0}));
  EXPECT_EQ(watched_step{}.forward_only, 0);  // a step that trains
}

/// A trainer's own channel for errors, which writes down what it is asked, a letter for each call. Another rank of its
/// job fails before the call that `fails_at` counts.
struct own_channel final : step_watch {
  explicit own_channel(int call = -1) : fails_at(call) {}
  result<void> begin(const watched_step& step, rank_of_step, int all) override {
    return begun = step, ranks = all, diary += '[', success();
  }
  result<void> enter() override {
    if (calls++ == fails_at) return diary += '!', error{errc::aborted, "rank 7 of the job: out of memory"};
    return diary += '(', success();
  }
  void leave() noexcept override { diary += ')'; }
  result<void> end() override { return diary += ']', success(); }
  error fail(error why) override {
    return told = why.detail, diary += 'f', error{errc::aborted, "rank 7 of the job: out of memory"};
  }
  void close() override { diary += 'c'; }

  int fails_at, calls{}, ranks{};
  watched_step begun;
  std::string diary, told;
};

struct ended {
  std::optional<error> why;
  bytes held;
};

/// Of one rank: a sequence of 8 tokens, in packs of 5 and 3.
plan two_packs() {
  return profiling::plan_of(profiling::side_by_side(1, std::vector<tokens>{{5}, {3}}), {.stages = 1});
}

ended run(own_channel& channel) {
  const plan p = two_packs();
  transports::threads world{1};
  auto endpoint = world.endpoint(0);
  prefix_in_arena<backward_cuts::any> compute(0, 1, 1);
  const result<step_report> step = executors::packflow{.step = 5, .world = &channel}.execute(p, compute, endpoint);
  return {step ? std::nullopt : std::optional(step.error()), compute.held()};
}

// begin_step, two forwards, two backwards, reduce_part of the one chunk and reduce, then the end.
TEST(StepWatch, IsAskedAroundEachCallOfTheCompute) {
  own_channel channel;
  const ended step = run(channel);
  EXPECT_FALSE(step.why) << step.why->detail;
  EXPECT_EQ(channel.begun, (watched_step{hash_of(two_packs()), 5, 0}));
  EXPECT_EQ(channel.ranks, 1);
  EXPECT_EQ(channel.diary, "[()()()()()()()]");
}

// The calls before it are F0's and begin_step's. What had been forwarded is discarded before close.
TEST(StepWatch, StopsAStepBeforeTheNextCallOfTheCompute) {
  own_channel channel(2);
  const ended step = run(channel);
  ASSERT_TRUE(step.why);
  EXPECT_EQ(step.why->code, errc::aborted);
  EXPECT_EQ(step.why->detail, "rank 7 of the job: out of memory");
  EXPECT_EQ(channel.diary.substr(0, 7), "[()()!f");
  EXPECT_EQ(channel.diary.back(), 'c');
  EXPECT_EQ(channel.diary.find(']'), std::string::npos);
  EXPECT_EQ(channel.told.find("rank 0 (replica 0, stage 0), F1: sequence "), 0u) << channel.told;
  EXPECT_EQ(step.held, bytes{});
}

// Ranks know a watch by its address.
TEST(StepWatch, IsNeitherCopiedNorMoved) {
  static_assert(!std::is_copy_constructible_v<own_channel> && !std::is_move_constructible_v<own_channel>);
  static_assert(!std::is_copy_assignable_v<own_channel> && !std::is_move_assignable_v<own_channel>);
  static_assert(std::has_virtual_destructor_v<step_watch> && std::is_abstract_v<step_watch>);
}

}  // namespace
}  // namespace slimpack::step_watch_test
