#include <slimpack/core/timings.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::timings_test {
namespace {

// Packs of 3 and 5 bytes on stage 1, of nothing on stage 0.
TEST(Timings, TellWhatAPackKeepsBesideItsTokens) {
  const timings t{.before = {{0, 1, 2}, {}}, .kept = {{0, 0, 0, 0, 3, 8}, {}}};
  EXPECT_EQ(t.packs(pass::forward), 2u);
  EXPECT_EQ(t.kept_by(pass::forward, 0, 1), 3);
  EXPECT_EQ(t.kept_by(pass::forward, 1, 1), 5);
  EXPECT_EQ(t.kept_by(pass::forward, 1, 0), 0);
}

TEST(Timings, KeepNothingWhereTheCostModelDoesNotSay) {
  const timings t{.before = {{0, 7}, {}}};
  EXPECT_EQ(t.kept_by(pass::forward, 0, 3), 0);
  EXPECT_EQ(t.packs(pass::backward), 0u);
}

TEST(Timings, HaveEachColumnOnceInTheOrderOfFiles) {
  timings t;
  double n = 0;
  for (const time_column c : time_columns) t[c] = {{++n}};
  for (std::size_t k = 0; k < instruction_kinds.size(); ++k) EXPECT_EQ(t.calls[instruction_kind(k)].size(), 1u) << k;
  for (std::size_t k = 0; k < message_kinds.size(); ++k) EXPECT_EQ(t.messages[message_kind(k)].size(), 1u) << k;
  EXPECT_EQ(t.messages[pass::backward], std::vector<seconds>{{4}});
  EXPECT_EQ(t.calls[instruction_kind::embed_gradients], std::vector<seconds>{{13}});
}

TEST(Timings, SayOfWhichPlacesTheyAre) {
  timings t;
  EXPECT_FALSE(t.has(places::parts));
  t.calls[pass::forward] = {{1}};
  EXPECT_TRUE(t.has(places::parts));
  EXPECT_FALSE(t.has(places::stages));
  t.messages[message_kind::hidden] = {{1}};
  EXPECT_TRUE(t.has(places::stages));
}

// Of four parts there are three boundaries: those behind parts 0, 1, 2 forward, before parts 1, 2, 3 backward.
TEST(Timings, HaveAMessageForEachBoundary) {
  const std::vector<int> pack{10, 11, 12, 13};
  const auto forward = detail::boundaries(std::span(pack), pass::forward);
  const auto backward = detail::boundaries(std::span(pack), pass::backward);
  EXPECT_EQ(std::vector<int>(forward.begin(), forward.end()), (std::vector<int>{10, 11, 12}));
  EXPECT_EQ(std::vector<int>(backward.begin(), backward.end()), (std::vector<int>{11, 12, 13}));
}

TEST(ApartPacks, OfNoneSplitNothing) {
  const apart_packs none;
  EXPECT_FALSE(none.splits(0));
  EXPECT_EQ(none.count(), 0u);
}

TEST(ApartPacks, AreFoundOneByOne) {
  const apart_packs some{{0, 1, 0, 1, 0}};
  EXPECT_EQ(some.count(), 2u);
  EXPECT_TRUE(some.splits(1));
  EXPECT_FALSE(some.splits(2));
  EXPECT_EQ(some.next(0), 1u);
  EXPECT_EQ(some.next(1), 1u);
  EXPECT_EQ(some.next(2), 3u);
  EXPECT_EQ(some.next(4), 5u) << "past the last when none does";
}

}  // namespace
}  // namespace slimpack::timings_test
