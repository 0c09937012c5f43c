#include <slimpack/executors/message_format.hpp>

#include <gtest/gtest.h>

namespace slimpack::message_format_test {
namespace {

static_assert(element_of<float> == element_type::float32 && element_of<double> == element_type::float64);

TEST(MessageFormat, TokensTakeWidthTimesTheSizeOfAnElement) {
  EXPECT_EQ((message_format{5, element_type::float64}.bytes_per_token()), 40u);
  EXPECT_EQ((message_format{5, element_type::float32}.bytes_per_token()), 20u);
  EXPECT_EQ((message_format{5, element_type::float16}.bytes_per_token()), 10u);
  EXPECT_EQ((message_format{5, element_type::bfloat16}.bytes_per_token()), 10u);
  EXPECT_EQ((message_format{5, element_type::int8}.bytes_per_token()), 5u);
}

TEST(MessageFormat, NamesItsElements) {
  EXPECT_EQ(to_string(element_type::float32), "float32");
  EXPECT_EQ(to_string(element_type::bfloat16), "bfloat16");
  EXPECT_EQ(to_string(element_type::int8), "int8");
  EXPECT_EQ(to_string(static_cast<element_type>(77)), "element type 77");  // of a rank that sent it
}

}  // namespace
}  // namespace slimpack::message_format_test
