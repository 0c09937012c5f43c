#include <slimpack/core/lending/loans_of.hpp>
#include <slimpack/executors/detail/plan_check.hpp>

#include <gtest/gtest.h>

#include <string>

namespace slimpack::plan_check_test {
namespace {

/// Two stages of one replica, of which one lends the other attention.
plan lending_plan() {
  plan p;
  p.shape = {.stages = 2, .quantum = {1}};
  p.lengths = {{4}};
  replica_plan& r = p.replicas.emplace_back();
  r.sequences = {{0}};
  for (const tokens begin : {tokens{0}, tokens{2}}) r.partition.forward.append({{0}, begin, {2}}), r.partition.forward.close();
  for (const tokens begin : {tokens{2}, tokens{0}}) r.partition.backward.append({{0}, begin, {2}}), r.partition.backward.close();
  r.loans = loans_of(r.partition, p.shape, attention_lending::level, 2).value();
  return p;
}

// As of a solver's answer (solvers/assembly/detail/solution_check.hpp): no simulator runs tasks that loans and rows tie.
TEST(PlanCheck, RefusesLoansOfAPlanThatSharesASequence) {
  plan p = lending_plan();
  ASSERT_FALSE(p.replicas[0].loans.empty());
  EXPECT_TRUE(detail::plan_check::loans_within(p));
  p.merges.push_back({{1}, {0, 1}, {}, {}});
  const result<void> both = detail::plan_check::loans_within(p);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, errc::invalid_input);
  EXPECT_EQ(both.error().detail,
            "the plan lends attention of sequence 0, and replicas share sequence 1: plan with lending none, or share no sequence");
}

}  // namespace
}  // namespace slimpack::plan_check_test
