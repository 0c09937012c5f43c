#include <slimpack/executors/packflow.hpp>

#include "diary.hpp"
#include "everywhere.hpp"
#include "prefix_model.hpp"
#include "shared_prefix_model.hpp"
#include "spread_plan.hpp"
#include "vocabulary_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::packflow_edges_test {
namespace {

using tests::evaluate_everywhere;
using tests::run_everywhere;
using tests::small_plan;

enum class fault { none, misses_one, gives_one_twice, gives_one_of_others, is_on_every_stage, fails, gives_none };

/// Has a number for each edge but those from every third token, which have no loss. It hears nothing of what a replica
/// without work runs, and gives it like all else.
class tells_edges : public prefix_in_arena<backward_cuts::any> {
 public:
  tells_edges(int stage, int stages, int chunks) : prefix_in_arena(stage, stages, chunks), last_(stages * chunks - 1) {}

  static bool is_valid(std::int64_t t) { return t % 3 != 0; }
  static double number(sequence_id s, std::int64_t target) {
    return -1 / static_cast<double>(1 + s.value * 1000 + static_cast<std::uint32_t>(target));
  }
  static std::int64_t valid_in(const slice& s) {
    std::int64_t n = 0;
    for (std::int64_t t = s.begin.value; t < s.end().value; ++t) n += is_valid(t);
    return n;
  }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return {valid_in(s)}; }
  void begin_step(const step_outline&) { edges_ = {}, is_told_ = 0; }
  result<void> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (part(p.chunk) == last_ || wrong == fault::is_on_every_stage)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t)
        if (is_valid(t)) edges_.add(p.slice.sequence, {t + 1}, number(p.slice.sequence, t + 1));
    return prefix_in_arena::forward(p, in, out);
  }
  result<void> log_probabilities(edge_values& to) {
    ++is_told_;
    if (wrong == fault::fails) return error{errc::compute_failed, "the probabilities are on fire"};
    if (wrong == fault::gives_none) return success();
    if (wrong == fault::gives_one_twice) to.add(about, {2}, -1);
    if (wrong == fault::gives_one_of_others) to.add({99}, {2}, -1);
    if (wrong == fault::misses_one) {
      edge_values all;
      std::swap(all, edges_);
      for (const edge_value& e : all.all())
        if (e.sequence != about || e.target != tokens{2}) to.add(e.sequence, e.target, e.value);
    }
    to.add(edges_);
    return success();
  }

  fault wrong{};
  sequence_id about{};
  [[nodiscard]] int is_told() const { return is_told_; }

 private:
  int last_;
  int is_told_{};
  edge_values edges_;
};

/// By (sequence, target), over all ranks, and how often each came.
std::map<std::pair<std::uint32_t, std::int64_t>, int> counted(const plan& p,
                                                              const std::vector<result<step_report>>& reports) {
  std::map<std::pair<std::uint32_t, std::int64_t>, int> times;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    EXPECT_TRUE(reports[rank]) << reports[rank].error().detail;
    const edge_values& own = reports[rank].value().log_probabilities;
    EXPECT_TRUE(own.of_step(p));
    for (const edge_value& e : own.all()) {
      EXPECT_EQ(rank % static_cast<std::size_t>(p.shape.stages) + 1, static_cast<std::size_t>(p.shape.stages));
      EXPECT_EQ(e.value, tells_edges::number(e.sequence, e.target.value));
      ++times[{e.sequence.value, e.target.value}];
    }
  }
  return times;
}

TEST(PackflowEdges, AreHandedOnOnceEachByStepsAndEvaluations) {
  std::size_t idle = 0;
  for (const shape& on : {shape{.stages = 1, .quantum = {4}}, shape{.stages = 3, .replicas = 2, .quantum = {4}},
                          shape{.stages = 2, .replicas = 2, .chunks = 2, .quantum = {3}},
                          shape{.stages = 2, .replicas = 20, .quantum = {4}}}) {
    const plan p = small_plan(on);
    for (const replica_plan& r : p.replicas) idle += r.sequences.empty();
    std::map<std::pair<std::uint32_t, std::int64_t>, int> expected;
    for (std::uint32_t s = 0; s < p.lengths.size(); ++s)
      for (std::int64_t t = 0; t < p.lengths[s].value; ++t)
        if (tells_edges::is_valid(t)) expected[{s, t + 1}] = 1;
    std::vector<tells_edges> stages = tests::one_per_rank<tells_edges>(p);
    EXPECT_EQ(counted(p, evaluate_everywhere(p, stages)), expected);
    EXPECT_EQ(counted(p, run_everywhere(p, stages)), expected);
    for (const tells_edges& stage : stages) EXPECT_EQ(stage.is_told(), 1) << "once a step, on every rank";
  }
  EXPECT_GT(idle, 0u);
}

TEST(PackflowEdges, AreNoneOfAComputeThatDoesNotOfferThem) {
  const plan p = small_plan();
  std::vector<prefix_in_arena<backward_cuts::any>> stages = tests::one_per_rank<prefix_in_arena<backward_cuts::any>>(p);
  for (const result<step_report>& one : evaluate_everywhere(p, stages)) {
    ASSERT_TRUE(one) << one.error().detail;
    EXPECT_TRUE(one.value().log_probabilities.all().empty());
    EXPECT_FALSE(one.value().log_probabilities.of_step(p));
  }
}

TEST(PackflowEdges, ThatAreWrongStopTheStepOnAllRanks) {
  const plan p = small_plan();
  const auto longest =
      static_cast<std::uint32_t>(std::max_element(p.lengths.begin(), p.lengths.end()) - p.lengths.begin());
  const std::string sequence = "sequence " + std::to_string(longest);
  // One rank goes wrong, so that no other can be first.
  const auto expect = [&](fault wrong, std::size_t rank, const std::string& cause) {
    for (const bool evaluates : {false, true}) {
      std::vector<tells_edges> stages = tests::one_per_rank<tells_edges>(p);
      stages[rank].wrong = wrong, stages[rank].about = {longest};
      const std::string where = "rank " + std::to_string(rank) + " (replica 0, stage " + std::to_string(rank) +
                                "), the end of the step: " + cause;
      for (const result<step_report>& one : evaluates ? evaluate_everywhere(p, stages) : run_everywhere(p, stages)) {
        ASSERT_FALSE(one) << cause;
        EXPECT_EQ(one.error().detail.substr(0, where.size()), where);
      }
      stages[rank].wrong = fault::none;
      for (const result<step_report>& one : evaluate_everywhere(p, stages)) EXPECT_TRUE(one) << one.error().detail;
    }
  };
  const slice first = [&] {
    for (const slice& s : p.replicas[0].partition.forward.slices())
      if (s.sequence == sequence_id{longest}) return s;
    return slice{};
  }();
  const std::string tokens_of_first = "edges from the tokens [0, " + std::to_string(first.length.value) + ") of " +
                                      sequence + ", of which valid_tokens counts ",
                    how_many =
                        std::to_string(tells_edges::valid_in(first)) + ": one edge for each (executors/hooks.hpp)";
  expect(
      fault::misses_one, 2,
      "log_probabilities gives " + std::to_string(tells_edges::valid_in(first) - 1) + " " + tokens_of_first + how_many);
  expect(fault::gives_one_twice, 2, "the edge to token 2 of " + sequence + " has two log-probabilities");
  expect(fault::gives_one_of_others, 2,
         "log_probabilities gives 1 edges from tokens that this rank has not run (executors/hooks.hpp)");
  expect(fault::gives_none, 2, "log_probabilities gives 0 edges from the tokens [");
  expect(fault::is_on_every_stage, 1, "log_probabilities gives ");
  expect(fault::fails, 0, "the probabilities are on fire");
}

// A vocabulary that is spread over the stages: the step has edges on the last stage, an evaluation says that it cannot.
class spread_edges : public vocabulary_stage<prefix_in_arena<backward_cuts::any>> {
 public:
  using vocabulary_stage::vocabulary_stage;
  void begin_step(const step_outline& o) { vocabulary_stage::begin_step(o), edges_ = {}; }
  result<void> gather_output(std::span<const piece> pack, std::span<const std::span<const std::byte>> partials,
                             outgoing& rows, outgoing& statistics) {
    for (const piece& p : pack)
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t)
        if (vocabulary_model::is_valid(p.slice.sequence, t)) edges_.add(p.slice.sequence, {t + 1}, -1);
    return vocabulary_stage::gather_output(pack, partials, rows, statistics);
  }
  void log_probabilities(edge_values& to) { to.add(edges_); }

 private:
  edge_values edges_;
};

TEST(PackflowEdges, OfASpreadVocabularyAreTheStepsAlone) {
  const plan p = tests::spread(small_plan({.stages = 3, .replicas = 2, .quantum = {4}})).value();
  std::vector<spread_edges> stages = tests::one_per_rank<spread_edges>(p);
  std::size_t found = 0, expected = 0;
  for (const result<step_report>& one : run_everywhere(p, stages)) {
    ASSERT_TRUE(one) << one.error().detail;
    found += one.value().log_probabilities.all().size();
  }
  for (std::uint32_t s = 0; s < p.lengths.size(); ++s)
    expected += static_cast<std::size_t>(vocabulary_model::valid_in({{s}, {0}, p.lengths[s]}));
  EXPECT_EQ(found, expected);
  std::vector<spread_edges> evaluate = tests::one_per_rank<spread_edges>(p);
  for (const result<step_report>& one : evaluate_everywhere(p, evaluate)) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().code, errc::invalid_input);
    EXPECT_NE(
        one.error().detail.find(
            "evaluate cannot run this plan's forward alone: the vocabulary is spread over the stages, whose calls run "
            "both passes: choose vocabulary::last. Run the step by the plan that is evaluated, too, where its "
            "log-probabilities have to be those of the evaluation, bit for bit"),
        std::string::npos)
        << one.error().detail;
  }
}

}  // namespace
}  // namespace slimpack::packflow_edges_test
