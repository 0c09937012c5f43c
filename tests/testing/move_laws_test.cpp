#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/testing/improve/move_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>

namespace slimpack::move_laws_report_test {
namespace {

namespace improve = solvers::improve;

/// A move that does as it is told, at the sites that its change is for.
template <class Change>
struct moved {
  static constexpr std::string_view name = "moved";
  [[nodiscard]] static double weight(const solvers::search_options&) { return 1; }
  template <class Site>
  requires std::is_invocable_r_v<bool, const Change&, Site&>
  bool operator()(Site& at) const { return Change{}(at); }
};

/// Exactly the laws given are broken.
template <class Change>
void expect_broken(Change, std::initializer_list<int> laws) {
  const testing::report r = testing::move_laws(moved<Change>{}, {.cases = 20, .longest = {4096}});
  for (int law = 1; law <= 3; ++law)
    EXPECT_EQ(r.broken(law) > 0, std::find(laws.begin(), laws.end(), law) != laws.end()) << "law " << law << '\n' << r;
}

TEST(MoveLawsReport, FindsMovesThatDenyWhatTheyDid) {
  expect_broken([](improve::pack_site& at) { return at.times[at.pack] += 1, false; }, {1});
  expect_broken([](improve::instruction_site& at) { return at.order.swap(at.position), true; }, {1});
  expect_broken(
      [](improve::sequence_site& at) {
        return at.run_before(pass::forward, at.sequences[0].id, at.sequences[0].id), false;
      },
      {1});
}

TEST(MoveLawsReport, FindsNumbersOfOnesOwn) {
  expect_broken(
      [](improve::pack_site& at) {
        static double last = 0;
        at.times[at.pack] += last += 0.001;
        return true;
      },
      {2});
  expect_broken(
      [](improve::window_site& at) {
        static int asked = 0;
        if (++asked % 2 == 0) at.random.uniform();
        return false;
      },
      {2});
}

TEST(MoveLawsReport, FindsWhatCannotBeDone) {
  expect_broken([](improve::pack_site& at) { return at.times.clear(), true; }, {3});
  expect_broken([](improve::pack_site& at) { return at.times[at.pack] -= 1, true; }, {3});
  expect_broken([](improve::window_site& at) { return at.times(1).assign(5, 0.0), true; }, {3});
  expect_broken(
      [](improve::window_site& at) { return at.times(2)[0] = std::numeric_limits<double>::quiet_NaN(), true; }, {2, 3});
  expect_broken([](improve::window_site&) { return true; }, {1, 3});
  expect_broken([](improve::sequence_site& at) { return at.packs.forward = {}, true; }, {3});
}

}  // namespace
}  // namespace slimpack::move_laws_report_test
