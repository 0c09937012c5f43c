#include <slimpack/schedules/hooks.hpp>

#include <gtest/gtest.h>

namespace slimpack::schedule_hooks_test {
namespace {

struct plain {
  int effort = 1;
};

struct patient {
  int effort = 1;
  [[nodiscard]] constexpr patient longer() const { return {effort * 10}; }
};

struct derived : patient {
  int more = 7;
};

struct derived_with_its_own : patient {
  int more = 7;
  [[nodiscard]] constexpr derived_with_its_own longer() const { return {{effort * 100}, more}; }
};

TEST(ScheduleHooks, AScheduleWithoutLongerIsItself) { EXPECT_EQ(longer_of(plain{3}).effort, 3); }

TEST(ScheduleHooks, LongerIsAsked) { EXPECT_EQ(longer_of(patient{3}).effort, 30); }

TEST(ScheduleHooks, LongerOfABaseWouldLoseWhatTheScheduleAdds) {
  const derived d = longer_of(derived{{3}});
  EXPECT_EQ(d.effort, 3);
  EXPECT_EQ(d.more, 7);
}

TEST(ScheduleHooks, ADerivedScheduleMayHaveALongerOfItsOwn) {
  const derived_with_its_own d = longer_of(derived_with_its_own{{3}});
  EXPECT_EQ(d.effort, 300);
  EXPECT_EQ(d.more, 7);
}

}  // namespace
}  // namespace slimpack::schedule_hooks_test
