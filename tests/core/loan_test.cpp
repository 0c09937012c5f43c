#include <slimpack/core/lending/loan.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace slimpack::loan_test {
namespace {

// Every query attends to every key of the context, which lies before all of them: counted one by one, and with slices
// of the same tokens, of which a query's pairs are those before it and itself.
TEST(Loan, HasAPairForEachQueryAndKey) {
  for (std::int64_t context = 0; context < 6; ++context)
    for (std::int64_t queries = 1; queries < 6; ++queries) {
      const loan lent{{}, {}, {{3}, {context}, {queries}}, {{3}, {0}, {context}}};
      int pairs = 0;
      for (std::int64_t query = context; query < context + queries; ++query)
        for (std::int64_t key = 0; key < context; ++key) pairs += key < query;
      EXPECT_EQ(lent.pairs(), pairs);
      const slice own{{3}, {0}, {queries}};  // what is left to the lender
      EXPECT_EQ(lent.pairs() + own.pairs(), lent.queries.pairs());
    }
}

// More than 32 bits hold.
TEST(Loan, CountsPairsOfLongSequences) {
  const loan lent{{}, {}, {{0}, {1 << 20}, {1 << 20}}, {{0}, {0}, {1 << 20}}};
  EXPECT_EQ(lent.pairs(), 0x1p40);
}

// The helper's instruction runs beside, in either pass.
TEST(Loan, IsOfTheLendersPass) {
  loan lent;
  lent.lender.what.kind = instruction_kind::backward;
  lent.helper.what.kind = instruction_kind::forward;
  EXPECT_EQ(lent.pass(), pass::backward);
}

}  // namespace
}  // namespace slimpack::loan_test
