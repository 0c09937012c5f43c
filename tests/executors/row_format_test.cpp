#include <slimpack/executors/sharing.hpp>

#include <gtest/gtest.h>

namespace slimpack::row_format_test {
namespace {

const row_format format{.layers = 2,
                        .keys_values = {1, element_type::bfloat16},
                        .gradients = {2, element_type::float32},
                        .queries = {{{3}, {4}}, {{5}, {6}}},
                        .ring = {{{7}, {8}}, {{9}, {10}}}};

TEST(RowFormat, SendsOnceAndGetsGradientsBackWhereRowsAreKept) {
  EXPECT_EQ(format.kept(pass::forward), format.keys_values);
  EXPECT_EQ(format.kept(pass::backward), format.gradients);
}

TEST(RowFormat, SendsParcelsOfItsExchangeAndPass) {
  EXPECT_EQ(format.going_round(exchange::queries, pass::forward), (parcel_format{{3}, {4}}));
  EXPECT_EQ(format.going_round(exchange::queries, pass::backward), (parcel_format{{5}, {6}}));
  EXPECT_EQ(format.going_round(exchange::ring, pass::forward), (parcel_format{{7}, {8}}));
  EXPECT_EQ(format.going_round(exchange::ring, pass::backward), (parcel_format{{9}, {10}}));
}

TEST(RowFormat, SendsNothingWhereNothingIsSaid) {
  for (const pass p : both_passes) {
    EXPECT_EQ(row_format{}.kept(p).bytes_per_token(), 0u);
    EXPECT_EQ(row_format{}.going_round(exchange::ring, p), parcel_format{});
  }
}

}  // namespace
}  // namespace slimpack::row_format_test
