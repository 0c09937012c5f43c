#include <slimpack/solvers/search_report.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slimpack::search_report_test {
namespace {

using solvers::move_report;
using solvers::search_report;

TEST(SearchReport, HasALineForEachNameInTheOrderInWhichTheyCame) {
  search_report report;
  report.of("swap").tried = 3;
  report.of("shift").taken = 1;
  report.of("swap").gained += seconds{0.5};
  EXPECT_EQ(report.moves(), (std::vector<move_report>{{"swap", 3, 0, {0.5}}, {"shift", 0, 1, {}}}));
}

// A name is its letters, wherever they stand.
TEST(SearchReport, TakesNamesByTheirLetters) {
  const std::string one = "swap", other = "swap";
  search_report report;
  ++report.of(one).tried;
  ++report.of(other).tried;
  EXPECT_EQ(report.moves().size(), 1u);
  EXPECT_EQ(report.of("swap").tried, 2u);
}

TEST(SearchReport, AddsAnotherLineByLine) {
  search_report report, other;
  report.of("swap") = {"swap", 3, 2, {0.5}};
  other.of("merge") = {"merge", 7, 1, {2}};
  other.of("swap") = {"swap", 4, 1, {0.25}};
  report.add(other);
  EXPECT_EQ(report.moves(), (std::vector<move_report>{{"swap", 7, 3, {0.75}}, {"merge", 7, 1, {2}}}));
  report.add({});
  EXPECT_EQ(report.moves().size(), 2u);
}

}  // namespace
}  // namespace slimpack::search_report_test
