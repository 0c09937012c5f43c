#include <slimpack/executors/lending/loan_format.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace slimpack::loan_format_test {
namespace {

constexpr message_format half{3, element_type::float16};  // 6 bytes a token

/// Queries ask for keys of their sequence that end somewhere before them.
loan lent(std::int64_t context, std::int64_t queries) {
  return {{}, {}, {{0}, {2 * context}, {queries}}, {{0}, {0}, {context}}};
}

TEST(LoanMessage, HoldsWhatItsFormatSaysForEachTokenOfKeysOrOfQueries) {
  EXPECT_EQ((loan_message{half, true}.bytes_of(lent(10, 4))), 60u);
  EXPECT_EQ((loan_message{half, false}.bytes_of(lent(10, 4))), 24u);
  EXPECT_EQ((loan_message{{5, element_type::float32}, false}.bytes_of(lent(10, 4))), 80u);
}

TEST(LoanMessage, IsOfQueriesWhereNothingIsSaid) { EXPECT_EQ(loan_message{half}.bytes_of(lent(10, 4)), 24u); }

TEST(LoanMessage, IsEmptyWithoutWidthOrTokens) {
  EXPECT_EQ((loan_message{{0, element_type::float32}, true}.bytes_of(lent(10, 4))), 0u);
  EXPECT_EQ((loan_message{half, true}.bytes_of(lent(0, 4))), 0u);
}

// A million tokens of keys and values, 8192 elements of 2 bytes each: 16 GiB, more than 32 bits count.
TEST(LoanMessage, CountsMoreBytesThanFourGigabytes) {
  EXPECT_EQ((loan_message{{8192, element_type::bfloat16}, true}.bytes_of(lent(1 << 20, 1))), std::uint64_t{16} << 30);
}

TEST(LoanFormat, SendsNothingWhereNothingIsSaid) {
  const loan_format f;
  EXPECT_EQ(f.layers, 0);
  for (const pass p : both_passes) EXPECT_TRUE(f.offered[p].empty() && f.asked[p].empty() && f.answered[p].empty());
}

// Ranks compare formats before they lend: a difference in any message, in either pass, in their order or in the layers
// counts.
TEST(LoanFormat, IsEqualWhereAllMessagesAreInTheSameOrder) {
  const loan_message keys{half, true}, queries{half, false};
  const loan_format f{2, {{keys}, {keys, queries}}, {{queries}, {}}, {{}, {keys}}};
  loan_format other = f;
  EXPECT_EQ(other, f);
  other.offered.backward = {queries, keys};
  EXPECT_NE(other, f);
  other = f, other.layers = 3;
  EXPECT_NE(other, f);
  other = f, other.asked.backward = {queries};
  EXPECT_NE(other, f);
  other = f, other.answered.backward[0].of_keys = false;
  EXPECT_NE(other, f);
  other = f, other.answered.backward[0].format.element = element_type::bfloat16;
  EXPECT_NE(other, f);
}

}  // namespace
}  // namespace slimpack::loan_format_test
