#include <slimpack/core/relays/legs.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace slimpack::legs_test {
namespace {

/// Relays between nodes of x sharers each, in so many segments.
std::vector<relay> random_relays(testing::generator& random) {
  std::vector<relay> relays(static_cast<std::size_t>(random.between(1, 3)));
  std::uint32_t next = 0;
  for (relay& r : relays) {
    r.segments = static_cast<std::uint32_t>(random.between(1, 5));
    r.out.resize(static_cast<std::size_t>(random.between(2, 4))), r.in.resize(r.out.size());
    for (auto* const side : {&r.out, &r.in})
      for (std::uint32_t& replica : *side) replica = next++;
  }
  return relays;
}

TEST(Legs, OfEachSegmentAreSpreadThenCrossThenAreGathered) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    testing::generator random(seed);
    const std::vector<relay> relays = random_relays(random);
    const std::vector<leg> order = legs_in_order(relays);
    std::size_t expected = 0;
    for (const relay& r : relays)
      expected += r.segments * (3 * r.out.size() - 2);  // strand 0 has one leg, each other
                                                        // three
    EXPECT_EQ(order.size(), expected) << "seed " << seed;
    for (std::uint32_t n = 0; n < relays.size(); ++n)
      for (std::uint32_t strand = 0; strand < relays[n].out.size(); ++strand)
        for (std::uint32_t segment = 0; segment < relays[n].segments; ++segment) {
          std::vector<leg> own;
          std::copy_if(order.begin(), order.end(), std::back_inserter(own),
                       [&](const leg& l) { return l.route == n && l.strand == strand && l.segment == segment; });
          const std::uint32_t first = relays[n].out.front(), last = relays[n].in.front();
          const std::uint32_t out = relays[n].out[strand], in = relays[n].in[strand];
          const auto strands = static_cast<std::uint32_t>(relays[n].out.size()), segments = relays[n].segments;
          const auto told_leg = [&](leg_step step, std::uint32_t from, std::uint32_t to) {
            return leg{step, from, to, n, strand, segment, strands, segments, first, last};
          };
          std::vector<leg> told{told_leg(leg_step::cross, out, in)};
          if (strand > 0)
            told = {told_leg(leg_step::spread, first, out), told.front(), told_leg(leg_step::gather, in, last)};
          EXPECT_EQ(own, told) << "seed " << seed << ", relay " << n << ", strand " << strand << ", segment "
                               << segment;
        }
  }
}

TEST(Legs, ThatCrossCarryEachRowOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    testing::generator random(seed);
    const std::vector<relay> relays = random_relays(random);
    const std::int64_t count = random.between(0, 60);
    std::vector<std::vector<int>> carried(relays.size(), std::vector<int>(static_cast<std::size_t>(count)));
    for (const leg& l : legs_in_order(relays)) {
      const leg_rows strand = strand_rows(l, count), rows = rows_of(l, count);
      EXPECT_LE(strand.begin, rows.begin) << "seed " << seed;
      EXPECT_LE(rows.end, strand.end) << "seed " << seed;
      if (l.step == leg_step::cross)
        for (std::int64_t row = rows.begin; row < rows.end; ++row) ++carried[l.route][static_cast<std::size_t>(row)];
    }
    for (const std::vector<int>& of_relay : carried)
      EXPECT_EQ(of_relay, std::vector<int>(static_cast<std::size_t>(count), 1)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace slimpack::legs_test
