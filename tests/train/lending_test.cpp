#include "exact_step.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/core/lending/detail/lock_steps.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/executors/lending/loan_traffic.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::lending_test {
namespace {

using tests::exact_batch;
using stage_type = train::model_stage<double>;

/// As many layers as there are parts, or twice as many.
train::config model_for(const shape& on, int layers_each) {
  train::config c = tests::small_model;
  c.layers = on.parts() * layers_each;
  return c;
}

plan planned(const std::vector<tokens>& lengths, const shape& on, int slices, attention_lending lending) {
  const auto recipe = baselines::slimpipe(on, {}, slices, lending);
  const basic_planner plan_batch{on, recipe.slicer, costs::quadratic{}, recipe.solver, recipe.schedule, simulators::sweep{}};
  return plan_batch(lengths).value();
}

/// Lock steps of a plan, and those of them that lend.
std::pair<std::size_t, std::size_t> lock_steps_of(const plan& p) {
  std::size_t all = 0, lend = 0;
  for (const replica_plan& r : p.replicas) {
    const detail::lock_steps steps(r.partition.forward.size(), p.shape);
    std::set<std::pair<pass, std::size_t>> lending;
    for (const loan& l : r.loans) lending.insert({l.pass(), steps.step_of(l.lender.what, l.lender.stage)});
    all += 2 * steps.size(), lend += lending.size();
  }
  return {all, lend};
}

struct found {
  double error{};
  std::int64_t messages{}, bytes_sent{};
};

/// Runs a step on threads. Checks that what each rank sends is what the plan says.
found run(const exact_batch& batch, const plan& p) {
  transports::threads world{tests::ranks_of(p), {.time_out = {60}}};
  std::vector<found> all(static_cast<std::size_t>(tests::ranks_of(p)));
  tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
    auto endpoint = world.endpoint(rank);
    found& own = all[static_cast<std::size_t>(rank)];
    own.error = batch.error_of<stage_type>(p, endpoint).value();
    stage_type again(batch.model, p.shape, rank % p.shape.stages, batch.documents(), 7);
    const step_report step = executors::packflow<>{.step = 2}.execute(p, again, endpoint).value();
    const int stage = rank % p.shape.stages;
    const executors::loan_traffic says = executors::loan_traffic_of(p.replicas[static_cast<std::size_t>(rank / p.shape.stages)].loans,
                                                                    static_cast<std::uint32_t>(stage), stage_type::loans(batch.model, p.shape, stage));
    EXPECT_EQ(step.loan_messages, says.messages.forward + says.messages.backward);
    EXPECT_EQ(step.lent.value, static_cast<double>(says.bytes.forward + says.bytes.backward));
    own.messages = step.loan_messages, own.bytes_sent = static_cast<std::int64_t>(step.lent.value);
  });
  found sum;
  for (const found& one : all) sum.error = std::max(sum.error, one.error), sum.messages += one.messages, sum.bytes_sent += one.bytes_sent;
  return sum;
}

// Rows of one sequence, of several, and of one that ends inside a slice.
const std::vector<tokens> lengths{{96}, {96}, {50}, {30}, {96}, {70}, {26}, {96}, {16}, {90}};

TEST(Lending, LossAndGradientsAreThoseOfUncutSequences) {
  double worst = 0;
  std::int64_t messages = 0, sent = 0;
  std::size_t all = 0, lend = 0;
  int plans = 0;
  for (const int stages : {2, 3, 4})
    for (const int chunks : {1, 2})
      for (const int replicas : {1, 2})
        for (const attention_lending lending : {attention_lending::pairs, attention_lending::level}) {
          const shape on{.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = {4}};
          const exact_batch batch(static_cast<std::uint64_t>(stages), model_for(on, 1 + (chunks == 1)), on.quantum, lengths);
          const plan p = planned(batch.lengths, on, 2 * stages, lending);
          const found step = run(batch, p);
          EXPECT_LT(step.error, 1e-11) << stages << " stages, " << chunks << " chunks, " << replicas << " replicas, " << name_of(lending);
          const auto [steps, lending_steps] = lock_steps_of(p);
          worst = std::max(worst, step.error), messages += step.messages, sent += step.bytes_sent;
          all += steps, lend += lending_steps, ++plans;
        }
  std::printf("%d plans, %zu of %zu lock steps lend, %lld messages of %lld bytes, largest relative error %.2g\n", plans, lend, all,
              static_cast<long long>(messages), static_cast<long long>(sent), worst);
  EXPECT_GE(2 * lend, all);
}

// Five messages a pair and layer forward, nine backward.
TEST(Lending, SendsFiveMessagesForwardAndNineBackward) {
  const shape on{.stages = 4, .quantum = {4}};
  const train::config model = model_for(on, 2);
  const plan p = planned({{96}, {96}}, on, 8, attention_lending::pairs);
  by_pass<std::int64_t> loans;
  for (const loan& l : p.replicas[0].loans) ++loans[l.pass()];
  by_pass<std::int64_t> messages;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const executors::loan_traffic says = executors::loan_traffic_of(p.replicas[0].loans, stage, stage_type::loans(model, on, static_cast<int>(stage)));
    for (const pass way : both_passes) messages[way] += says.messages[way];
  }
  EXPECT_GT(loans.forward, 0);
  EXPECT_EQ(messages.forward, 2 * 5 * loans.forward);
  EXPECT_EQ(messages.backward, 2 * 9 * loans.backward);
}

}  // namespace
}  // namespace slimpack::lending_test
