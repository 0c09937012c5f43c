#include <slimpack/core/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace slimpack::error_test {
namespace {

result<int> half(int n) {
  if (n % 2 != 0) return error{errc::invalid_input, std::to_string(n) + " is odd"};
  return n / 2;
}

TEST(Result, HoldsItsValue) {
  const result<int> r = half(4);
  ASSERT_TRUE(r);
  EXPECT_EQ(r.value(), 2);
}

TEST(Result, HoldsItsError) {
  const result<int> r = half(3);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, errc::invalid_input);
  EXPECT_EQ(r.error().detail, "3 is odd");
}

TEST(Result, ThrowsPlanErrorWhenItsValueIsMissing) {
  try {
    (void)half(3).value();
    FAIL() << "value() gave a value";
  } catch (const plan_error& e) {
    EXPECT_EQ(e.code(), errc::invalid_input);
    EXPECT_STREQ(e.what(), "3 is odd");
  }
}

TEST(Result, OfNothingThrowsToo) {
  const result<void> r = error{errc::out_of_memory, "full"};
  EXPECT_THROW(r.value(), plan_error);
  EXPECT_NO_THROW(result<void>(slimpack::success()).value());
}

}  // namespace
}  // namespace slimpack::error_test
