#include <slimpack/core/error.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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
  EXPECT_THROW(result<void>(r).value(), plan_error);
  EXPECT_NO_THROW(result<void>(slimpack::success()).value());
}

// A range-for keeps what value() gives: a reference into the result read memory that was free.
TEST(Result, GivesItsValueItselfWhenItIsATemporary) {
  static_assert(std::is_same_v<decltype(half(4).value()), int>);
  static_assert(std::is_same_v<decltype(std::declval<const result<int>>().value()), int>);
  static_assert(std::is_same_v<decltype(std::declval<result<int>&>().value()), int&>);
  static_assert(std::is_same_v<decltype(std::declval<const result<int>&>().value()), const int&>);
  static_assert(std::is_void_v<decltype(std::declval<result<void>>().value())>);
  const auto thousand = []() -> result<std::vector<int>> { return std::vector<int>(1000, 7); };
  int sum = 0;
  for (const int each : thousand().value()) sum += each;
  EXPECT_EQ(sum, 7000);
}

TEST(Result, MovesItsValueOut) {
  result<std::unique_ptr<int>> held = std::make_unique<int>(4);
  const int* const where = held.value().get();
  const std::unique_ptr<int> taken = std::move(held).value();
  EXPECT_EQ(taken.get(), where);
}

}  // namespace
}  // namespace slimpack::error_test
