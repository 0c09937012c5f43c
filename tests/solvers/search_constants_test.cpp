#include <slimpack/solvers/search_constants.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>

namespace slimpack::search_constants_test {
namespace {

using solvers::constants_of;
using solvers::search_constant;
using solvers::search_options;
using solvers::with_constant;

TEST(SearchConstants, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const search_constant& c : constants_of(search_options{})) names.emplace(c.name);
  EXPECT_EQ(names.size(), constants_of(search_options{}).size());
  EXPECT_EQ(names.count(""), 0u);
}

TEST(SearchConstants, VaryByTheirNames) {
  for (const search_constant& c : constants_of(search_options{})) {
    const search_options changed = with_constant(search_options{}, c.name, c.value == c.most ? c.least : c.most);
    EXPECT_NE(changed, search_options{}) << c.name;
    EXPECT_EQ(with_constant(changed, c.name, c.value), search_options{}) << c.name;
  }
  const search_options several{.light = 0.5, .tuning = {.walk_most = 3}};
  EXPECT_EQ(with_constant(with_constant(search_options{}, "light", 0.5), "walk_most", 2.7), several);
}

TEST(SearchConstants, KeepNamesAndRangesWhereUsersGiveValues) {
  search_options given{.light = 0.5, .tuning = {.walk_most = 3}};
  given.sharing_gain = 0.25;
  const search_options unchanged;
  const auto all = constants_of(given), by_default = constants_of(unchanged);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].name, by_default[i].name);
    EXPECT_EQ(all[i].least, by_default[i].least);
    EXPECT_EQ(all[i].most, by_default[i].most);
  }
}

// What a user has to know of: the others are for measurements alone.
TEST(SearchConstants, AreFewThatUsersChoose) {
  EXPECT_LE((sizeof(search_options) - sizeof(search_options::tuning)) / sizeof(search_constant), 15u);
}

}  // namespace
}  // namespace slimpack::search_constants_test
