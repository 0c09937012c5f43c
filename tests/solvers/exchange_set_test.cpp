#include <slimpack/solvers/exchange_set.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <sstream>

namespace slimpack::exchange_set_test {
namespace {

constexpr exchange every[]{exchange::keep, exchange::queries, exchange::ring};

TEST(ExchangeSet, HasTheExchangeThatSendsLeast) {
  EXPECT_EQ(exchange_set::all().best(1), exchange::keep);
  EXPECT_EQ(exchange_set::all().without_keeping().best(1), exchange::ring);
  EXPECT_EQ(exchange_set::all().without_keeping().best(2), exchange::queries);
  EXPECT_EQ(exchange_set::only(exchange::ring).best(2), exchange::ring);
  EXPECT_TRUE(exchange_set::only(exchange::keep).without_keeping().empty());
  EXPECT_FALSE(exchange_set{}.contains(exchange::queries));
}

TEST(ExchangeSet, OfOneHasThatOne) {
  for (const exchange one : every) {
    for (const exchange other : every) EXPECT_EQ(exchange_set::only(one).contains(other), one == other);
    EXPECT_EQ(exchange_set::only(one).best(1), one);
    EXPECT_FALSE(exchange_set::only(one).empty());
    EXPECT_TRUE(exchange_set::all().contains(one));
    EXPECT_FALSE(exchange_set::none().contains(one));
  }
  EXPECT_TRUE(exchange_set::none().empty());
}

// Of every set: what it prefers it has, and keeping is all that it loses.
TEST(ExchangeSet, PrefersWhatItHas) {
  for (const bool keep : {false, true})
    for (const bool queries : {false, true})
      for (const bool ring : {false, true}) {
        const exchange_set set{keep, queries, ring};
        if (set.empty()) continue;
        for (const std::size_t rows : {1u, 2u, 9u})
          EXPECT_TRUE(set.contains(set.best(rows))) << set << ", " << rows << " rows";
        EXPECT_EQ(set.without_keeping(), (exchange_set{false, queries, ring}));
      }
}

TEST(ExchangeSet, PrintsAsItIsWritten) {
  std::ostringstream text;
  text << exchange_set{.queries = true};
  EXPECT_EQ(text.str(), "{.keep = 1, .queries = 1, .ring = 0}");
}

}  // namespace
}  // namespace slimpack::exchange_set_test
