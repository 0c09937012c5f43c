#include <slimpack/executors/packflow.hpp>

#include "../laws/cases.hpp"
#include "diary.hpp"
#include "everywhere.hpp"
#include "prefix_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace slimpack::packflow_test {
namespace {

using tests::diary;
using tests::run_everywhere;

using tests::small_plan;
using tests::stages_of;

/// The form of the compute that is under test.
template <class Compute>
class PackflowForms : public ::testing::Test {};
using forms = ::testing::Types<prefix_by_piece, prefix_that_cannot_fail, prefix_by_pack,
                               prefix_in_arena<backward_cuts::any>, prefix_in_arena<backward_cuts::forward_cuts>>;
TYPED_TEST_SUITE(PackflowForms, forms);

TYPED_TEST(PackflowForms, GiveTheGradientsOfUncutSequences) {
  int asymmetric = 0;
  int steps = 0, k = 0;
  for (int seed = 1; seed <= tests::steps(6); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 8)};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 24)));
    for (const tests::named_planner& planner : tests::every_planner()) {
      for (const shape& on : {shape{.stages = 1, .replicas = 2}, shape{.stages = 2}, shape{.stages = 3, .replicas = 2},
                              shape{.stages = 4}, shape{.stages = 2, .replicas = 3}, shape{.stages = 2, .chunks = 2},
                              shape{.stages = 1, .chunks = 3}}) {
        if (!tests::is_tried(k++)) continue;
        shape fine = on;
        fine.quantum = quantum;
        const result<plan> made = planner.make(fine, lengths);
        if (!made && on.chunks > 1) continue;  // list is for one chunk
        ASSERT_TRUE(made) << made.error().detail;
        const plan& p = made.value();
        std::vector<TypeParam> stages = stages_of<TypeParam>(p);
        const auto reports = run_everywhere(p, stages);
        tests::expect_uncut(p, reports, stages, std::string(planner.name) + ", seed " + std::to_string(seed));
        ++steps;
        for (const replica_plan& r : p.replicas)
          asymmetric += r.partition.forward.size() != r.partition.backward.size();
      }
    }
  }
  EXPECT_GT(asymmetric, steps / 8) << "forward and backward packs must differ for this to show anything";
}

struct noted_step {
  plan p = small_plan();
  std::vector<diary> stages = stages_of<diary>(p);
  std::vector<result<step_report>> reports = run_everywhere(p, stages);
};

TEST(Packflow, CallsInProgramOrderOnTheCallersThread) {
  const noted_step step;
  for (std::size_t rank = 0; rank < step.stages.size(); ++rank) {
    EXPECT_EQ(step.stages[rank].strangers, 0);
    std::size_t at = 0;
    const partition pieces = common_refinement(step.p.replicas[0].partition);
    for (const instruction& i : step.p.replicas[0].programs[rank]) {
      for (const slice& s : pieces.of(i.pass())[i.pack.value]) {
        ASSERT_LT(at, step.stages[rank].entries.size());
        EXPECT_EQ(step.stages[rank].entries[at].direction, i.pass());
        EXPECT_EQ(step.stages[rank].entries[at].what.slice, s);
        ++at;
      }
    }
    EXPECT_EQ(at, step.stages[rank].entries.size());
  }
}

TEST(Packflow, GivesEachStateBackOnce) {
  const noted_step step;
  for (const diary& stage : step.stages) {
    EXPECT_GT(stage.count->made, 0);
    EXPECT_EQ(stage.count->taken, stage.count->made);
    EXPECT_EQ(stage.count->discarded, 0);
  }
}

TEST(Packflow, BackwardPiecesAreForwardPiecesWhereTheComputeCannotCutThem) {
  const noted_step step;
  const replica_plan& r = step.p.replicas[0];
  EXPECT_NE(r.partition.forward.slices().size(), r.partition.backward.slices().size());
  for (const diary& stage : step.stages) {
    std::vector<slice> pieces[2];
    for (const diary::entry& e : stage.entries) pieces[e.direction == pass::forward ? 0 : 1].push_back(e.what.slice);
    for (std::vector<slice>& list : pieces)
      std::sort(list.begin(), list.end(), [](const slice& a, const slice& b) {
        return std::pair(a.sequence, a.begin) < std::pair(b.sequence, b.begin);
      });
    EXPECT_EQ(pieces[0], pieces[1]);
  }
}

TEST(Packflow, TellsEachSequenceOnceWhenItsForwardAndItsBackwardAreDone) {
  const noted_step step;
  std::vector<sequence_id> all;
  for (std::uint32_t i = 0; i < step.p.lengths.size(); ++i) all.push_back({i});
  for (diary stage : step.stages) {
    std::sort(stage.forwarded.begin(), stage.forwarded.end());
    std::sort(stage.done.begin(), stage.done.end());
    EXPECT_EQ(stage.forwarded, all);
    EXPECT_EQ(stage.done, all);
  }
}

class hears_of_chunks : public diary {
 public:
  using diary::diary;
  std::vector<std::pair<sequence_id, std::uint32_t>> forwarded, done;
  void sequence_forwarded(sequence_id s, std::uint32_t chunk) { forwarded.emplace_back(s, chunk); }
  void sequence_done(sequence_id s, std::uint32_t chunk) { done.emplace_back(s, chunk); }
};

TEST(Packflow, TellsOfWhichChunkASequenceIsDone) {
  const plan p = tests::small_plan({.stages = 2, .chunks = 2, .quantum = {4}});
  std::vector<hears_of_chunks> stages = tests::stages_of<hears_of_chunks>(p);
  for (const auto& report : tests::run_everywhere(p, stages)) ASSERT_TRUE(report) << report.error().detail;
  for (hears_of_chunks& stage : stages) {
    std::vector<std::pair<sequence_id, std::uint32_t>> all;
    for (const sequence& s : stage.lengths)
      for (const std::uint32_t chunk : {0u, 1u}) all.emplace_back(s.id, chunk);
    for (auto* told : {&all, &stage.forwarded, &stage.done}) std::sort(told->begin(), told->end());
    EXPECT_EQ(stage.forwarded, all);
    EXPECT_EQ(stage.done, all);
  }
}

// So that hooks of a trainer's data parallelism reduce there, on a replica without work, too.
TEST(Packflow, MarksTheCallThatMakesTheGradientsOfAChunkFinal) {
  for (const shape& on : {shape{.stages = 3, .quantum = {4}}, shape{.stages = 2, .chunks = 2, .quantum = {4}},
                          shape{.stages = 1, .replicas = 30, .quantum = {4}}}) {
    const plan p = tests::small_plan(on);
    std::vector<diary> stages = tests::stages_of<diary>(p);
    for (const auto& report : tests::run_everywhere(p, stages)) ASSERT_TRUE(report) << report.error().detail;
    for (const diary& stage : stages) {
      std::map<std::uint32_t, std::size_t> last;  // per chunk, its last backward
      for (std::size_t at = 0; at < stage.entries.size(); ++at)
        if (stage.entries[at].direction == pass::backward) last[stage.entries[at].what.chunk] = at;
      ASSERT_EQ(last.size(), static_cast<std::size_t>(on.chunks));
      for (std::size_t at = 0; at < stage.entries.size(); ++at)
        EXPECT_EQ(stage.entries[at].what.last_of_chunk, last[stage.entries[at].what.chunk] == at) << "call " << at;
    }
  }
}

TEST(Packflow, MarksTheCallThatEndsAPack) {
  for (const shape& on : {shape{.stages = 3, .quantum = {4}}, shape{.stages = 2, .chunks = 2, .quantum = {4}}}) {
    const plan p = tests::small_plan(on);
    std::vector<diary> stages = tests::stages_of<diary>(p);
    for (const auto& report : tests::run_everywhere(p, stages)) ASSERT_TRUE(report) << report.error().detail;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      auto entry = stages[stage].entries.begin();
      const partition pieces = common_refinement(p.replicas[0].partition);
      for (const instruction& i : p.replicas[0].programs[stage])
        for (std::size_t left = pieces.of(i.pass())[i.pack.value].size(); left-- > 0; ++entry)
          EXPECT_EQ(entry->what.last_of_pack, left == 0) << "stage " << stage;
      EXPECT_EQ(entry, stages[stage].entries.end());
    }
  }
}

TEST(Packflow, WeighsPiecesByTheirValidTokens) {
  const noted_step step;
  double batch = 0;  // counted by piece: half of each, rounded up
  for (const diary::entry& e : step.stages.back().entries)
    if (e.direction == pass::forward) batch += static_cast<double>((e.what.slice.length.value + 1) / 2);
  for (const diary& stage : step.stages) {
    double sum = 0;
    EXPECT_EQ(static_cast<double>(stage.outline.valid_tokens.value), batch);
    for (const diary::entry& e : stage.entries) {
      EXPECT_EQ(e.what.loss_weight, static_cast<double>((e.what.slice.length.value + 1) / 2) / batch);
      EXPECT_EQ(e.what.sequence_length, step.p.lengths[e.what.slice.sequence.value]);
      if (e.direction == pass::forward) sum += e.what.loss_weight;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Packflow, TellsBeforeTheFirstForwardHowMuchWillBeInFlight) {
  const noted_step step;
  for (std::size_t rank = 0; rank < step.stages.size(); ++rank) {
    const diary& stage = step.stages[rank];
    EXPECT_EQ(stage.outline.stage, static_cast<int>(rank));
    EXPECT_EQ(stage.lengths.size(), step.p.lengths.size());
    std::int64_t live = 0, peak = 0, largest = 0;
    for (const diary::entry& e : stage.entries) {
      live += e.direction == pass::forward ? e.what.slice.length.value : -e.what.slice.length.value;
      peak = std::max(peak, live);
    }
    for (const pass direction : {pass::forward, pass::backward}) {
      const micropacks& packs = step.p.replicas[0].partition.of(direction);
      for (std::size_t i = 0; i < packs.size(); ++i) largest = std::max(largest, size_of(packs[i]).value);
    }
    EXPECT_EQ(stage.outline.tokens_in_flight.value, peak);
    EXPECT_EQ(stage.outline.largest_pack.value, largest);
    EXPECT_GE(stage.outline.packs_in_flight, 1u);
    EXPECT_LE(stage.outline.packs_in_flight, step.p.replicas[0].partition.forward.size());
  }
}

//           F0 F1 B0 F2 B1 B2, packs of one sequence each: two are in flight before B0, and again before B1
TEST(Packflow, CountsPacksInFlight) {
  plan p;
  p.lengths = {{4}, {4}, {4}};
  p.shape.quantum = {4};
  p.replicas.resize(1);
  replica_plan& r = p.replicas[0];
  for (std::uint32_t i = 0; i < 3; ++i) {
    r.sequences.push_back({i});
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward})
      packs->push({{i}, {0}, {4}}), packs->close();
  }
  const auto F = [](std::uint32_t i) { return instruction{instruction_kind::forward, {i}, 0}; };
  const auto B = [](std::uint32_t i) { return instruction{instruction_kind::backward, {i}, 0}; };
  r.programs = {{F(0), F(1), B(0), F(2), B(1), B(2)}};
  std::vector<diary> stages = stages_of<diary>(p);
  ASSERT_TRUE(run_everywhere(p, stages)[0]);
  EXPECT_EQ(stages[0].outline.packs_in_flight, 2u);
  EXPECT_EQ(stages[0].outline.tokens_in_flight, tokens{8});
}

TEST(Packflow, ReportsTheTokensThatThePlanPredicts) {
  const noted_step step;
  std::int64_t sum = 0;
  for (const tokens t : step.p.lengths) sum += t.value;
  for (std::size_t rank = 0; rank < step.reports.size(); ++rank) {
    const step_report& report = step.reports[rank].value();
    EXPECT_EQ(static_cast<double>(report.peak_tokens.value), step.p.replicas[0].peak_memory[rank]);
    EXPECT_EQ(report.processed.value, sum);
  }
}

TEST(Packflow, ReportsWhenEachInstructionRan) {
  const noted_step step;
  for (std::size_t rank = 0; rank < step.reports.size(); ++rank) {
    const step_report& report = step.reports[rank].value();
    ASSERT_EQ(report.timeline.size(), step.p.replicas[0].programs[rank].size());
    seconds before{};
    for (std::size_t i = 0; i < report.timeline.size(); ++i) {
      EXPECT_EQ(report.timeline[i].instruction, step.p.replicas[0].programs[rank][i]);
      EXPECT_GE(report.timeline[i].begin, before);
      EXPECT_GE(report.timeline[i].end, report.timeline[i].begin);
      before = report.timeline[i].end;
    }
    EXPECT_GE(report.elapsed, before);
    EXPECT_GE(report.step, report.elapsed);
  }
}

// Six replicas, four sequences: two replicas have no work.
TEST(Packflow, ReplicasWithoutWorkRunOnePieceOfNoWeight) {
  const std::vector<tokens> lengths{{9}, {5}, {30}, {12}};
  const plan p = tests::every_planner()[0].make({.stages = 2, .replicas = 6, .quantum = {8}}, lengths).value();
  std::vector<diary> stages = stages_of<diary>(p);
  const auto reports = run_everywhere(p, stages);
  int idle = 0;
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    ASSERT_TRUE(reports[rank]) << reports[rank].error().detail;
    EXPECT_EQ(reports[rank].value().loss_sum, prefix_model::whole(lengths, 2).loss);
    EXPECT_EQ(stages[rank].gradient()[0], prefix_model::whole(lengths, 2).weight[rank % 2]);
    if (!p.replicas[rank / 2].sequences.empty()) continue;
    ++idle;
    ASSERT_EQ(stages[rank].entries.size(), 2u);
    EXPECT_EQ(stages[rank].entries[0].what.loss_weight, 0);
    EXPECT_TRUE(stages[rank].entries[0].what.is_first() && stages[rank].entries[0].what.is_last());
    EXPECT_EQ(stages[rank].count->taken, 1);
  }
  EXPECT_EQ(idle, 4);
}

TEST(Packflow, StepsFollowEachOtherOverOneTransport) {
  const plan p = small_plan();
  std::vector<diary> stages = stages_of<diary>(p);
  transports::threads world{tests::ranks_of(p), {.time_out = {20}}};
  const std::vector<const plan*> plans(stages.size(), &p);
  const double loss = prefix_model::whole(p.lengths, 3).loss;
  for (int step = 0; step < 20; ++step) {
    for (diary& stage : stages) stage.zero();
    for (const result<step_report>& report : run_everywhere(world, plans, stages))
      EXPECT_EQ(report.value().loss_sum, loss);
  }
}

/// Hears where backward will cut, and notes where it does.
class hears_cuts : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  void begin_step(const step_outline& o) {
    told.clear();
    for (const piece& p : o.backward) told.push_back(p.slice);
  }
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
    ran.push_back(p.slice);
    return prefix_by_piece::backward(p, std::move(s), in, out);
  }
  std::vector<slice> told, ran;
};

TEST(Packflow, TellsBeforehandWhereBackwardCuts) {
  const plan p = small_plan();
  std::vector<hears_cuts> stages = stages_of<hears_cuts>(p);
  for (const result<step_report>& report : run_everywhere(p, stages, {})) ASSERT_TRUE(report);
  for (const hears_cuts& stage : stages) {
    EXPECT_TRUE(stage.told == stage.ran) << stage.told.size() << " slices told, " << stage.ran.size() << " run";
    EXPECT_GT(stage.ran.size(), 1u);
  }
  for (const result<step_report>& report : tests::evaluate_everywhere(p, stages)) ASSERT_TRUE(report);
  for (const hears_cuts& stage : stages) EXPECT_TRUE(stage.told.empty());
}

/// Memory of the trainer's own, counted.
struct own_tensor {
  std::vector<double> numbers;
  friend std::span<std::byte> as_span(own_tensor& t) { return std::as_writable_bytes(std::span(t.numbers)); }
};
class with_tensors : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  own_tensor make_tensor(tokens size) {
    ++made;
    largest = std::max(largest, size);
    return {std::vector<double>(static_cast<std::size_t>(size.value * tests::width))};
  }
  void begin_step(const step_outline& o) { told = o; }
  int made{};
  tokens largest;
  step_outline told;
};

TEST(Packflow, KeepsMessagesInTheComputesOwnTensorsAndUsesThemAgain) {
  const plan p = small_plan();
  std::vector<with_tensors> stages = stages_of<with_tensors>(p);
  const auto reports = run_everywhere(p, stages, {});
  const prefix_model::gradients expected = prefix_model::whole(p.lengths, 3);
  int made = 0;
  int messages = 0;
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    ASSERT_TRUE(reports[rank]);
    EXPECT_EQ(stages[rank].gradient()[0], expected.weight[rank]);
    EXPECT_GT(stages[rank].made, 0);
    EXPECT_EQ(stages[rank].largest, stages[rank].told.largest_pack);
    made += stages[rank].made;
    const bool is_end = rank == 0 || rank + 1 == stages.size();  // which hears one and sends none, or the other way
                                                                 // round
    messages += static_cast<int>(reports[rank].value().timeline.size()) * (is_end ? 1 : 2);
  }
  // Whoever has read a message writes the next one there. How often depends on when neighbours fetch theirs.
  EXPECT_LT(made, messages);
}

}  // namespace
}  // namespace slimpack::packflow_test
