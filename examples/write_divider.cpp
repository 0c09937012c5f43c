// A divider of one's own: deals sequences to replicas, the most work first, back and forth. Each rank then plans its
// own replica, and what all ranks plan is the plan of the whole batch.
#include <slimpack/planner.hpp>
#include <slimpack/solvers/two_phase_with.hpp>
#include <slimpack/testing/rank_plan_laws.hpp>

#include <algorithm>
#include <iostream>

struct snake {
  bool forgetful{};  // the slip: leaves the shortest sequence out

  template <class Cost>
  slimpack::result<slimpack::divide::division> divide(const slimpack::divide::division_problem& asked,
                                                      const Cost&) const {
    std::vector<slimpack::sequence> by_work = asked.batch;
    std::stable_sort(by_work.begin(), by_work.end(), [&](const slimpack::sequence& a, const slimpack::sequence& b) {
      return asked.work[a.id.value] > asked.work[b.id.value];
    });
    if (forgetful) by_work.pop_back();
    const std::size_t replicas = asked.replicas();
    slimpack::divide::division units(replicas);
    for (std::uint32_t r = 0; r < replicas; ++r) units[r].replicas = {r};
    for (std::size_t i = 0; i < by_work.size(); ++i) {
      const std::size_t at = i % (2 * replicas);
      units[at < replicas ? at : 2 * replicas - 1 - at].own.push_back(by_work[i]);
    }
    return units;
  }
};

int main() {
  using solver = slimpack::solvers::two_phase_with<slimpack::solvers::improve::shipped, snake>;
  const auto planner_with = [](snake divider) {
    return slimpack::planner{{.stages = 2, .replicas = 3},
                             slimpack::slicers::equal_cost{},
                             slimpack::costs::quadratic{},
                             solver{{}, divider}};
  };
  const std::vector<slimpack::tokens> lengths{{9000}, {30000}, {3000}, {2000}, {20000}, {900}, {12000}, {25000}};
  const auto plan_batch = planner_with({});
  // The report is shown here. In a test, assert it, since it converts to bool: EXPECT_TRUE(report) << report.
  std::cout << slimpack::testing::rank_plan_laws(plan_batch, lengths, 3);

  const slimpack::rank_plan mine = plan_batch.of_replica(lengths, 1).value();
  std::cout << "\nreplica 1 runs " << mine.part.replicas[1].sequences.size() << " of " << lengths.size()
            << " sequences\n";
  std::cout << planner_with({.forgetful = true})(lengths).error().detail << "\n";
}
