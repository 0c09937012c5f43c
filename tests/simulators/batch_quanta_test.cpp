#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/bounds/batch_quanta.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::batch_quanta_test {
namespace {

using simulators::batch_quanta;
using simulators::quantum_group;

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

/// Law: whole groups, more quanta and the rest of a sequence are its tokens; all groups and rests are those of the
/// batch.
TEST(BatchQuanta, AreAllTokensOfTheBatch) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    testing::generator random(seed);
    const tokens quantum{random.between(1, 9)};
    std::vector<sequence> batch;
    double sum = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      batch.push_back({{i}, random.length(quantum * (seed % 2 == 0 ? 2000 : 50))});  // more positions than groups in
                                                                                     // every second
      sum += static_cast<double>(batch.back().length.value);
    }
    const batch_quanta all(batch, quantum);
    EXPECT_LE(static_cast<std::int64_t>(all.groups().size()), batch_quanta::most);
    double counted = 0;
    for (const quantum_group& g : all.groups()) {
      EXPECT_LE(g.first.begin, g.last.begin);
      counted += g.count * static_cast<double>(quantum.value);
    }
    for (const slice& rest : all.rests()) counted += static_cast<double>(rest.length.value);
    EXPECT_EQ(counted, sum) << "seed " << seed;
    for (const sequence& s : batch)
      EXPECT_EQ(quantum * (static_cast<std::int64_t>(all.whole_groups(s)) * all.group_size() + all.more_quanta(s)) +
                    all.rest_of(s).length,
                s.length)
          << "seed " << seed;
  }
}

}  // namespace
}  // namespace slimpack::batch_quanta_test
