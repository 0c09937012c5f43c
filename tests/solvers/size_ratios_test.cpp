#include <slimpack/solvers/size_ratios.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace slimpack::size_ratios_test {
namespace {

using solvers::size_ratios;

// A search changes ratios through this list: each is there once, in the order in which they are written.
TEST(SizeRatios, AreAllInTheirList) {
  size_ratios made;
  double next = 1;
  for (double size_ratios::*ratio : size_ratios::all()) made.*ratio = next++;
  EXPECT_EQ(made, (size_ratios{1, 2, 3, 4, 5, 6, 7}));
}

TEST(SizeRatios, PrintAsTheyAreWritten) {
  std::ostringstream text;
  text << size_ratios{1, 2, 3, 4, 5, 6, 7.5};
  EXPECT_EQ(text.str(),
            "{.steady = 1, .ramp_least = 2, .fill = 3, .drain = 4, .turn_least = 5, .before = 6, .after = 7.5}");
}

}  // namespace
}  // namespace slimpack::size_ratios_test
