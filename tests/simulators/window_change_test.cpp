#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/order/window_change.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::window_change_test {
namespace {

std::vector<bool> left(const simulators::window_change& change) {
  std::vector<bool> found;
  for (std::size_t i = 0; i < change.places.size(); ++i) found.push_back(change.is_left(i));
  return found;
}

// Five places, of which three are left: the first of a forward change, the last of a backward one.
TEST(WindowChange, LeavesTheFirstPlacesForwardAndTheLastBackward) {
  simulators::window_change change;
  change.places = {4, 5, 6, 7, 8};
  change.size = {10, 20, 30};
  change.pass = pass::forward;
  EXPECT_EQ(left(change), (std::vector<bool>{true, true, true, false, false}));
  change.pass = pass::backward;
  EXPECT_EQ(left(change), (std::vector<bool>{false, false, true, true, true}));
}

TEST(WindowChange, LeavesAllPlacesWhereAsManyPacksStay) {
  simulators::window_change change;
  change.places = {4, 5};
  change.size = {10, 20};
  for (const pass p : both_passes) {
    change.pass = p;
    EXPECT_EQ(left(change), (std::vector<bool>{true, true}));
  }
}

}  // namespace
}  // namespace slimpack::window_change_test
