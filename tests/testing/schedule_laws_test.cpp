#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/testing/schedule_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace slimpack::schedule_laws_test {
namespace {

/// Exactly the laws given are broken.
void expect_broken(const auto& schedule, std::initializer_list<int> laws) {
  const testing::report r = testing::schedule_laws(schedule, {.cases = 30, .longest = {8192}});
  for (int law = 1; law <= 4; ++law)
    EXPECT_EQ(r.broken(law) > 0, std::find(laws.begin(), laws.end(), law) != laws.end()) << "law " << law << '\n' << r;
}

/// one_f_one_b's programs, changed by hand.
template <class Change>
struct changed {
  Change change;
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    result<std::vector<program>> good = schedules::one_f_one_b{.lead = 0}.programs(work);
    if (good) change(good.value());
    return good;
  }
};
template <class Change>
changed(Change) -> changed<Change>;

TEST(ScheduleLawsReport, FindsPacksThatDoNotRunOnceInOrder) {
  expect_broken(changed{[](std::vector<program>& all) { all.back().pop_back(); }}, {1});
  expect_broken(changed{[](std::vector<program>& all) { all.front().push_back(all.front().back()); }}, {1});
  expect_broken(changed{[](std::vector<program>& all) { all.pop_back(); }}, {1});
  expect_broken(changed{[](std::vector<program>& all) { all[0][0].chunk = 1; }}, {1});
  expect_broken(changed{[](std::vector<program>& all) {
                  for (program& code : all)  // the last two forwards change places
                    for (std::size_t i = code.size(), last = code.size(); i-- > 0;) {
                      if (code[i].pass() != pass::forward) continue;
                      if (last == code.size()) {
                        last = i;
                        continue;
                      }
                      std::swap(code[i], code[last]);
                      break;
                    }
                }},
                {1});
}

struct eager {  // the first stage runs a backward as soon as it has run one forward
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    result<std::vector<program>> good = schedules::one_f_one_b{.lead = 0}.programs(work);
    if (!good || work.times.packs(pass::forward) < 2) return good;
    program& code = good.value().front();
    const auto first = std::find(code.begin(), code.end(), instruction{instruction_kind::backward, {0}, 0});
    std::rotate(code.begin() + 1, first, first + 1);
    return good;
  }
};

TEST(ScheduleLawsReport, FindsDeadlocks) { expect_broken(eager{}, {2}); }

struct without_limits {
  [[nodiscard]] result<std::vector<program>> programs(workload work) const {
    work.shape.memory.reset();
    return schedules::one_f_one_b{}.programs(work);
  }
};
struct refuses {
  [[nodiscard]] result<std::vector<program>> programs(const workload&) const {
    return error{errc::out_of_memory, "no"};
  }
};
struct refuses_limits {
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    if (work.shape.memory) return error{errc::out_of_memory, "no"};
    return schedules::one_f_one_b{}.programs(work);
  }
};
struct wrong_reason {
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    result<std::vector<program>> good = schedules::one_f_one_b{}.programs(work);
    if (!good) return error{errc::invalid_input, good.error().detail};
    return good;
  }
};

TEST(ScheduleLawsReport, FindsMemoryThatIsExceededOrRefusedFalsely) {
  expect_broken(without_limits{}, {3});
  expect_broken(refuses{}, {3});
  expect_broken(refuses_limits{}, {3});
  expect_broken(wrong_reason{}, {3});
}

struct boastful : schedules::list {
  [[nodiscard]] result<timed_programs> timed(const workload& work) const {
    result<timed_programs> found = list::timed(work);
    if (found) found.value().makespan = found.value().makespan * 0.99;
    return found;
  }
};

TEST(ScheduleLawsReport, FindsMakespansThatAreNotTheTaskGraphs) { expect_broken(boastful{}, {4}); }

TEST(ScheduleLawsReport, AcceptsALawfulSchedule) {
  expect_broken(schedules::one_f_one_b{}, {});
  expect_broken(schedules::list{}, {});
}

}  // namespace
}  // namespace slimpack::schedule_laws_test
