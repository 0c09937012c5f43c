#include <slimpack/core/lending/loans_of.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace slimpack::attention_lending_test {
namespace {

TEST(AttentionLending, IsNamed) {
  EXPECT_STREQ(name_of(attention_lending::none), "none");
  EXPECT_STREQ(name_of(attention_lending::pairs), "pairs");
  EXPECT_STREQ(name_of(attention_lending::level), "level");
}

TEST(AttentionLending, IsNoneWhereNothingIsSaid) { EXPECT_EQ(attention_lending{}, attention_lending::none); }

// Tests and options go through the list: one that was missing, or there twice, would be tried by nobody, or twice.
TEST(AttentionLending, AllOfItAreListedOnceUnderNamesOfTheirOwn) {
  std::set<attention_lending> seen;
  std::set<std::string> names;
  for (const attention_lending l : all_attention_lending)
    EXPECT_TRUE(seen.insert(l).second && names.insert(name_of(l)).second) << name_of(l);
  EXPECT_EQ(seen, (std::set{attention_lending::none, attention_lending::pairs, attention_lending::level}));
}

}  // namespace
}  // namespace slimpack::attention_lending_test
