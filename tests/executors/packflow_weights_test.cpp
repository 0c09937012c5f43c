#include <slimpack/executors/packflow.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include "../laws/cases.hpp"
#include "../laws/effort.hpp"
#include "delayed_weights.hpp"
#include "diary.hpp"
#include "everywhere.hpp"
#include "planned.hpp"
#include "prefix_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::packflow_weights_test {
namespace {

using tests::delayed_weights;
using tests::run_everywhere;
using tests::stages_of;

template <class Compute>
class PackflowWeights : public ::testing::Test {};
using forms = ::testing::Types<prefix_splitting<backward_cuts::any, false>, prefix_splitting<backward_cuts::any, true>,
                               prefix_splitting<backward_cuts::forward_cuts, false>,
                               prefix_splitting<backward_cuts::forward_cuts, true>>;
TYPED_TEST_SUITE(PackflowWeights, forms);

const solvers::two_phase search{.effort = tests::effort, .most_sharers = 1};

/// Plans, runs, and compares with the model of uncut sequences.
template <class Compute, class Schedule>
void expect_uncut_gradients(const shape& on, const std::vector<tokens>& lengths, const Schedule& schedule, int seed) {
  const plan p = tests::planned(on, lengths, slicers::equal_cost{}, search, schedule).value();
  std::vector<Compute> stages = stages_of<Compute>(p);
  const auto reports = run_everywhere(p, stages);
  tests::expect_uncut(p, reports, stages, "seed " + std::to_string(seed));
}

std::vector<tokens> any_lengths(testing::generator& random, tokens quantum) {
  return tests::awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 16)));
}

TYPED_TEST(PackflowWeights, GiveTheGradientsOfUncutSequences) {
  int k = 0;
  for (int seed = 1; seed <= tests::steps(4); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths = any_lengths(random, quantum);
    for (const std::size_t delay : {std::size_t{0}, std::size_t{3}, std::size_t{1000}})
      for (const shape& on :
           {shape{.stages = 1, .replicas = 2, .quantum = quantum}, shape{.stages = 3, .quantum = quantum},
            shape{.stages = 2, .replicas = 3, .quantum = quantum}, shape{.stages = 2, .chunks = 2, .quantum = quantum}})
        if (tests::is_tried(k++)) expect_uncut_gradients<TypeParam>(on, lengths, delayed_weights{delay}, seed);
  }
}

/// Notes which calls of backward and of weights say that a chunk's gradients are final.
template <class Base>
struct noting : Base {
  using Base::Base;
  struct call {
    std::uint32_t chunk;
    bool last;
  };
  std::vector<call> calls;

  template <class What>
  auto backward(const What& what, std::span<const std::byte> in, outgoing& out)
      -> decltype(std::declval<Base&>().backward(what, in, out)) {
    note(what);
    return Base::backward(what, in, out);
  }
  template <class What>
  auto weights(const What& what) -> decltype(std::declval<Base&>().weights(what)) {
    note(what);
    return Base::weights(what);
  }

 private:
  void note(const piece& p) { calls.push_back({p.chunk, p.last_of_chunk}); }
  void note(std::span<const piece> pack) {
    for (const piece& p : pack.first(pack.size() - 1)) EXPECT_FALSE(p.last_of_chunk);
    note(pack.back());
  }
};

TYPED_TEST(PackflowWeights, AreFinalWithTheLastCallOfEither) {
  testing::generator random(5);
  for (const shape& on : {shape{.stages = 3, .quantum = {4}}, shape{.stages = 2, .chunks = 2, .quantum = {4}}}) {
    const plan p =
        tests::planned(on, any_lengths(random, on.quantum), slicers::equal_cost{}, search, delayed_weights{3, 0.5})
            .value();
    std::vector<noting<TypeParam>> stages = stages_of<noting<TypeParam>>(p);
    for (const auto& report : run_everywhere(p, stages)) ASSERT_TRUE(report) << report.error().detail;
    for (const auto& stage : stages) {
      std::vector<std::size_t> last(static_cast<std::size_t>(on.chunks));
      for (std::size_t at = 0; at < stage.calls.size(); ++at) last[stage.calls[at].chunk] = at;
      for (std::size_t at = 0; at < stage.calls.size(); ++at)
        EXPECT_EQ(stage.calls[at].last, last[stage.calls[at].chunk] == at) << "call " << at;
    }
  }
}

// Then some sequences have their later tokens' weight gradients in B, those of the tokens before in W.
TYPED_TEST(PackflowWeights, GiveThemWhereTheFirstPacksRunWhole) {
  int k = 0;
  for (int seed = 1; seed <= tests::steps(4); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths = any_lengths(random, quantum);
    for (const shape& on :
         {shape{.stages = 3, .quantum = quantum}, shape{.stages = 2, .chunks = 2, .quantum = quantum}})
      if (const double whole = random.ratio(); tests::is_tried(k++))
        expect_uncut_gradients<TypeParam>(on, lengths, delayed_weights{3, whole}, seed);
  }
}

TYPED_TEST(PackflowWeights, GiveThoseGradientsInZeroBubbleOrders) {
  using schedules::zero_bubble_order;
  int k = 0;
  for (int seed = 1; seed <= tests::steps(2); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths = any_lengths(random, quantum);
    for (const zero_bubble_order order : {zero_bubble_order::automatic, zero_bubble_order::h1, zero_bubble_order::h2})
      for (const shape& on :
           {shape{.stages = 1, .quantum = quantum}, shape{.stages = 2, .quantum = quantum},
            shape{.stages = 4, .quantum = quantum}, shape{.stages = 3, .chunks = 2, .quantum = quantum}})
        if (tests::is_tried(k++))
          expect_uncut_gradients<TypeParam>(on, lengths, schedules::zero_bubble{.order = order}, seed);
  }
}

plan split_plan() {
  const std::vector<tokens> lengths{{40}, {7}, {13}, {64}};
  return tests::planned({.stages = 2, .quantum = {8}}, lengths, slicers::equal_cost{}, solvers::chunked{.chunk = {8}},
                        delayed_weights{2})
      .value();
}

TEST(PackflowWeightsPlan, HoldsTheTokensThatItPredicts) {
  const plan p = split_plan();
  std::vector<prefix_splitting<backward_cuts::any, false>> stages =
      stages_of<prefix_splitting<backward_cuts::any, false>>(p);
  const auto reports = run_everywhere(p, stages);
  for (std::size_t r = 0; r < reports.size(); ++r)
    EXPECT_EQ(static_cast<double>(reports[r].value().peak_tokens.value), p.replicas[0].peak_memory[r]);
}

TEST(PackflowWeightsPlan, IsRefusedForAComputeThatCannotSplit) {
  const plan p = split_plan();
  std::vector<prefix_by_piece> stages = stages_of<prefix_by_piece>(p);
  for (const auto& report : run_everywhere(p, stages)) {
    ASSERT_FALSE(report);
    EXPECT_NE(
        report.error().detail.find("the compute does not say splits_weight_gradients = true: plan with planner_for<its "
                                   "type> (planner_for.hpp)"),
        std::string::npos)
        << report.error().detail;
  }
}

TEST(PackflowWeightsPlan, IsOutOfOrderWhereAWIsMissingOrEarly) {
  for (const bool missing : {true, false}) {
    plan p = split_plan();
    program& code = p.replicas[0].programs[1];
    const auto w = std::find_if(code.begin(), code.end(), [](const instruction& i) { return i.is_weights(); });
    if (missing)
      code.erase(w);
    else
      std::rotate(code.begin(), w, w + 1);
    p.hash = hash_of(p);
    std::vector<prefix_splitting<backward_cuts::any, false>> stages =
        stages_of<prefix_splitting<backward_cuts::any, false>>(p);
    const auto reports = run_everywhere(p, stages);
    ASSERT_FALSE(reports[1]);
    EXPECT_EQ(reports[1].error().code, errc::out_of_order) << reports[1].error().detail;
    EXPECT_NE(reports[1].error().detail.find("W0"), std::string::npos) << reports[1].error().detail;
  }
}

TEST(PackflowWeightsPlan, IsRefusedWhereWeightGradientsOfASequenceAreBackInsideAfterSomeWereApart) {
  const std::vector<tokens> lengths{{64}};
  plan p = tests::planned({.quantum = {8}}, lengths, slicers::equal_cost{}, solvers::chunked{.chunk = {8}},
                          delayed_weights{2})
               .value();
  replica_plan& r = p.replicas[0];
  ASSERT_GT(r.partition.backward.size(), 1u);
  const std::size_t whole = r.partition.backward.size() - 1;
  r.times.apart.flags[whole] = 0;
  std::erase_if(r.programs[0], [&](const instruction& i) { return i.is_weights() && i.pack.value == whole; });
  p.hash = hash_of(p);
  std::vector<prefix_splitting<backward_cuts::any, false>> stages =
      stages_of<prefix_splitting<backward_cuts::any, false>>(p);
  const auto reports = run_everywhere(p, stages);
  ASSERT_FALSE(reports[0]);
  EXPECT_EQ(reports[0].error().code, errc::invalid_input) << reports[0].error().detail;
  EXPECT_NE(reports[0].error().detail.find("weight gradients of sequence 0"), std::string::npos)
      << reports[0].error().detail;
}

/// Fails in the first W after its n-th.
struct failing_weights : prefix_splitting<backward_cuts::any, false> {
  using prefix_splitting::prefix_splitting;
  int left{2};
  result<void> weights(const piece& p) {
    if (left-- == 0) return error{errc::compute_failed, "no more weights"};
    prefix_splitting::weights(p);
    return success();
  }
};

TEST(PackflowWeightsPlan, DiscardsWhatWaitsForItsWeightsWhenAStepFails) {
  const plan p = split_plan();
  std::vector<failing_weights> stages = stages_of<failing_weights>(p);
  const auto reports = run_everywhere(p, stages);
  for (const auto& report : reports) ASSERT_FALSE(report);
  EXPECT_NE((reports[0].error().detail + reports[1].error().detail).find("no more weights"), std::string::npos);
  for (const failing_weights& stage : stages) EXPECT_EQ(stage.held(), bytes{0});
}

}  // namespace
}  // namespace slimpack::packflow_weights_test
