#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/refined.hpp>
#include <slimpack/solvers/two_phase.hpp>
#include <slimpack/solvers/two_phase_with.hpp>

#include <gtest/gtest.h>

namespace slimpack::solver_hooks_test {
namespace {

struct counting {
  [[nodiscard]] int threads() const { return 5; }
};

TEST(SolverHooks, TellTheThreadsOfSolversAndOfThoseInside) {
  EXPECT_EQ(threads_of(solvers::two_phase{}), 1u) << "cores are the trainer's";
  EXPECT_EQ(threads_of(solvers::two_phase{.threads = 3}), 3u);
  EXPECT_EQ(threads_of(counting{}), 5u);
  EXPECT_EQ(threads_of(solvers::refined{solvers::two_phase{.threads = 3}}), 3u);
  EXPECT_EQ(threads_of(solvers::refined{solvers::refined{counting{}}}), 5u);
}

TEST(SolverHooks, LeaveSolversThatSayNothingAsTheyAre) {
  EXPECT_EQ(threads_of(solvers::megatron{}), 1u);
  EXPECT_EQ(without_sharing(solvers::megatron{.context = {77}}).context, tokens{77});
}

TEST(SolverHooks, ForbidSharingAndNothingElse) {
  const solvers::two_phase apart = without_sharing(solvers::two_phase{.effort = {7, 3}, .threads = 2});
  EXPECT_EQ(apart.most_sharers, 1u);
  EXPECT_EQ(apart.effort.tasks, 7u);
  EXPECT_EQ(apart.threads, 2u);
}

TEST(SolverHooks, SayHowReplicasShare) {
  const solvers::refined any = sharing_by(solvers::refined{solvers::two_phase{.most_sharers = 4}}, exchange_set::all());
  EXPECT_EQ(any.solver.exchanges, exchange_set::all());
  EXPECT_EQ(any.solver.most_sharers, 4u);
  EXPECT_EQ(without_sharing(any).solver.most_sharers, 1u);
}

TEST(SolverHooks, StepThroughEffortsByNameUpToTheirOwn) {
  using solvers::search_budget;
  EXPECT_EQ(efforts_of(solvers::two_phase{.effort = {7, 3}}), 0u) << "less than fast is asked once";
  EXPECT_EQ(efforts_of(solvers::two_phase{.effort = search_budget::fast()}), 1u);
  EXPECT_EQ(efforts_of(solvers::refined{solvers::two_phase{}}), 2u) << "fast and normal";
  EXPECT_EQ(efforts_of(solvers::two_phase_estimated{}), 0u) << "ranks plan alone";
  EXPECT_EQ(efforts_of(solvers::megatron{}), 0u);
  const search_budget own{2 * search_budget::normal().tasks, 500, 9};
  const solvers::two_phase longer{.effort = own, .threads = 2};
  ASSERT_EQ(efforts_of(longer), 3u);
  EXPECT_EQ(longer.with_less(0).effort, own);
  EXPECT_EQ(longer.with_less(1).effort, (search_budget{search_budget::normal().tasks, 400, 9})) << "as large a first";
  EXPECT_EQ(longer.with_less(2).effort, (search_budget{search_budget::fast().tasks, 40, 9}));
  EXPECT_EQ(longer.with_less(2).threads, 2u);
}

}  // namespace
}  // namespace slimpack::solver_hooks_test
