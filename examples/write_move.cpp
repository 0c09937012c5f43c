// A move of one's own for the search: two packs that follow each other become more alike. Checked by the laws, beside
// one with a slip. One line registers it beside the shipped moves, and a report says how often it was tried and taken.
#include <slimpack/planner.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/improve/move_laws.hpp>

#include <iostream>
#include <random>
#include <string_view>
#include <vector>

namespace solvers = slimpack::solvers;

struct level {
  static constexpr std::string_view name = "level";
  static constexpr double weight(const solvers::search_options&) { return 0.25; }  // the shipped ones have 0.25 each

  bool operator()(solvers::improve::pack_site& at) const {
    if (at.is_last()) return false;
    const double shift = at.share * (at.times[at.pack + 1] - at.times[at.pack]) / 2;
    at.times[at.pack] += shift;
    at.times[at.pack + 1] -= shift;
    return true;
  }
};

// The same with a slip: it draws from numbers of its own, so that a second search of the same batch finds another plan.
struct restless : level {
  bool operator()(solvers::improve::pack_site& at) const {
    static std::mt19937 numbers;
    if (numbers() % 2 == 0) return false;
    return level::operator()(at);
  }
};

using with_level = solvers::two_phase_with<solvers::improve::shipped::and_also<level>>;

int main() {
  // Both reports are shown here. In a test, assert one, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::move_laws(level{}) << "\n";
  std::cout << slimpack::testing::move_laws(restless{}) << "\n";

  const slimpack::shape shape{.stages = 4};
  const slimpack::slicers::equal_cost slicer;
  const slimpack::costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
  const std::vector<slimpack::tokens> lengths{{65536}, {30000}, {3000}, {2000}, {20000}, {900}, {700}, {11000},
                                              {8000},  {15000}, {400},  {6000}, {52000}, {800}, {300}, {1200}};

  solvers::search_report report;
  const slimpack::plan mine = slimpack::planner{shape, slicer, cost, with_level{{.report = &report}}}(lengths).value();
  const slimpack::plan usual = slimpack::planner{shape, slicer, cost}(lengths).value();

  for (const solvers::move_report& m : report.moves())
    if (m.name == level::name)
      std::cout << "level was tried" << (m.taken > 0 ? " and taken" : "") << (m.gained.value > 0 ? ", and gained" : "")
                << "\n";
  std::cout << "a step takes " << static_cast<int>(100 * (mine.step_time / usual.step_time) + 0.5)
            << " % of its time without it\n";
}
