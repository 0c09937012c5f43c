#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace slimpack::by_pass_test {
namespace {

TEST(ByPass, PicksTheValueOfAPass) {
  by_pass<std::string> words{"there", "back"};
  words[pass::backward] += " again";
  const by_pass<std::string>& read = words;
  EXPECT_EQ(read[pass::forward], "there");
  EXPECT_EQ(read[pass::backward], "back again");
  EXPECT_EQ(read.backward, "back again");
}

TEST(ByPass, BeginsWithEmptyValues) {
  EXPECT_EQ(by_pass<int>{}, (by_pass<int>{0, 0}));
  EXPECT_NE(by_pass<int>{}, (by_pass<int>{0, 1}));
}

TEST(ByPass, PassesComeForwardFirst) {
  std::string order;
  for (const pass p : both_passes) order += p == pass::forward ? 'F' : 'B';
  EXPECT_EQ(order, "FB");
}

TEST(ByPass, PlacesComeFrontToBackOrBackToFront) {
  std::string there, back;
  for (std::size_t i = 0; i < 3; ++i) {
    there += "abc"[nth_place(pass::forward, i, std::size_t{3})];
    back += "abc"[nth_place(pass::backward, i, std::size_t{3})];
  }
  EXPECT_EQ(there, "abc");
  EXPECT_EQ(back, "cba");
}

static_assert(by_pass<int>{3, 4}[pass::backward] == 4);

}  // namespace
}  // namespace slimpack::by_pass_test
