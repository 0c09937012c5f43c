#include <slimpack/core/laws/completed_times.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::completed_times_test {
namespace {

/// The packs of one sequence of 8 tokens: two forward, one backward.
partition two_and_one() {
  partition packs;
  for (const std::int64_t begin : {0, 4}) packs.forward.push({{0}, {begin}, {4}}), packs.forward.close();
  packs.backward.push({{0}, {0}, {8}}), packs.backward.close();
  return packs;
}

TEST(CompletedTimes, AreZeroWhereAPlanHasNone) {
  const shape on{.stages = 2, .chunks = 2, .vocabulary = vocabulary::spread};
  const timings t = completed({.apart = {{1}}}, two_and_one(), on, 0).value();
  EXPECT_EQ(t.before.forward, (std::vector<std::int64_t>{0, 4, 8}));
  EXPECT_EQ(t.before.backward, (std::vector<std::int64_t>{0, 8}));
  EXPECT_EQ(t.calls[pass::forward], std::vector<seconds>(2 * 4));
  EXPECT_EQ(t.calls[instruction_kind::weights], std::vector<seconds>(4));
  EXPECT_EQ(t.messages[message_kind::hidden], std::vector<seconds>(2 * 2));
  EXPECT_EQ(t.messages[message_kind::gradients], std::vector<seconds>(2));
  const timings last = completed({}, two_and_one(), {.stages = 2}, 0).value();
  EXPECT_TRUE(last.calls[instruction_kind::weights].empty());
  EXPECT_TRUE(last.calls[instruction_kind::output].empty());
  EXPECT_EQ(completed(last, two_and_one(), {.stages = 2}, 0).value(), last);
}

TEST(CompletedTimes, AreRefusedByTheNameOfTheColumnThatDoesNotFit) {
  const auto why = [](timings t) { return completed(std::move(t), two_and_one(), {.stages = 2}, 3).error().detail; };
  timings t;
  t.calls[pass::forward] = {{1}};
  EXPECT_EQ(why(t), "replica 3 has 1 times of forward calls, its packs need 4");
  t.calls[pass::forward].clear(), t.messages[pass::backward] = {{1}, {-1}};
  EXPECT_EQ(why(t), "replica 3 has a time of backward messages that is not from 0 to 1e12 s");
  EXPECT_EQ(why({.before = {{0, 4}, {}}}), "replica 3 counts the tokens before 1 forward packs, it has 2");
  EXPECT_EQ(why({.apart = {{0, 1}}}), "replica 3 says of 2 backward packs where their weight gradients run, it has 1");
}

}  // namespace
}  // namespace slimpack::completed_times_test
