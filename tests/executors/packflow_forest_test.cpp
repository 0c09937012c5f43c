#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "everywhere.hpp"
#include "forests.hpp"
#include "one_at_a_time.hpp"
#include "path_stage.hpp"
#include "path_steps.hpp"
#include "path_words.hpp"
#include "planned.hpp"
#include "prefix_model.hpp"

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/testing/naive/memory.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::packflow_forest_test {
namespace {

using tests::evaluate_everywhere;
using tests::forest_maker;
using tests::forest_planner;
using tests::forest_planners;
using tests::path_difference;
using tests::path_gradients_of;
using tests::path_model;
using tests::path_packs;
using tests::path_pieces;
using tests::path_stages_of;
using tests::path_words;
using tests::random_forest;
using tests::run_everywhere;

/// How a plan's calls put parents and children together.
struct together {
  int forward{}, backward{};  ///< calls with pieces of a sequence and of its parent
};

/// What one stage was called with: each token once in each pass, each edge once, and how many samples have a piece.
template <class Stage>
void check_calls(const Stage& stage, const random_forest& f, int chunks, together& seen) {
  std::map<std::tuple<pass, std::uint32_t, sequence_id, std::int64_t>, int> tokens_run;
  std::map<std::tuple<pass, std::uint32_t, sequence_id, std::int64_t>, int> edges;
  for (const auto& call : stage.calls) {
    bool is_together = false;
    for (const auto& [p, prefix, edges_of] : call.pieces) {
      const sequence& s = f.sequences[p.slice.sequence.value];
      EXPECT_EQ(p.sequence_begin, s.begin);
      EXPECT_EQ(p.sequence_length, s.length);
      ASSERT_EQ(prefix.empty(), s.is_root());
      tokens above{};
      for (const slice& one : prefix) {
        EXPECT_EQ(one, f.sequences[one.sequence.value].whole());
        EXPECT_EQ(one.begin, above);
        above = one.end();
      }
      EXPECT_EQ(above, s.begin);
      if (!s.is_root()) {
        EXPECT_EQ(prefix.back().sequence, s.parent);
      }
      for (const auto& other : call.pieces) is_together = is_together || other.what.slice.sequence == s.parent;
      for (tokens at = p.slice.begin; at < p.slice.end(); ++at.value) ++tokens_run[{call.way, p.chunk, s.id, at.value}];
      for (const target_run& run : edges_of) {
        for (tokens at = run.begin; at < run.begin + run.length; ++at.value) {
          ++edges[{call.way, p.chunk, run.sequence, at.value}];
          EXPECT_GT(at, p.slice.begin);
          EXPECT_LE(at, p.slice.end());
        }
      }
      std::int64_t trained = 0;
      for (const target_run& run : edges_of) trained += run.length.value * run.count;
      EXPECT_EQ(p.loss_weight, static_cast<double>(trained) / f.count());
      std::uint32_t pass_through = 0;
      for (const tests::one_sample& one : f.samples) {
        const std::vector<sequence_id> path = f.path_of(one);
        pass_through +=
            one.at > p.slice.begin && path[static_cast<std::size_t>(p.slice.begin.value)] == p.slice.sequence;
      }
      EXPECT_EQ(p.samples, pass_through);
    }
    (call.way == pass::forward ? seen.forward : seen.backward) += is_together;
  }
  std::int64_t all = 0, targets = 0;
  for (const tokens t : f.batch.lengths) all += t.value;
  for (const target_run& run : f.batch.targets) targets += run.length.value;
  EXPECT_EQ(static_cast<std::int64_t>(tokens_run.size()), 2 * chunks * all);
  EXPECT_EQ(static_cast<std::int64_t>(edges.size()), 2 * chunks * targets);
  for (const auto& [token, times] : tokens_run) ASSERT_EQ(times, 1);
  for (const auto& [edge, times] : edges) ASSERT_EQ(times, 1);
}

template <class Stage>
void compare(const plan& p, const random_forest& f, together& seen) {
  const path_model::gradients expected = path_model::flat(f, p.shape.parts());
  std::vector<Stage> stages = path_stages_of<Stage>(p);
  for (const result<step_report>& report : run_everywhere(p, stages)) {
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_EQ(report.value().valid_tokens, tokens{static_cast<std::int64_t>(f.count())});
    EXPECT_LE(std::abs(report.value().loss_sum - expected.loss), 1e-13 * expected.size);
  }
  EXPECT_LE(path_difference(path_gradients_of(stages, p.shape), expected.all), 1e-11);
  for (const Stage& stage : stages) {
    EXPECT_EQ(stage.held(), bytes{});
    check_calls(stage, f, p.shape.chunks, seen);
  }
  EXPECT_EQ(stages.back().wrong_samples, 0);
  std::vector<sample_end> told = stages.back().samples;
  std::sort(told.begin(), told.end(), [](const sample_end& a, const sample_end& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.at < b.at;
  });
  EXPECT_EQ(told, f.batch.samples);
  for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage) EXPECT_TRUE(stages[stage].samples.empty());
}

/// Calls what(plan, forest, cuts) for forests on pipelines of `fewest` stages to 4, planned each way.
template <class What>
void on_forests(int seeds, const What& what, const std::vector<forest_planner>& planners = forest_planners(),
                int fewest = 1) {
  int k = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 4)};
    const random_forest f = forest_maker(random, quantum * 8, 40).make();
    ASSERT_EQ(batch_view(f.batch).fault(), std::nullopt) << "seed " << seed;
    for (int stages = fewest; stages <= 4; ++stages)
      for (int chunks = 1; chunks <= 2; ++chunks)
        for (const forest_planner& planner : planners) {
          if (!tests::is_tried(k++, 3)) continue;
          const result<plan> p = planner.make({.stages = stages, .chunks = chunks, .quantum = quantum}, f.batch);
          ASSERT_TRUE(p) << p.error().detail << ", seed " << seed << ", " << planner.name;
          const testing::report laws = testing::plan_laws(p.value());
          EXPECT_TRUE(laws) << laws;
          what(p.value(), f, planner.cuts);
          if (::testing::Test::HasFailure())
            FAIL() << "seed " << seed << ", " << planner.name << ", " << stages << " stages of " << chunks << " chunks";
        }
  }
}

TEST(PackflowForest, HasTheLossAndTheGradientsOfFlatSamples) {
  together seen;
  int plans = 0, cut = 0;
  on_forests(tests::steps(6), [&](const plan& p, const random_forest& f, backward_cuts cuts) {
    if (cuts == backward_cuts::any) compare<path_packs<backward_cuts::any>>(p, f, seen);
    compare<path_packs<backward_cuts::forward_cuts>>(p, f, seen);
    ++plans;
    cut += p.replicas[0].partition.forward.slices().size() > p.lengths.size();
  });
  EXPECT_GT(seen.forward, plans) << "parents and children share calls";
  EXPECT_GT(seen.backward, plans);
  EXPECT_GT(cut, plans / 4) << "sequences must be cut for this to show anything";
}

TEST(PackflowForest, HasThemPieceByPiece) {
  together apart;
  on_forests(tests::steps(2), [&](const plan& p, const random_forest& f, backward_cuts cuts) {
    if (cuts == backward_cuts::any)
      compare<path_pieces<backward_cuts::any>>(p, f, apart);
    else
      compare<path_pieces<backward_cuts::forward_cuts>>(p, f, apart);
  });
  EXPECT_EQ(apart.forward + apart.backward, 0);
}

TEST(PackflowForest, KnowsWholeSamplesBeforeGradientsAreAskedFor) {
  on_forests(tests::steps(2), [&](const plan& p, const random_forest& f, backward_cuts cuts) {
    const path_model::gradients expected = path_model::flat(f, p.shape.parts(), path_model::loss_of::samples);
    const auto run = [&](auto stages) {
      for (auto& one : stages) one.owner = &f;
      for (const result<step_report>& report : run_everywhere(p, stages)) {
        ASSERT_TRUE(report) << report.error().detail;
        EXPECT_LE(std::abs(report.value().loss_sum - expected.loss), 1e-13 * expected.size);
      }
      EXPECT_LE(path_difference(path_gradients_of(stages, p.shape), expected.all), 1e-11);
    };
    if (cuts == backward_cuts::any)
      run(path_stages_of<path_packs<backward_cuts::any>>(p));
    else
      run(path_stages_of<path_pieces<backward_cuts::forward_cuts>>(p));
  });
}

TEST(PackflowForest, LeavesNothingAfterACallThatFailed) {
  testing::generator random(5);
  on_forests(tests::steps(2), [&](const plan& p, const random_forest& f, backward_cuts) {
    using stage = path_packs<backward_cuts::forward_cuts>;
    std::vector<stage> stages = path_stages_of<stage>(p);
    const auto rank = static_cast<std::size_t>(random.between(0, p.shape.stages - 1));
    const auto calls = static_cast<std::int64_t>(p.replicas[0].programs[rank].size());
    stages[rank].fails_at = static_cast<int>(random.between(0, calls / 2));
    for (const result<step_report>& report : run_everywhere(p, stages)) EXPECT_FALSE(report);
    for (const stage& one : stages) EXPECT_EQ(one.held(), bytes{});
    EXPECT_LE(stages.back().samples.size(), f.batch.samples.size());
  });
}

/// The most tokens that are live at a time, recounted.
tokens most_live(const partition& packs, const program& code, const plan& p) {
  const double most = testing::naive::peak_memory(packs, code, {.live_token = 1, .gradient_token = 0}, p.shape, 0, {},
                                                  p.replicas[0].times.apart.flags, {}, {}, p.parents);
  return {static_cast<std::int64_t>(std::ceil(most))};
}

TEST(PackflowForest, HoldsAsManyTokensAsItSays) {
  on_forests(tests::steps(2), [&](const plan& p, const random_forest&, backward_cuts) {
    using stage = path_packs<backward_cuts::forward_cuts>;
    std::vector<stage> trained = path_stages_of<stage>(p), evaluated = path_stages_of<stage>(p);
    run_everywhere(p, trained);
    evaluate_everywhere(p, evaluated);
    for (std::size_t s = 0; s < trained.size(); ++s) {
      const replica_plan& r = p.replicas[0];
      EXPECT_EQ(trained[s].outline.tokens_in_flight, most_live(r.partition, r.programs[s], p));
      program forward;
      for (const instruction& i : r.programs[s])
        if (i.kind == instruction_kind::forward) forward.push_back(i);
      EXPECT_EQ(evaluated[s].outline.tokens_in_flight, most_live({r.partition.forward, {}}, forward, p));
    }
  });
}

TEST(PackflowForest, HasTheLossAndTheGradientsWhereStagesShareTheWords) {
  on_forests(
      tests::steps(4),
      [&](const plan& p, const random_forest& f, backward_cuts) {
        const path_model::gradients expected = path_model::flat(f, p.shape.parts());
        std::vector<path_words> stages = path_stages_of<path_words>(p);
        for (const result<step_report>& report : run_everywhere(p, stages)) {
          ASSERT_TRUE(report) << report.error().detail;
          EXPECT_EQ(report.value().valid_tokens, tokens{static_cast<std::int64_t>(f.count())});
          EXPECT_LE(std::abs(report.value().loss_sum - expected.loss), 1e-12 * expected.size);
        }
        std::vector<double> found;
        for (int c = 0; c < p.shape.chunks; ++c)
          for (const path_words& s : stages) path_model::append(s.gradients_of(c), found);
        path_model::table words{}, logits{};
        for (const path_words& s : stages)
          for (std::size_t w = 0; w < path_model::words; ++w)
            path_model::add(1, s.embedding_gradients()[w], words[w]),
                path_model::add(1, s.output_gradients()[w], logits[w]);
        path_model::append(words, found), path_model::append(logits, found);
        EXPECT_LE(path_difference(found, expected.all), 1e-11);
        for (const path_words& s : stages) {
          EXPECT_EQ(s.held(), bytes{});
          EXPECT_TRUE(s.samples.empty()) << "gradients are made with the loss";
        }
      },
      tests::spreading_forest_planners(), 2);
}

TEST(PackflowForest, HasTheSameBitsWhateverMessagesAreFirst) {
  using stage = path_packs<backward_cuts::any>;
  on_forests(tests::steps(1), [&](const plan& p, const random_forest&, backward_cuts) {
    if (p.shape.stages == 1) return;  // which sends no other rank a message
    std::vector<stage> first = path_stages_of<stage>(p);
    run_everywhere(p, first);
    for (const std::uint64_t seed : {1u, 2u}) {
      std::vector<stage> again = path_stages_of<stage>(p);
      tests::one_at_a_time world(p.shape.stages, seed);
      for (const auto& report : run_everywhere(world, std::vector<const plan*>(again.size(), &p), again))
        ASSERT_TRUE(report) << report.error().detail;
      EXPECT_EQ(again.back().loss(), first.back().loss());
      EXPECT_EQ(path_gradients_of(again, p.shape), path_gradients_of(first, p.shape));
    }
  });
}

TEST(PackflowForest, EvaluatesWithTheLossOfTheStepAndKeepsWhatDescendantsRead) {
  on_forests(tests::steps(2), [&](const plan& p, const random_forest& f, backward_cuts cuts) {
    const auto both = [&](auto step, auto evaluated) {
      run_everywhere(p, step);
      for (const result<step_report>& report : evaluate_everywhere(p, evaluated)) {
        ASSERT_TRUE(report) << report.error().detail;
        EXPECT_EQ(report.value().loss_sum, step.back().loss());
      }
      for (const auto& one : evaluated) {
        EXPECT_EQ(one.held(), bytes{});
        EXPECT_EQ(one.forwarded.size(), f.sequences.size() * static_cast<std::size_t>(p.shape.chunks));
        EXPECT_LE(one.peak(), step[static_cast<std::size_t>(&one - evaluated.data())].peak());
        for (auto at = one.discarded.begin(); at != one.discarded.end(); ++at) {  // no child is left
          EXPECT_TRUE(std::none_of(at + 1, one.discarded.end(), [&](const auto& later) {
            return later.first == at->first && f.sequences[later.second.value].parent == at->second;
          }));
        }
      }
      EXPECT_EQ(evaluated.back().wrong_samples, 0);
      EXPECT_EQ(evaluated.back().samples.size(), f.batch.samples.size());
    };
    if (cuts == backward_cuts::any) {
      using stage = path_packs<backward_cuts::any>;
      both(path_stages_of<stage>(p), path_stages_of<stage>(p));
    } else {
      using stage = path_pieces<backward_cuts::forward_cuts>;
      both(path_stages_of<stage>(p), path_stages_of<stage>(p));
    }
  });
}

template <class Stage>
void evaluate(const plan& p, const random_forest& f) {
  const path_model::gradients expected = path_model::flat(f, p.shape.parts());
  std::vector<Stage> stages = path_stages_of<Stage>(p);
  for (const result<step_report>& report : evaluate_everywhere(p, stages)) {
    ASSERT_TRUE(report) << report.error().detail;
    EXPECT_EQ(report.value().valid_tokens, tokens{static_cast<std::int64_t>(f.count())});
    EXPECT_LE(std::abs(report.value().loss_sum - expected.loss), 1e-13 * expected.size);
  }
  std::int64_t all = 0;
  for (const tokens t : f.batch.lengths) all += t.value;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Stage& one = stages[s];
    EXPECT_EQ(one.held(), bytes{});
    EXPECT_EQ(one.outline.tokens_in_flight, most_live(p.replicas[0].partition, p.replicas[0].programs[s], p));
    EXPECT_EQ(one.forwarded.size(), f.sequences.size() * static_cast<std::size_t>(p.shape.chunks));
    std::int64_t run = 0;  // each token once on each chunk
    for (const auto& call : one.calls)
      for (const auto& [piece, prefix, edges] : call.pieces) run += piece.slice.length.value;
    EXPECT_EQ(run, p.shape.chunks * all);
  }
  EXPECT_EQ(stages.back().wrong_samples, 0);
  EXPECT_EQ(stages.back().samples.size(), f.batch.samples.size());
}

TEST(PackflowForest, EvaluatesByPlansOfForwardAlone) {
  const std::vector<forest_planner> forward_alone{
      {"forward alone", backward_cuts::any,
       [](const shape& on, const batch_view& batch) { return tests::planned_forward(on, batch); }}};
  int plans = 0, cut = 0;
  on_forests(
      tests::steps(6),
      [&](const plan& p, const random_forest& f, backward_cuts) {
        ASSERT_TRUE(is_forward_only(p));
        evaluate<path_packs<backward_cuts::any>>(p, f);
        evaluate<path_pieces<backward_cuts::forward_cuts>>(p, f);
        ++plans, cut += p.replicas[0].partition.forward.slices().size() > p.lengths.size();
      },
      forward_alone);
  EXPECT_GT(cut, plans / 4) << "sequences must be cut for this to show anything";
}

/// Two answers to a prompt of 8 tokens.
forest two_answers() {
  return {.lengths = {{8}, {4}, {6}},
          .parents = {no_parent, {0}, {0}},
          .samples = {{{1}, {12}}, {{2}, {14}}},
          .targets = {{{1}, {8}, {4}}, {{2}, {8}, {6}}}};
}

TEST(PackflowForest, IsRefusedWhereTheComputeDoesNotSayThatItSharesPrefixes) {
  const plan p = forest_planners()[0].make({.stages = 1, .quantum = {2}}, two_answers()).value();
  std::vector<prefix_in_arena<backward_cuts::any>> stages = tests::one_per_rank<prefix_in_arena<backward_cuts::any>>(p);
  const result<step_report> report = std::move(run_everywhere(p, stages)[0]);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::invalid_input);
  EXPECT_NE(report.error().detail.find("samples of the plan share prefixes (sequence 1 goes on where sequence 0 ends), "
                                       "the compute does not say shares_prefixes = true: plan it flat"),
            std::string::npos)
      << report.error().detail;
}

TEST(PackflowForest, IsRefusedWhereStagesLendEachOtherAttention) {
  plan p = forest_planners()[0].make({.stages = 2, .quantum = {2}}, two_answers()).value();
  p.replicas[0].loans.emplace_back();
  std::vector<path_packs<backward_cuts::any>> stages = path_stages_of<path_packs<backward_cuts::any>>(p);
  for (const result<step_report>& report : run_everywhere(p, stages)) {
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().detail.find("stages lend attention, and samples share prefixes: plan them flat"),
              std::string::npos)
        << report.error().detail;
  }
}

TEST(PackflowForest, IsPlannedForComputesThatShareThem) {
  const shape on{.stages = 2, .quantum = {2}};
  EXPECT_TRUE(planner_for<path_packs<backward_cuts::any>>(on)(two_answers()));
  EXPECT_TRUE(planner_for<path_pieces<backward_cuts::forward_cuts>>(on)(two_answers()));
  const auto why = [&](const result<plan>& made) { return made ? std::string() : made.error().detail; };
  for (const std::string& detail : {why(planner_for<prefix_in_arena<backward_cuts::any>>(on)(two_answers())),
                                    why(planner_for<prefix_by_piece>(on)(two_answers()))})
    EXPECT_NE(detail.find("plan them flat, each sample as a sequence of its own"), std::string::npos) << detail;
}

}  // namespace
}  // namespace slimpack::packflow_forest_test
