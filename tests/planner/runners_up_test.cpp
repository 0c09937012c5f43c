#include <slimpack/planner.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/refined.hpp>

#include "../solvers/batches.hpp"
#include "../support/bucketed_cost.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::runners_up_test {
namespace {

const std::vector<tokens> lengths{{9000}, {300}, {4000}, {200}, {2500}, {7000}, {100}, {600}};
constexpr shape on{.stages = 2, .replicas = 2};
const costs::quadratic cost{.linear = 1e-6, .attention = 4e-9, .per_pack = {1e-4}};
// It has the least effort, which a planner asks for once.
const solvers::two_phase search{.effort = solvers::search_budget::fast()};

/// Answers with one chunk after the other, and with what two_phase would do as its runner-up.
struct hesitant {
  bool unsound{};  ///< the runner-up leaves a sequence out

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& prices,
                                       const Schedule& schedule) const {
    result<solution> first = solvers::chunked{.chunk = {1024}}.solve(batch, slicer, prices, schedule);
    result<solution> other = search.solve(batch, slicer, prices, schedule);
    if (!first || !other) return first;
    if (unsound) other.value().replicas.front().sequences.pop_back();
    first.value().runners_up.push_back(std::move(other).value());
    return first;
  }
};

template <class Solver>
result<plan> planned(const Solver& solver) {
  return planner{on, slicers::equal_cost{}, cost, solver, schedules::list{}}(lengths);
}

TEST(RunnersUp, AreTakenWhereTheirPlanIsFaster) {
  const plan chunks = planned(solvers::chunked{.chunk = {1024}}).value(), found = planned(search).value();
  ASSERT_LT(found.step_time, chunks.step_time);
  EXPECT_EQ(planned(hesitant{}).value().hash, found.hash);
}

/// Answers with what two_phase would do, and with one chunk after the other as its runner-up.
struct right_at_first {
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& prices,
                                       const Schedule& schedule) const {
    result<solution> first = search.solve(batch, slicer, prices, schedule);
    if (first)
      first.value().runners_up.push_back(
          solvers::chunked{.chunk = {1024}}.solve(batch, slicer, prices, schedule).value());
    return first;
  }
};

/// Counts the graphs that it runs.
struct counting : simulators::sweep {
  int* runs;

  [[nodiscard]] result<std::vector<seconds>> starts(const simulators::task_graph& graph) const {
    ++*runs;
    return sweep::starts(graph);
  }
};

TEST(RunnersUp, AreNotRunInTheSimulatorWhereTheyAreSlower) {
  const auto run = [](const auto& solver) {
    int runs = 0;
    const planner plan_batch{on, slicers::equal_cost{}, cost, solver, schedules::list{}, counting{{}, &runs}};
    const std::uint64_t hash = plan_batch(lengths).value().hash;
    return std::pair(runs, hash);
  };
  const plan chunks = planned(solvers::chunked{.chunk = {1024}}).value();
  const auto [alone, found] = run(search);
  ASSERT_GT(chunks.replicas.front().makespan, planned(search).value().step_time);
  EXPECT_EQ(run(right_at_first{}), std::pair(alone, found))
      << "the first of the runner-up's two replicas tells by its makespan";
}

TEST(RunnersUp, AreRefusedWhereTheyAreUnsound) {
  const result<plan> made = planned(hesitant{.unsound = true});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::invalid_input);
}

// Their packs are not cut in pieces that both passes share.
TEST(RunnersUp, AreLeftByWhoRefines) {
  EXPECT_EQ(planned(solvers::refined{hesitant{}}).value().hash,
            planned(solvers::refined{solvers::chunked{.chunk = {1024}}}).value().hash);
}

/// Notes what the planner asks.
struct asked {
  bool* estimated;

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& prices,
                                       const Schedule& schedule) const {
    *estimated = batch.estimated;
    return search.solve(batch, slicer, prices, schedule);
  }
};

TEST(RunnersUp, AreAskedForWhereASearchDoesNotSeeAll) {
  const tests::bucketed_cost reduced{cost, std::vector<std::vector<gradient_bucket>>(2, {{0, {1e-3}, {1e-3}}}), {}};
  const auto estimated = [&](const shape& of, const auto& model) {
    bool told = false;
    EXPECT_TRUE((planner{of, slicers::equal_cost{}, model, asked{&told}, schedules::list{}}(lengths)));
    return told;
  };
  EXPECT_FALSE(estimated(on, cost));
  EXPECT_TRUE(estimated(on, reduced));
  EXPECT_FALSE(estimated({.stages = 1, .replicas = 2}, reduced)) << "one part's sums are seen";
}

}  // namespace
}  // namespace slimpack::runners_up_test
