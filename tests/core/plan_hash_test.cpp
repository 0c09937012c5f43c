#include <slimpack/core/plan_hash.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::plan_hash_test {
namespace {

plan example() {
  plan p;
  p.planner = "slimpack";
  p.cost = "quadratic";
  p.model = "llama";
  p.gpu = "h100";
  p.lengths = {{256}, {128}};
  p.shape.memory = memory_limit{memory_unit::token, 1024};
  replica_plan r;
  r.sequences = {{0}, {1}};
  for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) {
    packs->push({{0}, {0}, {256}});
    packs->close();
    packs->push({{1}, {0}, {128}});
    packs->close();
  }
  r.times.calls[pass::forward] = {{1}, {2}};
  r.times.calls[pass::backward] = {{2}, {4}};
  for (const pass way : {pass::forward, pass::backward}) {
    r.times.messages[way] = {{0}, {0}};
    r.times.before[way] = {0, 256, 384};
  }
  r.programs = {{{instruction_kind::forward, {0}, 0},
                 {instruction_kind::backward, {0}, 0},
                 {instruction_kind::forward, {1}, 0},
                 {instruction_kind::backward, {1}, 0}}};
  r.peak_memory = {256};
  r.makespan = {9};
  r.lower_bound = {9};
  p.replicas = {r};
  p.step_time = {9};
  p.bounds = {{"stage 0", {9}}};
  p.lower_bound = {9};
  p.efficiency = 1;
  return p;
}

using change = std::function<void(plan&)>;

TEST(PlanHash, ChangesWithEveryField) {
  const std::vector<std::pair<std::string, change>> changes = {
      {"planner", [](plan& p) { p.planner = "megatron"; }},
      {"cost", [](plan& p) { p.cost = "transformer"; }},
      {"model", [](plan& p) { p.model = "qwen"; }},
      {"words of a stage",
       [](plan& p) {
         p.shape.words = {3, 4};
       }},
      {"words of another",
       [](plan& p) {
         p.shape.words = {4, 3};
       }},
      {"gpu", [](plan& p) { p.gpu = "a100"; }},
      {"text moved to the next field", [](plan& p) { p.planner = "slimpackq", p.cost = "uadratic"; }},
      {"lengths", [](plan& p) { p.lengths[1] = {127}; }},
      {"stages", [](plan& p) { p.shape.stages = 2; }},
      {"replicas", [](plan& p) { p.shape.replicas = 2; }},
      {"tensor", [](plan& p) { p.shape.tensor = 2; }},
      {"context", [](plan& p) { p.shape.context = 2; }},
      {"expert", [](plan& p) { p.shape.expert = 2; }},
      {"chunks", [](plan& p) { p.shape.chunks = 2; }},
      {"quantum", [](plan& p) { p.shape.quantum = {64}; }},
      {"limit", [](plan& p) { p.shape.memory->amount = 1025; }},
      {"no limit", [](plan& p) { p.shape.memory.reset(); }},
      {"unit", [](plan& p) { p.memory_unit = memory_unit::byte; }},
      {"sequences", [](plan& p) { std::swap(p.replicas[0].sequences[0], p.replicas[0].sequences[1]); }},
      {"one pack more",
       [](plan& p) {
         p.replicas[0].partition.forward.push({{1}, {128}, {1}}), p.replicas[0].partition.forward.close();
       }},
      {"backward packs", [](plan& p) { p.replicas[0].partition.backward = {}; }},
      {"forward time", [](plan& p) { p.replicas[0].times.calls[pass::forward][1] = {2.5}; }},
      {"backward time", [](plan& p) { p.replicas[0].times.calls[pass::backward][0] = {2.5}; }},
      {"forward message", [](plan& p) { p.replicas[0].times.messages[pass::forward][0] = {1}; }},
      {"backward message", [](plan& p) { p.replicas[0].times.messages[pass::backward][0] = {1}; }},
      {"program order", [](plan& p) { std::swap(p.replicas[0].programs[0][1], p.replicas[0].programs[0][2]); }},
      {"program chunk", [](plan& p) { p.replicas[0].programs[0][1].chunk = 1; }},
      {"peak", [](plan& p) { p.replicas[0].peak_memory[0] = 257; }},
      {"makespan", [](plan& p) { p.replicas[0].makespan = {10}; }},
      {"replica's lower bound", [](plan& p) { p.replicas[0].lower_bound = {8}; }},
      {"one replica more", [](plan& p) { p.replicas.push_back({}); }},
      {"reduce time", [](plan& p) { p.reduce_time = {1}; }},
      {"reduction",
       [](plan& p) {
         p.reduction = gradient_reduction{{{{0, {1}, {2}}}}, {3}};
       }},
      {"reduction: at",
       [](plan& p) {
         p.reduction = gradient_reduction{{{{0.5, {1}, {2}}}}, {3}};
       }},
      {"reduction: scatter",
       [](plan& p) {
         p.reduction = gradient_reduction{{{{0, {2}, {2}}}}, {3}};
       }},
      {"reduction: gather",
       [](plan& p) {
         p.reduction = gradient_reduction{{{{0, {1}, {3}}}}, {3}};
       }},
      {"reduction: after",
       [](plan& p) {
         p.reduction = gradient_reduction{{{{0, {1}, {2}}}}, {4}};
       }},
      {"reduction: parts",
       [](plan& p) {
         p.reduction = gradient_reduction{{{{0, {1}, {2}}}, {}}, {3}};
       }},
      {"step time", [](plan& p) { p.step_time = {10}; }},
      {"bound's name", [](plan& p) { p.bounds[0].name = "stage 1"; }},
      {"bound's time", [](plan& p) { p.bounds[0].time = {8}; }},
      {"lower bound", [](plan& p) { p.lower_bound = {8}; }},
      {"efficiency", [](plan& p) { p.efficiency = 0.5; }},
      {"bubble", [](plan& p) { p.bubble = 0.5; }},
  };
  std::set<std::uint64_t> seen{hash_of(example())};
  for (const auto& [name, apply] : changes) {
    plan p = example();
    apply(p);
    EXPECT_TRUE(seen.insert(hash_of(p)).second) << name << " does not count";
  }
}

TEST(PlanHash, LeavesOutItselfTheTimeAndTheTruncatedMark) {
  plan p = example();
  p.hash = 1;
  p.planning_time = {2};
  p.truncated = true;
  EXPECT_EQ(hash_of(p), hash_of(example()));
}

// What memory was counted with is not in the plan file, so a plan that is read back lacks it.
TEST(PlanHash, LeavesOutWhatThePlanFileLacks) {
  plan p = example();
  p.replicas[0].rates = {{}};
  EXPECT_EQ(hash_of(p), hash_of(example()));
}

// The order of words counts, and so does every bit of each: flipping one flips about half of the 64.
TEST(PlanHash, MixesWordsInOrder) {
  const auto of = [](std::uint64_t first, std::uint64_t second) {
    detail::word_hash h;
    h.add(first), h.add(second);
    return h.value();
  };
  EXPECT_NE(of(1, 2), of(2, 1));
  for (int bit = 0; bit < 64; ++bit) {
    const int flipped = std::popcount(of(7, 9) ^ of(7 ^ (std::uint64_t{1} << bit), 9));
    EXPECT_GT(flipped, 12) << bit;
    EXPECT_LT(flipped, 52) << bit;
  }
}

}  // namespace
}  // namespace slimpack::plan_hash_test
