#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/testing/schedule_laws.hpp>

#include "cases.hpp"

#include <gtest/gtest.h>

namespace slimpack::schedule_laws_test {
namespace {

template <class Schedule>
class ScheduleLaws : public ::testing::Test {};

struct lead_0 : schedules::one_f_one_b {
  lead_0() : one_f_one_b{.lead = 0} {}
};
struct classic : schedules::one_f_one_b {
  classic() : one_f_one_b{.lead = 1} {}
};
struct default_1f1b : schedules::one_f_one_b {};
struct default_list : schedules::list {};
struct plain_list : schedules::list {
  plain_list() : list{.passes = 1} {}
};

struct default_zero_bubble : schedules::zero_bubble {};
struct h1 : schedules::zero_bubble {
  h1() : zero_bubble{.order = schedules::zero_bubble_order::h1} {}
};
struct h2 : schedules::zero_bubble {
  h2() : zero_bubble{.order = schedules::zero_bubble_order::h2} {}
};

using shipped = ::testing::Types<lead_0, classic, default_1f1b, default_list, plain_list, default_zero_bubble, h1, h2>;
TYPED_TEST_SUITE(ScheduleLaws, shipped);

TYPED_TEST(ScheduleLaws, Hold) {
  for (const tokens longest : {tokens{2048}, tokens{65536}}) {
    const testing::report found = testing::schedule_laws(TypeParam{}, {.cases = tests::cases(60), .longest = longest});
    EXPECT_TRUE(found) << found;
    for (const int law : {1, 2, 3}) EXPECT_GT(found.checks(law), 0) << "law " << law << " was not tried";
  }
}

TEST(InterleavedScheduleLaws, HoldWithVirtualStages) {
  const auto hold = [](const auto& schedule) {
    const testing::report found =
        testing::schedule_laws(schedule, {.seed = 7, .cases = tests::cases(60), .longest = {16384}, .chunks = 4});
    EXPECT_TRUE(found) << found;
  };
  hold(schedules::list{});
  hold(schedules::one_f_one_b{});
  hold(schedules::zero_bubble{});
  hold(h1{});
  hold(h2{});
}

}  // namespace
}  // namespace slimpack::schedule_laws_test
