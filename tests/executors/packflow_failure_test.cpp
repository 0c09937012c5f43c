#include <slimpack/executors/packflow.hpp>

#include "diary.hpp"
#include "everywhere.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::packflow_failure_test {
namespace {

using tests::diary;
using tests::small_plan;

constexpr seconds time_out{0.5};

/// What goes wrong, on one rank.
enum class fault {
  none,
  throws,
  throws_no_exception,
  returns_error,
  misreads,
  writes_nothing,
  puts_too_little,
  hangs,
  holds_memory,
  throws_in_begin_step,
  throws_in_reduce,
  fails_in_reduce,
  throws_in_loss,
};

class faulty : public diary {
 public:
  using diary::diary;
  fault kind{};
  pass direction{};
  int at{};  // calls of that pass before the one that fails

  void begin_step(const step_outline& o) {
    diary::begin_step(o);
    if (kind == fault::throws_in_begin_step) throw std::runtime_error("no room");
  }
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    std::vector<std::byte> elsewhere(out.size());
    outgoing to = out.wanted() ? outgoing{elsewhere} : outgoing{};  // what is written there does not count
    if (direction == pass::forward && at-- == 0)
      if (result<void> fine = fail(out); !fine) return std::move(fine).error();
    return diary::forward(p, in, direction == pass::forward && at == -1 && silent() ? to : out);
  }
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
    std::vector<std::byte> elsewhere(out.size());
    outgoing to = out.wanted() ? outgoing{elsewhere} : outgoing{};
    if (direction == pass::backward && at-- == 0) {
      count->taken += kind == fault::throws || kind == fault::returns_error;
      if (result<void> fine = fail(out); !fine) return fine;
    }
    return diary::backward(p, std::move(s), in, direction == pass::backward && at == -1 && silent() ? to : out);
  }
  template <class Group>
  result<void> reduce(Group& group) {
    if (kind == fault::throws_in_reduce) throw std::runtime_error("no reduction");
    if (kind == fault::fails_in_reduce) return error{errc::compute_failed, "no reduction"};
    return diary::reduce(group);
  }
  double loss() {
    if (kind == fault::throws_in_loss) throw std::runtime_error("no loss");
    return diary::loss();
  }
  [[nodiscard]] bytes held() const { return {kind == fault::holds_memory ? 512.0 : 0.0}; }

 private:
  [[nodiscard]] bool silent() const { return kind == fault::writes_nothing || kind == fault::puts_too_little; }

  result<void> fail(outgoing& out) {
    switch (kind) {
      case fault::throws:
        throw std::runtime_error("layer 7 is on fire");
      case fault::throws_no_exception:
        throw 7;
      case fault::returns_error:
        return error{errc::compute_failed, "layer 7 is on fire"};
      case fault::misreads:
        (void)as<std::array<char, 1021>>(out.bytes());
        break;  // a message is of doubles
      case fault::puts_too_little:
        return (void)out.put(std::vector<double>(1)), success();
      case fault::hangs:
        std::this_thread::sleep_for(std::chrono::duration<double>(3 * time_out.value));
        break;
      default:
        break;
    }
    return success();
  }
};

struct failing_step {
  const char* name;
  fault kind;
  std::size_t rank;
  pass direction;
  int at;
  std::string where;  // in every rank's message
  std::string cause;
  friend std::ostream& operator<<(std::ostream& out, const failing_step& s) { return out << s.name; }
};

class PackflowFailure : public ::testing::TestWithParam<failing_step> {};

TEST_P(PackflowFailure, StopsEveryRankWithOneMessageAndLeavesNothingBehind) {
  const failing_step& f = GetParam();
  const plan p = small_plan({.stages = 3, .replicas = 2, .quantum = {4}});
  transports::threads world{6, {.time_out = time_out}};
  std::vector<faulty> stages = tests::stages_of<faulty>(p);
  stages[f.rank].kind = f.kind;
  stages[f.rank].direction = f.direction;
  stages[f.rank].at = f.at;
  std::vector<std::string> messages(6), sinks(6);
  std::vector<double> took(6);
  int thrown = 0;
  tests::on_every_rank(6, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    auto endpoint = world.endpoint(rank);
    const executors::packflow run{.sink = [&](std::string_view line) { sinks[at] += line; }};
    const auto begin = std::chrono::steady_clock::now();
    try {
      const result<step_report> step = run.execute(p, stages[at], endpoint);
      messages[at] = step ? "no error" : step.error().detail;
    } catch (const std::runtime_error&) {
      ++thrown, messages[at] = sinks[at];
    } catch (int) {
      ++thrown, messages[at] = sinks[at];
    }
    took[at] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  const bool throws = f.kind == fault::throws || f.kind == fault::throws_no_exception || f.kind == fault::misreads ||
                      f.kind == fault::throws_in_begin_step || f.kind == fault::throws_in_reduce ||
                      f.kind == fault::throws_in_loss;
  EXPECT_EQ(thrown, throws ? 1 : 0);
  for (std::size_t rank = 0; rank < 6; ++rank) {
    // Of a rank that hangs, several others may tire at the same time; each then tells of its own wait.
    EXPECT_TRUE(f.kind == fault::hangs || messages[rank] == messages[0]) << "rank " << rank << ": " << messages[rank];
    EXPECT_NE(messages[rank].find(f.cause), std::string::npos) << messages[rank];
    EXPECT_EQ(sinks[rank], messages[rank]) << "rank " << rank;
    EXPECT_EQ(stages[rank].aborts, 1) << "rank " << rank;
    EXPECT_EQ(stages[rank].count->taken + stages[rank].count->discarded, stages[rank].count->made) << "rank " << rank;
    EXPECT_LT(took[rank], 3.5 * time_out.value) << "rank " << rank;
  }
  EXPECT_NE(messages[0].find(f.where), std::string::npos) << messages[0];

  // The trainer may go on: the next step over the same transport is exact.
  for (faulty& stage : stages) stage.kind = fault::none, stage.zero();
  const prefix_model::gradients expected = prefix_model::whole(p.lengths, 3);
  const auto reports = tests::run_everywhere(world, std::vector<const plan*>(6, &p), stages);
  for (std::size_t rank = 0; rank < 6; ++rank) {
    ASSERT_TRUE(reports[rank]) << reports[rank].error().detail;
    EXPECT_EQ(stages[rank].gradient()[0], expected.weight[rank % 3]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Causes, PackflowFailure,
    ::testing::Values(failing_step{"forward_throws", fault::throws, 1, pass::forward, 3,
                                   "rank 1 (replica 0, stage 1), F", "): layer 7 is on fire"},
                      failing_step{"backward_throws", fault::throws, 5, pass::backward, 2,
                                   "rank 5 (replica 1, stage 2), B", "): layer 7 is on fire"},
                      failing_step{"first_forward_throws", fault::throws, 0, pass::forward, 0,
                                   "rank 0 (replica 0, stage 0), F0", "): layer 7 is on fire"},
                      failing_step{"throws_a_number", fault::throws_no_exception, 2, pass::forward, 1,
                                   "rank 2 (replica 0, stage 2), F", "): an exception that is no std::exception"},
                      failing_step{"forward_fails", fault::returns_error, 3, pass::forward, 4,
                                   "rank 3 (replica 1, stage 0), F", "): layer 7 is on fire"},
                      failing_step{"backward_fails", fault::returns_error, 4, pass::backward, 1,
                                   "rank 4 (replica 1, stage 1), B", "): layer 7 is on fire"},
                      failing_step{"misreads_a_message", fault::misreads, 1, pass::forward, 2,
                                   "rank 1 (replica 0, stage 1), F",
                                   " bytes of a message are no whole number of elements of 1021 bytes"},
                      failing_step{"no_activations", fault::writes_nothing, 0, pass::forward, 2,
                                   "rank 0 (replica 0, stage 0), F", "): nothing was written"},
                      failing_step{"no_input_gradient", fault::writes_nothing, 2, pass::backward, 2,
                                   "rank 2 (replica 0, stage 2), B", "): nothing was written"},
                      failing_step{"short_activations", fault::puts_too_little, 1, pass::forward, 2,
                                   "rank 1 (replica 0, stage 1), F", "8 bytes were given"},
                      failing_step{"short_gradient", fault::puts_too_little, 5, pass::backward, 0,
                                   "rank 5 (replica 1, stage 2), B", "8 bytes were given"},
                      failing_step{"hangs", fault::hangs, 1, pass::forward, 3, "rank ", " waited 0.5 s for "},
                      failing_step{"holds_memory", fault::holds_memory, 4, pass::forward, 0,
                                   "rank 4 (replica 1, stage 1), the end of its program", "still holds 512 bytes"},
                      failing_step{"begin_step_throws", fault::throws_in_begin_step, 1, pass::forward, 0,
                                   "rank 1 (replica 0, stage 1), begin_step", "no room"},
                      failing_step{"reduce_throws", fault::throws_in_reduce, 2, pass::forward, 0,
                                   "rank 2 (replica 0, stage 2), the gradient reduction", "no reduction"},
                      failing_step{"reduce_fails", fault::fails_in_reduce, 2, pass::forward, 0,
                                   "rank 2 (replica 0, stage 2), the gradient reduction", "no reduction"},
                      failing_step{"loss_throws", fault::throws_in_loss, 2, pass::forward, 0,
                                   "rank 2 (replica 0, stage 2), the end of the step", "no loss"}),
    [](const auto& each) { return std::string(each.param.name); });

/// Fails on the second chunk: a sequence that ends, or a pack.
class fails_on_a_chunk : public diary {
 public:
  using diary::diary;
  bool throws{};
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
    result<void> fine = diary::backward(p, std::move(s), in, out);
    if (p.chunk == 1 && throws) throw std::runtime_error("layer 7 is on fire");
    if (p.chunk == 1) return error{errc::compute_failed, "layer 7 is on fire"};
    return fine;
  }
};

// The same sentence for what is thrown and for what is returned.
TEST(PackflowErrors, NameRankReplicaStageChunkSequenceAndPieceInTheTrainersNumbers) {
  const plan p = small_plan({.stages = 2, .chunks = 2, .quantum = {4}});
  std::string told[2];
  for (const bool throws : {false, true}) {
    std::vector<fails_on_a_chunk> stages = tests::stages_of<fails_on_a_chunk>(p);
    for (fails_on_a_chunk& stage : stages) stage.throws = throws;
    transports::threads world{2, {.time_out = time_out}};
    std::vector<std::string> sinks(2);
    tests::on_every_rank(2, [&](int rank) {
      auto endpoint = world.endpoint(rank);
      const auto at = static_cast<std::size_t>(rank);
      const executors::packflow run{.sink = [&](std::string_view line) { sinks[at] = line; },
                                    .trainer_rank = [](int of) { return 70 + of; }};
      try {
        EXPECT_FALSE(run.execute(p, stages[at], endpoint));
      } catch (const std::runtime_error&) {
      }
    });
    const fails_on_a_chunk& failed = stages[1];  // the last part is of stage 1, and is the first to run backward
    ASSERT_FALSE(failed.entries.empty());
    const slice& last = failed.entries.back().what.slice;
    told[throws] = sinks[0];
    EXPECT_EQ(sinks[0], sinks[1]);
    EXPECT_EQ(sinks[0], "rank 71 (replica 0, stage 1, chunk 1), B0.1: sequence " + std::to_string(last.sequence.value) +
                            " [" + std::to_string(last.begin.value) + ", " + std::to_string(last.end().value) +
                            "): layer 7 is on fire");
  }
  EXPECT_EQ(told[0], told[1]);
}

class fails_by_pack : public prefix_by_pack {
 public:
  using prefix_by_pack::prefix_by_pack;
  using state = prefix_by_pack::state;
  std::vector<piece> last;
  result<void> forward(std::span<const piece> pack, std::span<state> states, std::span<const std::byte> in,
                       outgoing& out) {
    last.assign(pack.begin(), pack.end());
    if (pack.size() > 1) return error{errc::compute_failed, "layer 7 is on fire"};
    return prefix_by_pack::forward(pack, states, in, out);
  }
};

TEST(PackflowErrors, NameTheFirstPieceOfAPackAndHowManyMore) {
  const plan p = small_plan({.stages = 1, .quantum = {4}});
  std::vector<fails_by_pack> stages = tests::stages_of<fails_by_pack>(p);
  const auto reports = tests::run_everywhere(p, stages);
  ASSERT_FALSE(reports[0]);
  const slice& first = stages[0].last.at(0).slice;
  const std::string expected = ": sequence " + std::to_string(first.sequence.value) + " [" +
                               std::to_string(first.begin.value) + ", " + std::to_string(first.end().value) + ") and " +
                               std::to_string(stages[0].last.size() - 1) + " more: layer 7 is on fire";
  EXPECT_NE(reports[0].error().detail.find(expected), std::string::npos)
      << reports[0].error().detail << ", not" << expected;
}

/// What ranks answer who disagree before they begin. None may run anything.
struct disagreement {
  plan first = small_plan();
  std::vector<const plan*> plans{&first, &first, &first};
  std::vector<diary> stages = tests::stages_of<diary>(first);

  void refused_with(const std::string& message) {
    transports::threads world{3, {.time_out = time_out}};
    for (const result<step_report>& step : tests::run_everywhere(world, plans, stages)) {
      ASSERT_FALSE(step);
      EXPECT_NE(step.error().detail.find(message), std::string::npos) << step.error().detail;
    }
    for (const diary& stage : stages) EXPECT_TRUE(stage.entries.empty());
  }
};

TEST(PackflowDisagreement, RanksWithDifferentPlansDoNotBegin) {
  disagreement d;
  plan other = d.first;
  other.step_time += seconds{1e-9};
  d.plans[2] = &other;
  d.refused_with("ranks 0 and 2 hold different plans: ");
}

TEST(PackflowDisagreement, RanksWithDifferentWidthsDoNotBegin) {
  disagreement d;
  d.stages[1] = diary(1, 3, 1, 5);
  d.refused_with("ranks 0 and 1 hold different message widths: 3 and 5");
}

TEST(PackflowDisagreement, RanksThatShareASequenceDoNotBegin) {
  disagreement d;
  plan shared = d.first;
  shared.merges = {{shared.replicas[0].sequences[0], {0, 1}, {}, {}}};
  shared.hash = hash_of(shared);
  for (auto& p : d.plans) p = &shared;
  d.refused_with(
      "is shared by 2 replicas by exchange::keep, the compute does not say shares_rows = true: plan with "
      "planner_for<its type> (planner_for.hpp)");
}

class single_precision : public prefix_by_piece {
 public:
  single_precision(int stage, int stages, int chunks, std::int64_t width)
      : prefix_by_piece(stage, stages, chunks, width), stage_(stage) {}
  [[nodiscard]] message_format format() const {
    return {prefix_by_piece::format().width, stage_ == 2 ? element_type::float32 : element_type::float64};
  }

 private:
  int stage_;
};

TEST(PackflowDisagreement, RanksWithDifferentElementTypesDoNotBegin) {
  const plan p = small_plan();
  std::vector<single_precision> stages = tests::stages_of<single_precision>(p);
  for (const result<step_report>& step : tests::run_everywhere(p, stages)) {
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().detail, "ranks 0 and 2 hold different element types: float64 and float32");
  }
}

TEST(PackflowDisagreement, RanksAtDifferentStepsDoNotBegin) {
  const plan p = small_plan();
  std::vector<diary> stages = tests::stages_of<diary>(p);
  transports::threads world{3, {.time_out = time_out}};
  tests::on_every_rank(3, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const result<step_report> step =
        executors::packflow{.step = rank == 1 ? 6 : 5}.execute(p, stages[static_cast<std::size_t>(rank)], endpoint);
    EXPECT_EQ(step.error().detail, "ranks 0 and 1 hold different steps: 5 and 6");
  });
}

TEST(PackflowDisagreement, ComputesThatCutBackwardDifferentlyDoNotBegin) {
  const plan p = small_plan({.stages = 2, .quantum = {4}});
  transports::threads world{2, {.time_out = time_out}};
  tests::on_every_rank(2, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    prefix_in_arena<backward_cuts::any> anywhere(0, 2, 1, tests::width);
    prefix_in_arena<backward_cuts::forward_cuts> pieces(1, 2, 1, tests::width);
    const result<step_report> step = rank == 0 ? executors::packflow{}.execute(p, anywhere, endpoint)
                                               : executors::packflow{}.execute(p, pieces, endpoint);
    EXPECT_EQ(step.error().detail, "ranks 0 and 1 hold different kinds of backward cuts: any and forward_cuts");
  });
}

/// Knows no virtual stages.
struct one_chunk {
  message_format format() const { return {1, element_type::float64}; }
  void forward(const piece&, std::span<const std::byte>, outgoing& out) { (void)out.bytes(); }
  void backward(const piece&, std::span<const std::byte>, outgoing& out) { (void)out.bytes(); }
  void discard(const piece&) {}
};

TEST(PackflowDisagreement, AComputeWithoutChunksRunsNoPlanWithThem) {
  const std::vector<tokens> lengths{{8}, {8}};
  const plan p = tests::every_planner()[1].make({.chunks = 2, .quantum = {4}}, lengths).value();
  std::vector<one_chunk> stages(1);
  const std::string said = tests::run_everywhere(p, stages)[0].error().detail;
  EXPECT_NE(said.find("the plan has 2 chunks a stage, the compute says nothing of chunks"), std::string::npos) << said;
}

/// Sums gradients in a bucket that ends with the call, as hooks do; one rank comes too late.
class sums_a_bucket : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  bool late{};
  template <class Group>
  result<void> reduce(Group& group) {
    if (late) std::this_thread::sleep_for(std::chrono::duration<double>(2 * time_out.value));
    std::vector<double> bucket(5000);
    return group.sum(std::span<double>(bucket));
  }
};

TEST(Packflow, NoMessageUsesABucketWhoseSumHasFailed) {
  const plan p = small_plan({.stages = 1, .replicas = 2, .quantum = {4}});
  std::vector<sums_a_bucket> stages = tests::stages_of<sums_a_bucket>(p);
  stages[1].late = true;
  transports::threads world{2, {.time_out = time_out}};
  for (const result<step_report>& step : tests::run_everywhere(world, {&p, &p}, stages)) EXPECT_FALSE(step);
}

/// Takes no notice of a sum that failed.
class ignores_its_sum : public sums_a_bucket {
 public:
  using sums_a_bucket::sums_a_bucket;
  template <class Group>
  result<void> reduce(Group& group) {
    (void)sums_a_bucket::reduce(group);
    return success();
  }
};

TEST(Packflow, AStepWhoseSumFailedFailsWhateverTheComputeMakesOfIt) {
  const plan p = small_plan({.stages = 1, .replicas = 2, .quantum = {4}});
  std::vector<ignores_its_sum> stages = tests::stages_of<ignores_its_sum>(p);
  stages[1].late = true;
  transports::threads world{2, {.time_out = time_out}};
  for (const result<step_report>& step : tests::run_everywhere(world, {&p, &p}, stages)) EXPECT_FALSE(step);
  stages[1].late = false;
  for (const result<step_report>& step : tests::run_everywhere(world, {&p, &p}, stages)) EXPECT_TRUE(step);
}

/// Throws where a sum has failed, as a trainer's own check of it does.
class checks_its_sum : public sums_a_bucket {
 public:
  using sums_a_bucket::sums_a_bucket;
  template <class Group>
  result<void> reduce(Group& group) {
    if (!sums_a_bucket::reduce(group)) throw std::runtime_error("CHECK failed: the sum");
    return success();
  }
};

// Why the sum failed is the cause, and what the check throws hides it on no rank.
TEST(Packflow, WhatIsThrownBecauseTheStepHasFailedIsNotTheCause) {
  const plan p = small_plan({.stages = 1, .replicas = 2, .quantum = {4}});
  std::vector<checks_its_sum> stages = tests::stages_of<checks_its_sum>(p);
  stages[1].late = true;
  transports::threads world{2, {.time_out = time_out}};
  for (const result<step_report>& step : tests::run_everywhere(world, {&p, &p}, stages)) {
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().detail.find("CHECK"), std::string::npos) << step.error().detail;
    EXPECT_NE(step.error().detail.find(" waited "), std::string::npos) << step.error().detail;
  }
}

/// Throws while it is given its pieces back.
class throws_in_discard : public diary {
 public:
  using diary::diary;
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (entries.size() == 3 && part(0) == 1 && aborts == 0) return error{errc::compute_failed, "layer 7 is on fire"};
    return diary::forward(p, in, out);
  }
  void discard(const piece&, state) { throw std::runtime_error("cannot discard"); }
};

TEST(Packflow, ACallbackThatThrowsWhileAStepIsStoppedStopsItOnlyOnce) {
  const plan p = small_plan();
  std::vector<throws_in_discard> stages = tests::stages_of<throws_in_discard>(p);
  transports::threads world{3, {.time_out = time_out}};
  for (int step = 0; step < 3; ++step) {  // the first fails, the others must not hear of it
    for (throws_in_discard& stage : stages) stage.zero();
    tests::on_every_rank(3, [&](int rank) {
      auto endpoint = world.endpoint(rank);
      throws_in_discard& stage = stages[static_cast<std::size_t>(rank)];
      try {
        EXPECT_EQ(static_cast<bool>(executors::packflow{}.execute(p, stage, endpoint)), step > 0);
      } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "cannot discard");
        EXPECT_EQ(step, 0);
      }
      EXPECT_EQ(stage.aborts, 1);
    });
  }
}

/// Calls packflow from one of its own calls, over the same transport, and goes on whatever that says.
class calls_back : public diary {
 public:
  using diary::diary;
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    if (entries.empty()) {
      diary other(0, 3, 1);
      said.push_back(again->execute(*of, other, *over).error());
      said.push_back(again->evaluate(*of, other, *over).error());
    }
    return diary::forward(p, in, out);
  }
  const executors::packflow* again{};
  const plan* of{};
  transports::threads::port* over{};
  std::vector<error> said;
};

TEST(Packflow, RefusesAComputeThatCallsItBack) {
  const plan p = small_plan();
  std::vector<calls_back> stages = tests::stages_of<calls_back>(p);
  transports::threads world{3, {.time_out = {20}}};
  std::vector<result<step_report>> reports(3, error{});
  for (int step = 0; step < 2; ++step) {  // the thread may run another step when the first has ended
    for (calls_back& stage : stages) stage.zero(), stage.entries.clear(), stage.said.clear();
    tests::on_every_rank(3, [&](int rank) {
      auto endpoint = world.endpoint(rank);
      const executors::packflow run;
      calls_back& stage = stages[static_cast<std::size_t>(rank)];
      stage.again = &run, stage.of = &p, stage.over = &endpoint;
      reports[static_cast<std::size_t>(rank)] = run.execute(p, stage, endpoint);
    });
    tests::expect_uncut(p, reports, stages, "called back");
    for (const calls_back& stage : stages) {
      ASSERT_EQ(stage.said.size(), 2u);
      for (const error& e : stage.said) {
        EXPECT_EQ(e.code, errc::out_of_order);
        EXPECT_NE(e.detail.find("packflow is called from within a call of a compute that it runs"), std::string::npos)
            << e.detail;
      }
    }
  }
}

/// Counts as it is told, and says that it holds as much as it is told.
class miscounts : public diary {
 public:
  using diary::diary;
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return valid ? *valid : s.length; }
  [[nodiscard]] bytes held() const { return holds; }
  std::optional<tokens> valid;
  bytes holds;
};

// Sums of counts would overflow, or give weights that are none.
TEST(Packflow, RefusesCountsOfTokensThatAPieceHasNot) {
  const plan p = small_plan();
  for (const std::int64_t count : {std::numeric_limits<std::int64_t>::max(), std::int64_t{1000000}, std::int64_t{-1},
                                   std::numeric_limits<std::int64_t>::min()}) {
    std::vector<miscounts> stages = tests::stages_of<miscounts>(p);
    stages[2].valid = tokens{count};
    for (const result<step_report>& step : tests::run_everywhere(p, stages)) {
      ASSERT_FALSE(step);
      EXPECT_NE(step.error().detail.find("rank 2 (replica 0, stage 2), agreeing on the plan: valid_tokens counts " +
                                         std::to_string(count) + " of the "),
                std::string::npos)
          << step.error().detail;
    }
  }
}

TEST(Packflow, SaysWhatAComputeHoldsThatIsNoNumberOfBytes) {
  const plan p = small_plan();
  const std::pair<double, const char*> said[]{
      {std::numeric_limits<double>::quiet_NaN(),
       "says that it holds nan bytes after the last backward: held() is 0 then, or more"},
      {-8, "says that it holds -8 bytes after the last backward: held() is 0 then, or more"},
      {std::numeric_limits<double>::infinity(), "still holds inf bytes"},
      {0.5, "still holds 0.5 bytes"},
      {1e300, "still holds 1e+300 bytes"},
      {512, "still holds 512 bytes after the last backward"}};
  for (const auto& [holds, sentence] : said) {
    std::vector<miscounts> stages = tests::stages_of<miscounts>(p);
    stages[0].holds = {holds};
    for (const result<step_report>& step : tests::run_everywhere(p, stages)) {
      ASSERT_FALSE(step);
      EXPECT_NE(step.error().detail.find(sentence), std::string::npos) << step.error().detail;
    }
  }
}

/// Messages that lie within the tensor, which must therefore stay where it is.
struct inline_tensor {
  std::array<double, 1024> numbers;
  friend std::span<std::byte> as_span(inline_tensor& t) { return std::as_writable_bytes(std::span(t.numbers)); }
};
class with_inline_tensors : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  inline_tensor make_tensor(tokens) { return {}; }
};

TEST(Packflow, LeavesTensorsWhereTheyAreWhileMessagesUseThem) {
  const plan p = small_plan();
  std::vector<with_inline_tensors> stages = tests::stages_of<with_inline_tensors>(p);
  const auto reports = tests::run_everywhere(p, stages);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(reports[rank]) << reports[rank].error().detail;
    EXPECT_EQ(stages[rank].gradient()[0], prefix_model::whole(p.lengths, 3).weight[rank]);
  }
}

TEST(PackflowDisagreement, APlanForOtherRanksDoesNotBegin) {
  const plan p = small_plan({.stages = 2, .quantum = {4}});
  disagreement d;
  d.plans = {&p, &p, &p};
  d.refused_with("the plan is for 2 ranks (1 replicas of 2 stages), this is one of 3");
}

/// A plan that was changed after it was planned, on every rank alike: none begins, and the rank that is wrong says
/// what. Another may say that it finds no order of all transfers.
void refuses(plan p, const std::string& message) {
  disagreement d;
  d.plans.assign(3, &p);
  transports::threads world{3, {.time_out = time_out}};
  std::string told;
  for (const result<step_report>& step : tests::run_everywhere(world, d.plans, d.stages)) {
    ASSERT_FALSE(step);
    told += step.error().detail + '\n';
  }
  EXPECT_NE(told.find(message), std::string::npos) << told;
  for (const diary& stage : d.stages) EXPECT_TRUE(stage.entries.empty());
}

TEST(PackflowOrder, RefusesABackwardBeforeItsForward) {
  plan p = small_plan();
  program& code = p.replicas[0].programs[2];
  const auto first =
      std::find_if(code.begin(), code.end(), [](const instruction& i) { return i.pass() == pass::backward; });
  std::rotate(code.begin(), first, first + 1);
  refuses(p, "reading the plan: replica 0, stage 2: B0 would run before F");
}

TEST(PackflowOrder, RefusesPacksOutOfTheirOrder) {
  plan p = small_plan();
  std::swap(p.replicas[0].programs[1][0], p.replicas[0].programs[1][1]);
  refuses(p, "F1 stands where pack 0 of ");
}

TEST(PackflowOrder, RefusesAProgramThatEndsEarly) {
  plan p = small_plan();
  p.replicas[0].programs[0].pop_back();
  refuses(p, "replica 0, stage 0: the program has ");
}

TEST(PackflowOrder, RefusesSlicesOutOfTheirOrder) {
  plan p = small_plan();
  const micropacks packs = std::exchange(p.replicas[0].partition.backward, {});
  for (std::size_t i = packs.size(); i-- > 0;) {
    for (const slice& s : packs[i]) p.replicas[0].partition.backward.push(s);
    p.replicas[0].partition.backward.close();
  }
  refuses(p, ", where what ends at token ");
}

TEST(PackflowOrder, RefusesAPlanThatLeavesTokensOut) {
  plan p = small_plan();
  p.lengths[0] += tokens{4};
  refuses(p, " forward: each token must run once");
}

}  // namespace
}  // namespace slimpack::packflow_failure_test
