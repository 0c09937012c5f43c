#include <slimpack/solvers/search_options.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace slimpack::search_budget_test {
namespace {

using solvers::search_budget;

std::string text_of(const search_budget& b) {
  std::ostringstream text;
  text << b;
  return text.str();
}

// The limit of a first candidate only where there is one.
TEST(SearchBudget, PrintsAsItIsWritten) {
  EXPECT_EQ(text_of({5, 6}), "{.tasks = 5, .candidates = 6}");
  EXPECT_EQ(text_of({5, 6, 7}), "{.tasks = 5, .candidates = 6, .largest = 7}");
}

TEST(SearchBudget, GrowsFromFastToHigh) {
  const auto less = [](const search_budget& a, const search_budget& b) {
    return a.tasks < b.tasks && a.candidates < b.candidates;
  };
  EXPECT_TRUE(less(search_budget::fast(), search_budget::normal()));
  EXPECT_TRUE(less(search_budget::normal(), search_budget::high()));
  for (const search_budget& b : {search_budget::fast(), search_budget::normal(), search_budget::high()})
    EXPECT_EQ(b.largest, search_budget::no_limit) << "a first candidate is always made";
}

}  // namespace
}  // namespace slimpack::search_budget_test
