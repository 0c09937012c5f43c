#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "../laws/effort.hpp"
#include "diary.hpp"
#include "everywhere.hpp"
#include "prefix_model.hpp"
#include "shared_prefix_model.hpp"
#include "spread_plan.hpp"

#include <slimpack/basic_planner.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::packflow_evaluate_test {
namespace {

using tests::diary;
using tests::evaluate_everywhere;
using tests::run_everywhere;
using tests::small_plan;
using tests::stages_of;

/// A batch's forward alone; costs keep packs small, so that there are many.
result<plan> planned_forward(const shape& on, std::span<const tokens> lengths) {
  const costs::quadratic cost{.attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};
  const solvers::two_phase search{.effort = tests::effort};
  return basic_planner{on, slicers::equal_cost{}, cost, search, schedules::list{}, simulators::sweep{}}.plan_forward(
      lengths);
}

template <class Compute>
class PackflowEvaluates : public ::testing::Test {};
using forms =
    ::testing::Types<prefix_by_piece, prefix_that_cannot_fail, prefix_by_pack, prefix_in_arena<backward_cuts::any>,
                     prefix_in_arena<backward_cuts::forward_cuts>, prefix_splitting<backward_cuts::any, true>>;
TYPED_TEST_SUITE(PackflowEvaluates, forms);

TYPED_TEST(PackflowEvaluates, WithTheLossOfUncutSequencesByPlansOfBothKinds) {
  int plans = 0, cut = 0, k = 0;
  for (int seed = 1; seed <= tests::steps(3); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 24)));
    for (shape on : {shape{.stages = 1, .replicas = 2}, shape{.stages = 2}, shape{.stages = 3, .replicas = 2},
                     shape{.stages = 4}, shape{.stages = 2, .chunks = 2}, shape{.stages = 1, .chunks = 3},
                     shape{.stages = 1, .replicas = 40}, shape{.stages = 2, .replicas = 2, .chunks = 2}}) {
      on.quantum = quantum;
      std::vector<result<plan>> all;
      if (tests::is_tried(k++)) all.push_back(planned_forward(on, lengths));
      for (const tests::named_planner& planner : tests::every_planner())
        if (tests::is_tried(k++)) all.push_back(planner.make(on, lengths));
      for (const result<plan>& made : all) {
        if (!made && on.chunks > 1) continue;  // some schedules are for one chunk
        ASSERT_TRUE(made) << made.error().detail;
        const plan& p = made.value();
        std::vector<TypeParam> stages = stages_of<TypeParam>(p);
        const double loss = prefix_model::whole(lengths, on.parts()).loss;
        for (const result<step_report>& report : evaluate_everywhere(p, stages)) {
          ASSERT_TRUE(report) << report.error().detail << ", seed " << seed;
          EXPECT_EQ(report.value().loss_sum, loss) << "seed " << seed;
          EXPECT_EQ(report.value().reduce, seconds{});
        }
        for (const TypeParam& stage : stages) {
          for (const double gradient : stage.gradient()) EXPECT_EQ(gradient, 0.0);
          if constexpr (requires { stage.held(); }) {
            EXPECT_EQ(stage.held(), bytes{});
          }
        }
        ++plans;
        for (const replica_plan& r : p.replicas) cut += r.partition.forward.slices().size() > r.sequences.size();
      }
    }
  }
  EXPECT_GT(cut, plans / 3) << "sequences must be cut for this to show anything";
}

/// What a rank's forwards are called with by a step of the plan, and by an evaluation.
TEST(PackflowEvaluates, WithTheCallsOfTheStepsForward) {
  const plan p = small_plan();
  std::vector<diary> trained = stages_of<diary>(p), evaluated = stages_of<diary>(p);
  run_everywhere(p, trained);
  for (const result<step_report>& report : evaluate_everywhere(p, evaluated))
    ASSERT_TRUE(report) << report.error().detail;
  for (std::size_t rank = 0; rank < trained.size(); ++rank) {
    std::erase_if(trained[rank].entries, [](const diary::entry& e) { return e.direction == pass::backward; });
    ASSERT_EQ(evaluated[rank].entries.size(), trained[rank].entries.size());
    for (std::size_t i = 0; i < trained[rank].entries.size(); ++i)
      EXPECT_EQ(evaluated[rank].entries[i].what, trained[rank].entries[i].what) << "rank " << rank << ", call " << i;
    EXPECT_EQ(evaluated[rank].forwarded, trained[rank].forwarded);
    EXPECT_TRUE(evaluated[rank].done.empty());
    EXPECT_EQ(evaluated[rank].count->discarded, evaluated[rank].count->made);
    EXPECT_TRUE(evaluated[rank].outline.forward_only);
    EXPECT_FALSE(trained[rank].outline.forward_only);
    EXPECT_EQ(evaluated[rank].outline.forward_calls, trained[rank].outline.forward_calls);
    EXPECT_EQ(evaluated[rank].outline.backward_calls, 0u);
    EXPECT_LT(evaluated[rank].outline.tokens_in_flight, trained[rank].outline.tokens_in_flight);
  }
}

/// Counts what is held, and that a sequence goes right after its last forward, its last piece first.
class lets_go : public prefix_stage {
 public:
  using prefix_stage::prefix_stage;
  using state = slice;
  state forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    run_forward(p, in, out.bytes());
    live_[{p.chunk, p.slice.sequence}] += p.slice.length;
    tokens sum{};
    for (const auto& [where, held] : live_) sum += held;
    most = std::max(most, sum);
    return p.slice;
  }
  void backward(const piece&, state, std::span<const std::byte>, outgoing&) { ++backwards; }
  void sequence_forwarded(sequence_id s, std::uint32_t chunk) { ended_ = {chunk, s}; }
  void discard(const piece& p, const state& s) {
    tokens& held = live_[{p.chunk, p.slice.sequence}];
    wrong += s != p.slice || ended_ != std::pair(p.chunk, p.slice.sequence) || p.slice.end() != held;
    held = p.slice.begin;
    if (held == tokens{}) live_.erase({p.chunk, p.slice.sequence});
  }
  [[nodiscard]] bytes held() const { return {static_cast<double>(live_.size())}; }
  void begin_step(const step_outline& o) { outline = o; }

  tokens most;
  int wrong{}, backwards{};
  step_outline outline;

 private:
  std::map<std::pair<std::uint32_t, sequence_id>, tokens> live_;
  std::pair<std::uint32_t, sequence_id> ended_{};
};

TEST(PackflowEvaluates, AndHoldsWhatThePlanSays) {
  int whole = 0, ranks = 0;
  for (int seed = 1; seed <= tests::steps(10); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(1, 4)),
                   .replicas = static_cast<int>(random.between(1, 2)),
                   .chunks = static_cast<int>(random.between(1, 2)),
                   .quantum = {random.between(1, 8)}};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, on.quantum, static_cast<std::size_t>(random.between(4, 24)));
    const plan p = planned_forward(on, lengths).value();
    EXPECT_TRUE(testing::plan_laws(p)) << testing::plan_laws(p);
    std::vector<lets_go> stages = stages_of<lets_go>(p);
    for (const result<step_report>& report : evaluate_everywhere(p, stages))
      ASSERT_TRUE(report) << report.error().detail;
    for (std::size_t rank = 0; rank < stages.size(); ++rank) {
      const auto& peaks = p.replicas[rank / static_cast<std::size_t>(on.stages)].peak_memory;
      const double peak = peaks[rank % static_cast<std::size_t>(on.stages)];
      EXPECT_EQ(stages[rank].wrong, 0) << "seed " << seed;
      EXPECT_EQ(stages[rank].backwards, 0);
      // A stage that is called by piece lets go within a pack what the plan counts to its end.
      EXPECT_LE(static_cast<double>(stages[rank].most.value) / on.chunks, peak) << "seed " << seed;
      EXPECT_EQ(stages[rank].outline.tokens_in_flight.value, static_cast<std::int64_t>(std::ceil(peak)))
          << "seed " << seed;
      whole += static_cast<double>(stages[rank].most.value) / on.chunks == peak;
      ++ranks;
    }
  }
  EXPECT_GT(whole, ranks / 4);
}

template <class Compute>
void evaluate_shared(int& plans, int& shared) {
  int k = 0;
  for (int seed = 1; seed <= tests::steps(3); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 16)));
    for (const tests::named_planner& planner : tests::sharing_planners())
      for (shape on :
           {shape{.stages = 1, .replicas = 2}, shape{.stages = 2, .replicas = 3}, shape{.stages = 3, .replicas = 4}}) {
        on.quantum = quantum;
        if (!tests::is_tried(k++)) continue;
        const plan p = planner.make(on, lengths).value();
        ++plans;
        shared += !p.merges.empty();
        std::vector<Compute> trained = tests::one_per_rank<Compute>(p), evaluated = tests::one_per_rank<Compute>(p);
        const auto expected = run_everywhere(p, trained), reports = evaluate_everywhere(p, evaluated);
        for (std::size_t rank = 0; rank < reports.size(); ++rank) {
          ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", " << planner.name << ", seed " << seed;
          EXPECT_EQ(reports[rank].value().loss_sum, expected[rank].value().loss_sum)
              << planner.name << ", seed " << seed;
          EXPECT_EQ(evaluated[rank].rows_run() * 2, trained[rank].rows_run() * 2);
          EXPECT_EQ(evaluated[rank].held(), bytes{});
          EXPECT_LE(reports[rank].value().exchanged, expected[rank].value().exchanged);
        }
      }
  }
}

TEST(PackflowEvaluates, SequencesThatReplicasShare) {
  int plans = 0, shared = 0;
  evaluate_shared<shared_prefix_stage<backward_cuts::any>>(plans, shared);
  evaluate_shared<shared_prefix_stage<backward_cuts::forward_cuts>>(plans, shared);
  EXPECT_GT(shared, plans / 3) << "sequences must be shared for this to show anything";
}

/// Throws in a forward, or holds on to something.
class faulty_evaluation : public diary {
 public:
  using diary::diary;
  int at{-1};
  bool keeps{};
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (at-- == 0) throw std::runtime_error("no forward");
    return diary::forward(p, in, out);
  }
  [[nodiscard]] bytes held() const { return {keeps ? 8.0 : 0.0}; }
};

TEST(PackflowEvaluates, AndEndsAsAStepDoesWhereSomethingIsWrong) {
  const plan p = small_plan();
  for (std::size_t bad = 0; bad < 3; ++bad)
    for (const int at : {0, 3}) {
      std::vector<faulty_evaluation> stages = stages_of<faulty_evaluation>(p);
      stages[bad].at = at;
      std::vector<std::optional<result<step_report>>> reports(stages.size());
      std::vector<int> thrown(stages.size());
      transports::threads world{tests::ranks_of(p), {.time_out = {20}}};
      tests::on_every_rank(tests::ranks_of(p), [&](int rank) {
        auto endpoint = world.endpoint(rank);
        const auto own = static_cast<std::size_t>(rank);
        try {
          reports[own].emplace(executors::packflow{}.evaluate(p, stages[own], endpoint));
        } catch (const std::runtime_error&) {
          thrown[own] = 1;
        }
      });
      for (std::size_t rank = 0; rank < stages.size(); ++rank) {
        EXPECT_EQ(thrown[rank], rank == bad);
        if (rank != bad) {
          ASSERT_FALSE(*reports[rank]);
          EXPECT_NE(reports[rank]->error().detail.find("no forward"), std::string::npos)
              << reports[rank]->error().detail;
        }
        EXPECT_EQ(stages[rank].aborts, 1);
        EXPECT_EQ(stages[rank].count->discarded, stages[rank].count->made);
      }
    }
  std::vector<faulty_evaluation> stages = stages_of<faulty_evaluation>(p);
  stages[1].keeps = true;
  const auto reports = evaluate_everywhere(p, stages);
  ASSERT_FALSE(reports[1]);
  EXPECT_EQ(reports[1].error().code, errc::state_left);
  EXPECT_NE(reports[1].error().detail.find("still holds 8 bytes after the last sequence was discarded"),
            std::string::npos)
      << reports[1].error().detail;
}

TEST(PackflowEvaluates, RefusesWhatItCannotRunWithASentence) {
  const std::vector<tokens> lengths{{9}, {4}, {30}};
  const shape on{.stages = 2, .quantum = {4}};
  const plan forward = planned_forward(on, lengths).value();
  ASSERT_TRUE(is_forward_only(forward));
  std::vector<prefix_by_piece> stages = stages_of<prefix_by_piece>(forward);
  for (const result<step_report>& report : run_everywhere(forward, stages)) {
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().detail.find("the plan runs forward packs alone (plan_forward): run it by evaluate"),
              std::string::npos)
        << report.error().detail;
  }
  // One rank evaluates, the other trains.
  const plan step = small_plan({.stages = 2, .quantum = {4}});
  std::vector<prefix_by_piece> both = stages_of<prefix_by_piece>(step);
  std::vector<std::optional<result<step_report>>> reports(2);
  transports::threads world{2, {.time_out = {20}}};
  tests::on_every_rank(2, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const auto own = static_cast<std::size_t>(rank);
    reports[own].emplace(rank == 0 ? executors::packflow{}.execute(step, both[own], endpoint)
                                   : executors::packflow{}.evaluate(step, both[own], endpoint));
  });
  int told = 0;  // a rank that is aborted before it sees it has the other's text
  for (const auto& report : reports) {
    ASSERT_FALSE(*report);
    told += report->error().code == errc::disagreement;
    EXPECT_NE(report->error().detail.find(
                  "ranks 0 and 1 hold different kinds of step: a training step (execute) and an evaluation (evaluate)"),
              std::string::npos)
        << report->error().detail;
  }
  EXPECT_GT(told, 0);
  // A plan whose forward packs leave out tokens, or run out of order.
  plan broken = forward;
  broken.replicas[0].programs[0].pop_back();
  const result<detail::stage_script> script =
      detail::stage_script::of(broken, 0, backward_cuts::any, exchange_set::none(), false, true);
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().code, errc::out_of_order);
}

}  // namespace
}  // namespace slimpack::packflow_evaluate_test
