#include <slimpack/testing/report.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace slimpack::report_test {
namespace {

std::string text(const testing::report& r) {
  std::ostringstream out;
  out << r;
  return out.str();
}

TEST(LawReport, IsFalseUntilSomethingWasChecked) {
  testing::report r("some laws", 1);
  EXPECT_FALSE(r);
  r.check(1, true, "one is one");
  EXPECT_TRUE(r);
  EXPECT_EQ(text(r), "some laws: 1 checks, ok\n");
}

TEST(LawReport, NamesLawSentenceNumbersAndSeed) {
  testing::report r("some laws", 42);
  r.check(1, true, "one is one");
  r.check(3, false, "times do not fall", "slice", slice{{1}, {128}, {64}}, pass::backward, "takes", seconds{0.5},
          "after", 2);
  EXPECT_FALSE(r);
  EXPECT_EQ(text(r),
            "some laws: 1 of 2 checks failed\n"
            "  law 3, times do not fall: slice [1, 128, 64] backward takes 0.5 after 2 (seed 42)\n");
}

TEST(LawReport, CountsAllFailuresAndListsTheFirstOfEachLaw) {
  testing::report r("some laws", 1);
  for (int i = 0; i < 100; ++i) r.check(1, false, "never", i);
  r.check(2, false, "nor this");
  EXPECT_EQ(r.checks(), 101);
  EXPECT_EQ(r.broken(1), 100);
  EXPECT_EQ(r.broken(2), 1);
  EXPECT_EQ(r.broken(7), 0);
  ASSERT_EQ(r.failures().size(), 4u);
  EXPECT_EQ(r.failures().back().law, 2);
}

}  // namespace
}  // namespace slimpack::report_test
