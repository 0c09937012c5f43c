#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::batch_quanta_test {
namespace {

using simulators::batch_quanta;

// Quanta of 10: 25 tokens are 2 and a rest of 5, 40 are 4, 7 are a rest alone.
TEST(BatchQuanta, CountThoseAtEachPosition) {
  const std::vector<sequence> batch{{{0}, {25}}, {{1}, {40}}, {{2}, {7}}};
  const batch_quanta all(batch, {10});
  ASSERT_EQ(all.groups().size(), 4u);
  EXPECT_EQ(all.group_size(), 1);
  const double counts[]{2, 2, 1, 1};
  for (std::size_t g = 0; g < 4; ++g) {
    EXPECT_EQ(all.groups()[g].first, (slice{{}, {static_cast<std::int64_t>(10 * g)}, {10}}));
    EXPECT_EQ(all.groups()[g].last, all.groups()[g].first);
    EXPECT_EQ(all.groups()[g].count, counts[g]);
  }
  ASSERT_EQ(all.rests().size(), 2u);
  EXPECT_EQ(all.rests()[0], (slice{{0}, {20}, {5}}));
  EXPECT_EQ(all.rests()[1], (slice{{2}, {0}, {7}}));
}

/// Law: the quanta and the rest of a sequence are its tokens; all groups and rests are those of the batch.
void check(const std::vector<sequence>& batch, tokens quantum) {
  const batch_quanta all(batch, quantum);
  const std::size_t groups = all.groups().size();
  EXPECT_LE(static_cast<std::int64_t>(groups), batch_quanta::most);
  std::vector<double> counts(groups);
  std::vector<slice> rests;
  for (const sequence& s : batch) {
    tokens at = s.begin;
    for (std::int64_t k = all.first_quantum(s); k < all.end_quantum(s); ++k, at += quantum) {
      const auto g = static_cast<std::size_t>(k / all.group_size());
      ASSERT_LT(g, groups);
      ++counts[g];
      EXPECT_LE(all.groups()[g].first.begin, at);
      EXPECT_GE(all.groups()[g].last.begin, at);
    }
    EXPECT_EQ(all.rest_of(s), (slice{s.id, at, s.end() - at}));
    if (at < s.end()) rests.push_back(all.rest_of(s));
  }
  for (std::size_t g = 0; g < groups; ++g) EXPECT_EQ(all.groups()[g].count, counts[g]) << "group " << g;
  EXPECT_EQ(std::vector<slice>(all.rests().begin(), all.rests().end()), rests);
}

// More positions than groups in every second.
TEST(BatchQuanta, AreAllTokensOfTheBatch) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const tokens quantum{random.between(1, 9)};
    std::vector<sequence> batch;
    for (std::uint32_t i = 0; i < 20; ++i) batch.push_back({{i}, random.length(quantum * (seed % 2 == 0 ? 2000 : 50))});
    check(batch, quantum);
  }
}

TEST(BatchQuanta, AreAllTokensOfAForest) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::generator random(seed);
    const tokens quantum{random.between(1, 9)};
    check(batch_view(testing::trial_forest(random, 20, quantum * (seed % 2 == 0 ? 2000 : 50))).sequences(), quantum);
  }
}

}  // namespace
}  // namespace slimpack::batch_quanta_test
