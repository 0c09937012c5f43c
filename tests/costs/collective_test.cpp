#include <slimpack/costs/network/collective.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace slimpack::collective_test {
namespace {

using costs::collective;
using costs::traffic_per_byte;

constexpr collective every[]{collective::send_receive, collective::all_reduce, collective::all_gather,
                             collective::reduce_scatter, collective::all_to_all};

// In a ring of n ranks a buffer has n pieces, and each rank hands on one piece a round: n - 1 rounds gather all of
// them, n - 1 rounds reduce them, and an all-reduce is both. In an all-to-all a rank keeps the n-th part of what it
// has.
TEST(Collective, PutsOnTheWireWhatARingMoves) {
  for (int n = 1; n <= 20; ++n) {
    double gathered = 0, reduced = 0, exchanged = 0;
    for (int round = 1; round < n; ++round) gathered += 1.0 / n, reduced += 1.0 / n;
    for (int other = 1; other < n; ++other) exchanged += 1.0 / n;
    EXPECT_NEAR(traffic_per_byte(collective::all_gather, n), gathered, 1e-12) << n;
    EXPECT_NEAR(traffic_per_byte(collective::reduce_scatter, n), reduced, 1e-12) << n;
    EXPECT_NEAR(traffic_per_byte(collective::all_reduce, n), gathered + reduced, 1e-12) << n;
    EXPECT_NEAR(traffic_per_byte(collective::all_to_all, n), exchanged, 1e-12) << n;
    EXPECT_EQ(traffic_per_byte(collective::send_receive, n), 1) << n;
  }
}

// Files of measurements name them so.
TEST(Collective, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const collective op : every) names.insert(name_of(op));
  EXPECT_EQ(names,
            (std::set<std::string_view>{"send_receive", "all_reduce", "all_gather", "reduce_scatter", "all_to_all"}));
  EXPECT_EQ(name_of(collective::all_to_all), "all_to_all");
  EXPECT_EQ(name_of(collective::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(name_of(collective::all_reduce), "all_reduce");
}

}  // namespace
}  // namespace slimpack::collective_test
