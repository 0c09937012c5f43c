#include <slimpack/solvers/search_constants.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace slimpack::search_constants_test {
namespace {

using solvers::search_constant;
using solvers::search_constants;
using solvers::search_options;

TEST(SearchConstants, ListEveryMemberOnce) {
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const search_constant& c : search_constants) {
    names.emplace(c.name);
    bytes += c.ratio ? sizeof(double) : sizeof(std::uint32_t);
  }
  EXPECT_EQ(names.size(), search_constants.size());
  // Members that the list leaves out would make the aggregate larger; alignment pads each run of counts by 4 at most.
  EXPECT_LE(sizeof(search_options) - bytes, 4 * search_constants.size() / 2);
  for (const search_constant& c : search_constants) {
    search_options changed;
    c.set(changed, c.of(changed) == c.most ? c.least : c.most);
    EXPECT_NE(changed, search_options{}) << c.name;
  }
}

}  // namespace
}  // namespace slimpack::search_constants_test
