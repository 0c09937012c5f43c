#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "batch_places.hpp"
#include "everywhere.hpp"
#include "forests.hpp"
#include "one_at_a_time.hpp"
#include "path_stage.hpp"
#include "path_steps.hpp"
#include "planned.hpp"

#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/testing/naive/memory.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace slimpack::packflow_forest_copies_test {
namespace {

using tests::batch_places;
using tests::evaluate_everywhere;
using tests::forest_maker;
using tests::forest_planner;
using tests::path_model;
using tests::path_packs;
using tests::path_pieces;
using tests::path_stages_of;
using tests::random_forest;
using tests::run_everywhere;

template <class Stage>
std::vector<Stage> stages_of(const plan& p, const batch_places& places) {
  std::vector<Stage> stages = path_stages_of<Stage>(p);
  for (Stage& one : stages) one.text = places.words();
  return stages;
}

/// What all replicas were called with: how often each token and each edge.
struct counted {
  std::map<std::tuple<pass, std::uint32_t, sequence_id, std::int64_t>, int> at_home, copied, edges;
  double weight{};  ///< of the pieces of a forward on one stage
};

template <class Stage>
void count(const Stage& stage, const random_forest& f, const batch_places& places, counted& seen) {
  for (const auto& call : stage.calls)
    for (const auto& [p, prefix, edges_of] : call.pieces) {
      const sequence& s = places.of_plan(p.slice.sequence);
      const tokens home = places.home_begin(s.id);
      EXPECT_EQ(p.home_begin, home);
      EXPECT_EQ(p.sequence_begin, s.begin);
      EXPECT_EQ(p.sequence_length, s.length);
      EXPECT_EQ(prefix.empty(), s.is_root());
      tokens above{};
      for (const slice& one : prefix) {
        EXPECT_EQ(one, places.of_plan(one.sequence).whole());
        EXPECT_EQ(one.begin, above);
        above = one.end();
      }
      EXPECT_EQ(above, s.begin);
      for (tokens at = p.slice.begin; at < p.slice.end(); ++at.value)
        ++(at < home ? seen.copied : seen.at_home)[{call.way, p.chunk, s.id, at.value}];
      std::int64_t trained = 0;
      for (const target_run& run : edges_of) {
        trained += run.length.value * run.count;
        EXPECT_FALSE(places.is_copy(run.sequence));
        EXPECT_GE(run.begin, places.home_begin(run.sequence));
        if (run.sequence != s.id) {
          EXPECT_EQ(places.of_plan(run.sequence).parent, s.id);
        }
        for (tokens at = run.begin; at < run.begin + run.length; ++at.value) {
          ++seen.edges[{call.way, p.chunk, run.sequence, at.value}];
          EXPECT_GT(at, p.slice.begin);
          EXPECT_LE(at, p.slice.end());
        }
      }
      EXPECT_EQ(p.loss_weight, static_cast<double>(trained) / f.count());
      if (call.way == pass::forward && p.chunk == 0) seen.weight += p.loss_weight;
      std::uint32_t through = 0;
      const tokens from = std::max(p.slice.begin, home);
      for (const tests::one_sample& one : f.samples)
        through +=
            !places.is_copy(s.id) && one.at > from && f.path_of(one)[static_cast<std::size_t>(from.value)] == s.id;
      EXPECT_EQ(p.samples, through);
      if (places.is_copy(s.id)) {
        EXPECT_TRUE(p.ends.empty());
      }
    }
}

/// Every token of the batch is at home once, and every target predicted once, whatever is computed again.
void check_counts(const counted& seen, const plan& p, const random_forest& f) {
  std::size_t all = 0, again = 0, targets = 0;
  for (const tokens t : f.batch.lengths) all += static_cast<std::size_t>(t.value);
  for (const tokens t : p.lengths) again += static_cast<std::size_t>(t.value);
  for (const target_run& run : f.batch.targets) targets += static_cast<std::size_t>(run.length.value);
  const std::size_t calls = 2 * static_cast<std::size_t>(p.shape.chunks);
  EXPECT_EQ(seen.at_home.size(), calls * all);
  EXPECT_EQ(seen.copied.size(), calls * (again - all));
  EXPECT_EQ(seen.edges.size(), calls * targets);
  for (const auto* one : {&seen.at_home, &seen.copied, &seen.edges})
    for (const auto& [which, times] : *one) ASSERT_EQ(times, 1);
  EXPECT_NEAR(seen.weight, f.count() > 0 ? 1 : 0, 1e-12);
}

/// Sums over the replicas.
template <class Stage>
std::vector<double> summed(const std::vector<Stage>& stages, const shape& on) {
  std::vector<double> sum = tests::path_gradients_of(stages, on);
  for (int replica = 1; replica < on.replicas; ++replica) {
    const std::vector<double> more = tests::path_gradients_of(stages, on, replica);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  return sum;
}

template <class Stage>
void compare(const plan& p, const random_forest& f) {
  const path_model::gradients expected = path_model::flat(f, p.shape.parts());
  const batch_places places(p);
  std::vector<Stage> stages = stages_of<Stage>(p, places);
  for (const result<step_report>& report : run_everywhere(p, stages)) {
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_EQ(report.value().valid_tokens, tokens{static_cast<std::int64_t>(f.count())});
    EXPECT_LE(std::abs(report.value().loss_sum - expected.loss), 1e-13 * expected.size);
  }
  EXPECT_LE(tests::path_difference(summed(stages, p.shape), expected.all), 1e-11);
  std::vector<sample_end> told;
  for (int stage = 0; stage < p.shape.stages; ++stage) {
    counted seen;
    for (int replica = 0; replica < p.shape.replicas; ++replica) {
      const Stage& one = stages[static_cast<std::size_t>(replica * p.shape.stages + stage)];
      count(one, f, places, seen);
      EXPECT_EQ(one.held(), bytes{});
      EXPECT_EQ(one.wrong_samples, 0);
      if (stage + 1 < p.shape.stages) {
        EXPECT_TRUE(one.samples.empty());
      }
      told.insert(told.end(), one.samples.begin(), one.samples.end());
    }
    check_counts(seen, p, f);
  }
  std::sort(told.begin(), told.end(), [](const sample_end& a, const sample_end& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.at < b.at;
  });
  EXPECT_EQ(told, f.batch.samples) << "on last stages, each once";
}

/// Calls what(plan, forest, cuts) for forests on replicas, planned each way, whose plans compute paths again.
template <class What>
void on_cut_forests(int seeds, const What& what) {
  std::vector<forest_planner> planners = tests::cut_planners();
  for (const forest_planner& one : tests::forest_planners()) planners.push_back(one);
  int k = 0, plans = 0;
  std::map<std::string, int> cut;
  for (int seed = 1; seed <= seeds; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed) + 100);
    const tokens quantum{random.between(1, 4)};
    const random_forest f = forest_maker(random, quantum * 6, 24).make();
    for (int replicas = 1; replicas <= 3; ++replicas)
      for (int stages = 1; stages <= 4; ++stages)
        for (int chunks = 1; chunks <= 2; ++chunks)
          for (const forest_planner& planner : planners) {
            if (!tests::is_tried(k++, 7)) continue;
            const shape on{.stages = stages, .replicas = replicas, .chunks = chunks, .quantum = quantum};
            const result<plan> p = planner.make(on, f.batch);
            ASSERT_TRUE(p) << p.error().detail << ", seed " << seed << ", " << planner.name;
            if (p.value().copies.empty()) continue;
            const testing::report laws = testing::plan_laws(p.value());
            EXPECT_TRUE(laws) << laws;
            what(p.value(), f, planner.cuts);
            ++plans, ++cut[planner.name];
            if (::testing::Test::HasFailure())
              FAIL() << "seed " << seed << ", " << planner.name << ", " << replicas << " replicas, " << stages
                     << " stages of " << chunks << " chunks";
          }
  }
  EXPECT_GT(plans, 5 * seeds);
  EXPECT_GE(cut.size(), planners.size() - 2) << "most planners must have computed paths again";
}

TEST(PackflowForestCopies, HaveTheLossAndTheGradientsOfFlatSamples) {
  on_cut_forests(tests::steps(4), [&](const plan& p, const random_forest& f, backward_cuts cuts) {
    if (cuts == backward_cuts::any) compare<path_packs<backward_cuts::any>>(p, f);
    compare<path_packs<backward_cuts::forward_cuts>>(p, f);
  });
}

TEST(PackflowForestCopies, HaveThemPieceByPiece) {
  on_cut_forests(tests::steps(2), [&](const plan& p, const random_forest& f, backward_cuts cuts) {
    if (cuts == backward_cuts::any)
      compare<path_pieces<backward_cuts::any>>(p, f);
    else
      compare<path_pieces<backward_cuts::forward_cuts>>(p, f);
  });
}

// Copies are not counted, and what is at home is, whoever goes on from it.
TEST(PackflowForestCopies, AreEvaluatedByPlansOfForwardAlone) {
  int plans = 0, k = 0;
  for (int seed = 1; seed <= tests::steps(12); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed) + 100);
    const tokens quantum{random.between(1, 4)};
    const random_forest f = forest_maker(random, quantum * 6, 24).make();
    for (const shape& on :
         {shape{.stages = 1, .replicas = 3, .quantum = quantum}, shape{.stages = 3, .replicas = 2, .quantum = quantum},
          shape{.stages = 2, .replicas = 3, .chunks = 2, .quantum = quantum}}) {
      if (!tests::is_tried(k++, 2)) continue;
      const result<plan> made = tests::planned_forward(on, f.batch);
      ASSERT_TRUE(made) << made.error().detail << ", seed " << seed;
      const plan& p = made.value();
      if (p.copies.empty()) continue;
      ++plans;
      const testing::report laws = testing::plan_laws(p);
      EXPECT_TRUE(laws) << laws;
      using stage = path_packs<backward_cuts::any>;
      const batch_places places(p);
      std::vector<stage> stages = stages_of<stage>(p, places);
      const path_model::gradients expected = path_model::flat(f, on.parts());
      for (const result<step_report>& report : evaluate_everywhere(p, stages)) {
        ASSERT_TRUE(report) << report.error().detail;
        EXPECT_EQ(report.value().valid_tokens, tokens{static_cast<std::int64_t>(f.count())});
        EXPECT_LE(std::abs(report.value().loss_sum - expected.loss), 1e-13 * expected.size) << "seed " << seed;
      }
      for (std::size_t rank = 0; rank < stages.size(); ++rank) {
        const replica_plan& r = p.replicas[rank / static_cast<std::size_t>(on.stages)];
        const std::size_t at = rank % static_cast<std::size_t>(on.stages);
        EXPECT_EQ(stages[rank].held(), bytes{});
        EXPECT_EQ(stages[rank].peak(),
                  bytes{testing::naive::peak_memory(r.partition, r.programs[at], stages[rank].rates(), on,
                                                    static_cast<int>(at), {}, {}, {}, {}, p.parents)});
      }
    }
  }
  EXPECT_GT(plans, 5);
}

TEST(PackflowForestCopies, HoldAsMuchAsTheirPlansSay) {
  on_cut_forests(tests::steps(2), [&](const plan& p, const random_forest&, backward_cuts cuts) {
    const batch_places places(p);
    const auto check = [&](auto stages) {
      run_everywhere(p, stages);
      for (std::size_t rank = 0; rank < stages.size(); ++rank) {
        const replica_plan& r = p.replicas[rank / static_cast<std::size_t>(p.shape.stages)];
        const std::size_t stage = rank % static_cast<std::size_t>(p.shape.stages);
        const double most =
            testing::naive::peak_memory(r.partition, r.programs[stage], stages[rank].rates(), p.shape,
                                        static_cast<int>(stage), {}, r.times.apart.flags, {}, {}, p.parents);
        EXPECT_EQ(stages[rank].peak(), bytes{most});
      }
    };
    if (cuts == backward_cuts::any)
      check(stages_of<path_packs<backward_cuts::any>>(p, places));
    else
      check(stages_of<path_packs<backward_cuts::forward_cuts>>(p, places));
  });
}

TEST(PackflowForestCopies, HaveTheSameBitsWhateverMessagesAreFirst) {
  using stage = path_packs<backward_cuts::any>;
  on_cut_forests(tests::steps(1), [&](const plan& p, const random_forest&, backward_cuts) {
    if (p.shape.stages == 1) return;  // which sends no other stage a message
    const batch_places places(p);
    std::vector<stage> first = stages_of<stage>(p, places);
    run_everywhere(p, first);
    for (const std::uint64_t seed : {1u, 2u}) {
      std::vector<stage> again = stages_of<stage>(p, places);
      tests::one_at_a_time world(tests::ranks_of(p), seed);
      for (const auto& report : run_everywhere(world, std::vector<const plan*>(again.size(), &p), again))
        ASSERT_TRUE(report) << report.error().detail;
      for (std::size_t rank = 0; rank < again.size(); ++rank) EXPECT_EQ(again[rank].loss(), first[rank].loss());
      for (int replica = 0; replica < p.shape.replicas; ++replica)
        EXPECT_EQ(tests::path_gradients_of(again, p.shape, replica), tests::path_gradients_of(first, p.shape, replica));
    }
  });
}

TEST(PackflowForestCopies, AreEvaluatedWithTheLossOfTheStep) {
  on_cut_forests(tests::steps(1), [&](const plan& p, const random_forest&, backward_cuts) {
    using stage = path_packs<backward_cuts::forward_cuts>;
    const batch_places places(p);
    std::vector<stage> step = stages_of<stage>(p, places), evaluated = stages_of<stage>(p, places);
    const std::vector<result<step_report>> expected = run_everywhere(p, step);
    const std::vector<result<step_report>> reports = evaluate_everywhere(p, evaluated);
    for (std::size_t rank = 0; rank < step.size(); ++rank) {
      ASSERT_TRUE(reports[rank]) << reports[rank].error().detail;
      EXPECT_EQ(reports[rank].value().loss_sum, expected[rank].value().loss_sum);
      EXPECT_EQ(evaluated[rank].held(), bytes{});
    }
  });
}

}  // namespace
}  // namespace slimpack::packflow_forest_copies_test
