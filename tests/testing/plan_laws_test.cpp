#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/timeline.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::plan_laws_test {
namespace {

const costs::quadratic cost{.per_pack = {1e-5}, .hop = {2e-6}};

micropacks cut(const std::vector<sequence>& sequences, pass p, tokens at_most) {
  micropacks packs;
  const auto one_slice = [](seconds) { return seconds{}; };
  const auto apart = [](const sequence&) { return false; };
  detail::fill(packs, sequences, p, slicers::uniform{at_most}, cost, {{}, at_most, {128}, 0, true}, one_slice, apart)
      .value();
  return packs;
}

/// A plan of six sequences on two replicas of three stages, forward in packs of 512 tokens and backward of 1024.
plan example() {
  plan p;
  p.lengths = {{1000}, {20}, {4096}, {128}, {300}, {2000}};
  p.shape.stages = 3;
  p.shape.replicas = 2;
  p.shape.memory = memory_limit{memory_unit::token, 8192};
  seconds useful{};
  for (std::uint32_t replica = 0; replica < 2; ++replica) {
    replica_plan r;
    std::vector<sequence> sequences;
    for (std::uint32_t s = replica; s < p.lengths.size(); s += 2) {
      r.sequences.push_back({s});
      sequences.push_back({{s}, p.lengths[s]});
      for (const pass d : {pass::forward, pass::backward}) useful += cost.time({{s}, {0}, p.lengths[s]}, d, 0) * 3;
    }
    r.partition = {cut(sequences, pass::forward, {512}), cut(sequences, pass::backward, {1024})};
    r.rates = rates_of(cost, p.shape).value();
    const workload work = price(r.partition, cost, p.shape, r.rates);
    r.times = work.times;
    r.programs = schedules::one_f_one_b{}.programs(work).value();
    r.peak_memory = simulators::peak_memory(work, r.programs);
    r.makespan = simulators::simulate(work, r.programs).value().makespan;
    p.step_time = std::max(p.step_time, r.makespan);
    p.replicas.push_back(std::move(r));
  }
  p.bounds = {{"mean work", useful * (1.0 / 6)}, {"nothing", {0}}};
  p.lower_bound = p.bounds[0].time;
  p.efficiency = p.lower_bound / p.step_time;
  p.bubble = 1 - useful / (p.step_time * 6);
  p.hash = hash_of(p);
  return p;
}

/// Exactly the laws given are broken by the change; the hash follows it.
void expect_broken(const std::string& what, std::initializer_list<int> laws, const auto& change) {
  plan p = example();
  change(p);
  p.hash = hash_of(p);
  const testing::report r = testing::plan_laws(p, cost);
  for (int law = 1; law <= 7; ++law)
    EXPECT_EQ(r.broken(law) > 0, std::find(laws.begin(), laws.end(), law) != laws.end())
        << what << ", law " << law << '\n'
        << r;
}

TEST(PlanLawsReport, AcceptsALawfulPlan) {
  const testing::report r = testing::plan_laws(example(), cost);
  EXPECT_TRUE(r) << r;
  EXPECT_TRUE(testing::plan_laws(example()));
  for (int law = 1; law <= 7; ++law) EXPECT_GT(r.checks(law), 0) << law;
}

TEST(PlanLawsReport, FindsWhatIsNotCovered) {
  expect_broken("a sequence on no replica", {1, 3}, [](plan& p) { p.lengths.push_back({0}); });
  expect_broken("a longer sequence", {1, 2, 3, 6}, [](plan& p) { p.lengths[0] = {1124}; });
  expect_broken("a sequence on two replicas", {1, 3}, [](plan& p) { p.replicas[0].sequences.push_back({1}); });
  expect_broken("a replica that is missing", {1, 3, 6}, [](plan& p) { p.shape.replicas = 3; });
}

TEST(PlanLawsReport, FindsCutsOffTheQuantum) {
  expect_broken("cuts at 512", {2, 3}, [](plan& p) { p.shape.quantum = {384}; });
}

TEST(PlanLawsReport, FindsProgramsThatDoNotRun) {
  expect_broken("a program short of its end", {3}, [](plan& p) { p.replicas[0].programs[1].pop_back(); });
  expect_broken("a deadlock", {3}, [](plan& p) {
    program& last = p.replicas[0].programs[2];
    const auto first = std::find(last.begin(), last.end(), instruction{instruction_kind::backward, {0}, 0});
    std::rotate(last.begin(), first, first + 1);
  });
}

TEST(PlanLawsReport, FindsMemoryThatIsMisstatedOrExceeded) {
  expect_broken("peak", {4}, [](plan& p) { p.replicas[1].peak_memory[0] += 1; });
  expect_broken("no peak", {4}, [](plan& p) { p.replicas[1].peak_memory.pop_back(); });
  expect_broken("limit", {3, 4}, [](plan& p) {
    p.shape.memory->amount = *std::max_element(p.replicas[0].peak_memory.begin(), p.replicas[0].peak_memory.end()) - 1;
  });
}

TEST(PlanLawsReport, FindsTimesThatAReplayDoesNotFind) {
  expect_broken("makespan of the faster replica", {5}, [](plan& p) {
    replica_plan& faster = p.replicas[0].makespan < p.replicas[1].makespan ? p.replicas[0] : p.replicas[1];
    faster.makespan += seconds{1e-9};
  });
  expect_broken("a pack's time", {5}, [](plan& p) { p.replicas[0].times.calls[pass::forward][0] += seconds{1e-6}; });
  expect_broken("a time that is missing", {5}, [](plan& p) { p.replicas[0].times.calls[pass::forward].pop_back(); });
  expect_broken("a reduction beside the work that ends later", {5}, [](plan& p) {
    p.reduction = gradient_reduction{std::vector<std::vector<gradient_bucket>>(3, {{0, {1}, {}}}), {}};
  });
  expect_broken("a first pack that ends before its weights are there", {5}, [](plan& p) {
    p.reduction = gradient_reduction{std::vector<std::vector<gradient_bucket>>(3, {{0, {}, {1}}}), {}};
  });
  expect_broken("reduction", {5}, [](plan& p) { p.reduce_time = {1e-3}; });
  // A shorter step, all that follows from it made to match: only the replicas' own times tell.
  expect_broken("step", {5}, [](plan& p) {
    p.bubble = 1 - (1 - p.bubble) / 0.99;
    p.step_time = p.step_time * 0.99;
    p.efficiency = p.lower_bound / p.step_time;
  });
}

TEST(PlanLawsReport, FindsFiguresThatDoNotFollow) {
  expect_broken("lower bound", {6}, [](plan& p) { p.lower_bound = p.lower_bound * 0.5; });
  expect_broken("a bound above the step", {6}, [](plan& p) {
    p.lower_bound = p.bounds[0].time = p.step_time * 1.01;
    p.efficiency = 1.01;
  });
  expect_broken("a replica's bound", {6}, [](plan& p) { p.replicas[0].lower_bound = p.replicas[0].makespan * 1.01; });
  expect_broken("efficiency", {6}, [](plan& p) { p.efficiency += 1e-6; });
  expect_broken("bubble", {6}, [](plan& p) { p.bubble += 1e-6; });
}

TEST(PlanLawsReport, KnowsTheLeastBubbleWithoutACostModel) {
  plan p = example();
  p.bubble = -0.5;
  p.hash = hash_of(p);
  EXPECT_GT(testing::plan_laws(p).broken(6), 0);
}

TEST(PlanLawsReport, FindsAWrongHash) {
  plan p = example();
  p.gpu = "another";
  EXPECT_GT(testing::plan_laws(p).broken(7), 0);
}

}  // namespace
}  // namespace slimpack::plan_laws_test
