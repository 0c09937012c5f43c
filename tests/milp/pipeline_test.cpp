#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/solvers/milp/pipeline_plans.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../support/every_plan.hpp"
#include "fits_rows.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace slimpack::milp_pipeline_test {
namespace {

using detail::milp_instance;
using detail::milp_pipeline;

/// Stages that differ, messages by the token, and memory in bytes with a gradient that is kept.
struct uneven : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return quadratic::time(s, p, part) * (1 + 0.5 * part);
  }
  [[nodiscard]] seconds message(tokens size, pass, int part) const {
    return {1e-5 + 2e-7 * static_cast<double>(size.value) * (1 + part)};
  }
  [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{1000, 4, 2, 3, 1}; }
};

/// Every way to pack two sequences, in an order that a schedule finds, is a solution of the program.
/// Law   each row holds; the objective is the simulated makespan; the values describe the same plan
template <class Cost, class Schedule>
void holds_plans_of(const Cost& cost, const shape& on, const Schedule& schedule, std::size_t spare) {
  const std::vector<sequence> own{{{0}, {1000}}, {{1}, {512}}};  // of different lengths: equal ones have an order of
                                                                 // their own
  const std::vector<memory_rates> rates = rates_of(cost, on).value();
  const milp_instance instance = detail::instance_of(own, on, cost, rates);
  std::size_t plans = 0;
  std::size_t refused = 0;
  for (const micropacks& forward : tests::every_order(own, pass::forward, on.quantum))
    for (const micropacks& backward : tests::every_order(own, pass::backward, on.quantum)) {
      replica_solution plan{{{0}, {1}}, {forward, backward}, {}};
      const workload work = price(plan.partition, cost, on, rates);
      const result<std::vector<program>> programs = schedule.programs(work);
      if (!programs) {
        ++refused;
        continue;
      }
      plan.programs = programs.value();
      const seconds makespan = simulators::makespan(work, plan.programs).value();
      const milp_pipeline program(instance, forward.size() + spare, backward.size() + spare, makespan * 1.25,
                                  makespan * 0.5);
      const std::vector<double> values = program.values_of(plan);
      ASSERT_TRUE(tests::fits_rows(program.model(), values)) << "plan " << plans;
      EXPECT_NEAR(program.time(tests::objective_of(program.model(), values)) / makespan, 1, 1e-12) << "plan " << plans;
      const replica_solution again = program.plan_of(values);
      EXPECT_EQ(again.partition.forward, forward) << "plan " << plans;
      EXPECT_EQ(again.partition.backward, backward) << "plan " << plans;
      EXPECT_EQ(again.programs, plan.programs) << "plan " << plans;
      ++plans;
    }
  EXPECT_GE(plans, 50u);
  EXPECT_TRUE(on.memory || refused == 0) << refused << " refused";
}

const shape three_stages{.stages = 3, .quantum = {512}};

TEST(MilpPipeline, HoldsEveryPackingInTheOrderOfASchedule) {
  const costs::quadratic cost{.per_pack = {6.4e-5}, .hop = {2.4e-5}};
  for (const int stages : {1, 2, 3}) {
    shape on = three_stages;
    on.stages = stages;
    holds_plans_of(cost, on, schedules::list{}, 0);
    holds_plans_of(cost, on, schedules::list{}, 1);  // a pack of each pass stays empty
  }
  holds_plans_of(cost, three_stages, schedules::one_f_one_b{}, 0);
}

TEST(MilpPipeline, HoldsPlansOfStagesThatDifferWithinTheirMemory) {
  uneven cost;
  cost.per_pack = {6.4e-5};
  shape on = three_stages;
  holds_plans_of(cost, on, schedules::list{}, 1);
  on.memory = memory_limit{memory_unit::byte, 12'000};
  holds_plans_of(cost, on, schedules::list{}, 1);
}

TEST(MilpPipeline, DoesNotHoldAPlanThatEndsBeforeItsWork) {
  const costs::quadratic cost{.per_pack = {6.4e-5}};
  const std::vector<sequence> own{{{0}, {512}}};
  const std::vector<memory_rates> rates = rates_of(cost, three_stages).value();
  const milp_instance instance = detail::instance_of(own, three_stages, cost, rates);
  replica_solution plan{{{0}}, {}, {}};
  plan.partition.forward.push({{0}, {0}, {512}}), plan.partition.forward.close();
  plan.partition.backward = plan.partition.forward;
  const workload work = price(plan.partition, cost, three_stages, rates);
  plan.programs = schedules::list{}.programs(work).value();
  const milp_pipeline program(instance, 1, 1, simulators::makespan(work, plan.programs).value(), {});
  std::vector<double> values = program.values_of(plan);
  ASSERT_TRUE(tests::fits_rows(program.model(), values));
  values[0] *= 0.99;  // the end, which is the first variable
  EXPECT_FALSE(tests::fits_rows(program.model(), values));
}

}  // namespace
}  // namespace slimpack::milp_pipeline_test
