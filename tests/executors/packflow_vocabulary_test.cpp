#include <slimpack/core/plan_hash.hpp>
#include <slimpack/executors/packflow.hpp>
#include <slimpack/testing/detail/random_sharers.hpp>

#include "../laws/cases.hpp"
#include "everywhere.hpp"
#include "one_at_a_time.hpp"
#include "shared_prefix_model.hpp"
#include "spread_plan.hpp"
#include "vocabulary_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::packflow_vocabulary_test {
namespace {

/// Gradients and loss of a rank, one after the other.
template <class Compute>
std::vector<double> found_by(const Compute& stage) {
  std::vector<double> all(stage.gradient().begin(), stage.gradient().end());
  for (const std::vector<double>* const each : {&stage.embedding, &stage.output_layer})
    all.insert(all.end(), each->begin(), each->end());
  return all;
}
template <class Compute>
std::vector<double> expected_of(const Compute& stage, const vocabulary_model::gradients& whole) {
  std::vector<double> all;
  for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(stage.chunks()); ++chunk)
    for (int k = 0; k < Compute::layers; ++k)
      all.push_back(whole.layers[static_cast<std::size_t>(stage.part(chunk) * Compute::layers + k)]);
  for (const std::vector<double>* const each : {&whole.embedding, &whole.output})
    all.insert(all.end(), each->begin() + stage.first_word(),
               each->begin() + stage.first_word() + static_cast<std::ptrdiff_t>(stage.embedding.size()));
  return all;
}

/// |found - expected| / |expected|
double distance(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return 1;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

struct tally {
  int steps{}, asymmetric{}, shared{}, apart{}, absent{}, idle{};
  double worst_gradients{}, worst_loss{};

  void count(const plan& p) {
    ++steps;
    shared += !p.merges.empty();
    for (const merge& m : p.merges)
      for (const pass way : both_passes)
        for (const auto& row : m.of(way)) absent += static_cast<int>(std::count(row.begin(), row.end(), merge::none));
    bool is_asymmetric = false, is_apart = false;
    for (const replica_plan& r : p.replicas) {
      is_asymmetric |= r.partition.forward.size() != r.partition.backward.size();
      is_apart |= r.times.apart.count() > 0;
      idle += r.sequences.empty();
    }
    asymmetric += is_asymmetric, apart += is_apart;
  }
  void print(std::string_view what) const {
    std::printf(
        "%.*s: %d steps, %d of asymmetric plans, %d shared, sharers without tokens of a row %d times, %d with weight "
        "gradients apart, %d idle replicas; largest relative error of gradients %.2g, of losses %.2g\n",
        static_cast<int>(what.size()), what.data(), steps, asymmetric, shared, absent, apart, idle, worst_gradients,
        worst_loss);
  }
};

/// Runs a plan over a transport, and compares with whole sequences and a whole vocabulary. Gives what each rank found.
template <class Compute, class World>
std::vector<std::vector<double>> run(const plan& p, World&& world, tally& seen, const std::string& what) {
  std::vector<Compute> stages = tests::one_per_rank<Compute>(p);
  const auto reports = tests::run_everywhere(world, std::vector<const plan*>(stages.size(), &p), stages);
  const vocabulary_model::gradients whole = vocabulary_model::whole(p.lengths, p.shape.parts() * Compute::layers);
  std::vector<std::vector<double>> found;
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    EXPECT_TRUE(reports[rank]) << reports[rank].error().detail << ", rank " << rank << ", " << what;
    if (!reports[rank]) return {};
    const double error = distance(found_by(stages[rank]), expected_of(stages[rank], whole));
    const double loss_error = std::abs(reports[rank].value().loss_sum / whole.loss - 1);
    EXPECT_LT(error, 1e-11) << "rank " << rank << ", " << what;
    EXPECT_LT(loss_error, 1e-13) << "rank " << rank << ", " << what;
    EXPECT_EQ(stages[rank].held(), bytes{}) << what;
    seen.worst_gradients = std::max(seen.worst_gradients, error);
    seen.worst_loss = std::max(seen.worst_loss, loss_error);
    found.push_back(found_by(stages[rank]));
    found.back().push_back(reports[rank].value().loss_sum);
  }
  seen.count(p);
  return found;
}

/// Over threads, and over a transport that moves one message at a time; both give the same bits.
template <class Compute>
void run_both_ways(const plan& p, int seed, tally& seen, const std::string& what) {
  const auto threads = run<Compute>(p, transports::threads{tests::ranks_of(p), {.time_out = {20}}}, seen, what);
  const auto one_by_one =
      run<Compute>(p, tests::one_at_a_time(tests::ranks_of(p), static_cast<std::uint64_t>(seed)), seen, what);
  EXPECT_EQ(threads, one_by_one) << what;
}

template <class Compute>
class PackflowVocabulary : public ::testing::Test {};
using forms =
    ::testing::Types<vocabulary_stage<prefix_by_piece>, vocabulary_stage<prefix_by_pack>,
                     vocabulary_stage<prefix_in_arena<backward_cuts::any>>,
                     vocabulary_stage<prefix_splitting<backward_cuts::any, false>>,
                     vocabulary_stage<prefix_splitting<backward_cuts::forward_cuts, true>>,
                     vocabulary_stage<shared_prefix_stage<backward_cuts::any>>,
                     vocabulary_stage<shared_prefix_graphs<false>>, vocabulary_stage<shared_prefix_graphs<true>>>;
TYPED_TEST_SUITE(PackflowVocabulary, forms);

/// Planners of layers whose plans a compute can run.
template <class Compute>
std::vector<tests::named_planner> planners_for() {
  std::vector<tests::named_planner> planners = tests::every_planner();
  const std::vector<tests::named_planner> more = detail::shares_rows<Compute> ? tests::sharing_planners()
                                                 : detail::splits_weight_gradients<Compute>
                                                     ? tests::splitting_planners()
                                                     : std::vector<tests::named_planner>{};
  planners.insert(planners.end(), more.begin(), more.end());
  return planners;
}

TYPED_TEST(PackflowVocabulary, GivesTheGradientsOfUncutSequencesWithTheVocabularyInOnePlace) {
  tally seen;
  int k = 0;
  for (int seed = 1; seed <= tests::steps(2); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 6)};
    std::vector<tokens> lengths =
        tests::awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 10)));
    if (detail::shares_rows<TypeParam>) lengths.push_back({random.between(120, 200)});
    for (const tests::named_planner& planner : planners_for<TypeParam>())
      for (const int stages : {2, 3, 4}) {
        const shape on{.stages = stages,
                       .replicas = static_cast<int>(random.between(1, 3)),
                       .chunks = 1 + (stages + seed) % 2,
                       .quantum = quantum};
        if (!tests::is_tried(k++)) continue;
        result<plan> layers = planner.make(on, lengths);
        if (!layers && on.chunks > 1) continue;  // list is for one chunk
        ASSERT_TRUE(layers) << layers.error().detail;
        const result<plan> p = tests::spread(layers.value());
        ASSERT_TRUE(p) << p.error().detail;
        const std::string what = std::string(planner.name) + ", p " + std::to_string(stages) + ", dp " +
                                 std::to_string(on.replicas) + ", v " + std::to_string(on.chunks) + ", seed " +
                                 std::to_string(seed);
        run_both_ways<TypeParam>(p.value(), seed, seen, what);
        if (this->HasFailure()) return;
      }
  }
  seen.print("the vocabulary spread over stages");
  EXPECT_GT(seen.asymmetric, seen.steps / 8);
  EXPECT_EQ(seen.shared > 0, detail::shares_rows<TypeParam>);
  EXPECT_EQ(seen.apart > 0, detail::splits_weight_gradients<TypeParam>);
}

// Plans whose search knew of the vocabulary, among them of weight gradients apart.
TEST(PackflowVocabularyPlan, RunsWhatASearchWithASpreadVocabularyFinds) {
  using splitting = vocabulary_stage<prefix_splitting<backward_cuts::any, true>>;
  tally seen;
  int k = 0;
  for (int seed = 1; seed <= tests::steps(2); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const tokens quantum{random.between(1, 6)};
    const std::vector<tokens> lengths =
        tests::awkward_lengths(random, quantum, static_cast<std::size_t>(random.between(4, 10)));
    for (const tests::named_planner& planner : tests::spreading_planners())
      for (const int stages : {2, 3, 4}) {
        const shape on{.stages = stages,
                       .replicas = static_cast<int>(random.between(1, 2)),
                       .chunks = 1 + (stages + seed) % 2,
                       .quantum = quantum};
        if (!tests::is_tried(k++)) continue;
        const result<plan> p = planner.make(on, lengths);
        ASSERT_TRUE(p) << p.error().detail << ", " << planner.name << ", p " << stages << ", seed " << seed;
        run_both_ways<splitting>(
            p.value(), seed, seen,
            std::string(planner.name) + ", p " + std::to_string(stages) + ", seed " + std::to_string(seed));
      }
  }
  seen.print("searched with a spread vocabulary");
  EXPECT_GT(seen.apart, 0);
}

// Rows of which some sharers have nothing, in random packs, by all exchanges.
TEST(PackflowVocabularyPlan, RunsRandomPacksOfSharedSequences) {
  tally seen;
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(2, 4)),
                   .replicas = static_cast<int>(random.between(2, 3)),
                   .quantum = {random.between(1, 4)}};
    std::vector<tokens> lengths{{random.between(30, 60)}};
    for (int i = 0; i < 3; ++i) lengths.push_back({random.between(1, 24)});
    solution given = testing::random_sharers(lengths, on, random);
    random.shuffle(given.merges);
    const result<plan> p = tests::spread(on, lengths, given);
    ASSERT_TRUE(p) << p.error().detail << ", seed " << seed;
    run_both_ways<vocabulary_stage<shared_prefix_stage<backward_cuts::any>>>(p.value(), seed, seen,
                                                                             "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
  seen.print("random packs");
  EXPECT_GT(seen.absent, seen.steps);
}

using plain = vocabulary_stage<prefix_in_arena<backward_cuts::any>>;

[[nodiscard]] plan small_plan(shape on = {.stages = 3, .replicas = 2, .quantum = {4}}) {
  testing::generator random(11);
  const std::vector<tokens> lengths = tests::awkward_lengths(random, on.quantum, 12);
  return tests::spread(tests::every_planner()[1].make(on, lengths).value()).value();
}

TEST(PackflowVocabularyPlan, RunsOnReplicasWithoutWork) {
  tally seen;
  for (const int chunks : {1, 2})
    for (const int stages : {2, 3, 4}) {
      const shape on{.stages = stages, .replicas = 3, .chunks = chunks, .quantum = {4}};
      const std::vector<tokens> lengths{{9}, {30}};
      const plan p = tests::spread(tests::every_planner()[1].make(on, lengths).value()).value();
      run_both_ways<plain>(p, stages, seen, "p " + std::to_string(stages));
    }
  seen.print("replicas without work");
  EXPECT_GE(seen.idle, seen.steps);
}

// A plan that is written by hand has no times: its transfers have an order all the same.
TEST(PackflowVocabularyPlan, RunsWithoutTimes) {
  tally seen;
  plan p = small_plan();
  for (replica_plan& r : p.replicas) r.times = {.apart = r.times.apart};
  run_both_ways<plain>(p, 1, seen, "without times");
  EXPECT_EQ(seen.steps, 2);
}

// Each call runs once a pack, and the last one that adds to the vocabulary's gradients says so.
TEST(PackflowVocabularyPlan, CallsOnceAPackAndSaysWhenGradientsAreFinal) {
  const plan p = small_plan({.stages = 3, .replicas = 2, .chunks = 2, .quantum = {4}});
  std::vector<plain> stages = tests::one_per_rank<plain>(p);
  for (const result<step_report>& one : tests::run_everywhere(p, stages)) ASSERT_TRUE(one) << one.error().detail;
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    const replica_plan& own = p.replicas[rank / 3];
    std::string expected, found;
    for (const instruction& i : own.programs[rank % 3])
      if (!i.is_of_part()) expected += letter_of(i);
    int last = 0;
    for (const auto& [letter, is_last] : stages[rank].calls) found += letter, last += is_last;
    EXPECT_EQ(found, expected);
    EXPECT_EQ(last, 1);
    const auto adds = found.find_last_of("UG");
    EXPECT_TRUE(stages[rank].calls[adds].second) << "call " << adds;
  }
}

/// Adds up the parts as soon as it may.
class reducing_stage : public plain {
 public:
  using plain::plain;
  std::vector<std::uint32_t> asked;
  std::vector<std::size_t> calls_then;  // of the vocabulary

  template <class Group>
  result<void> reduce(Group&) {
    return success();
  }
  template <class Sums>
  result<void> reduce_part(std::uint32_t chunk, Sums& sums) {
    asked.push_back(chunk);
    calls_then.push_back(calls.size());
    if (chunk < static_cast<std::uint32_t>(chunks())) return sums.start(gradient_of(chunk));
    if (result<void> begun = sums.start(std::span<double>(embedding)); !begun) return begun;
    return sums.start(std::span<double>(output_layer));
  }
};

TEST(PackflowVocabularyPlan, ReducesItsShareOfTheVocabularyLast) {
  tally seen;
  int before_the_end = 0;
  for (const int chunks : {1, 2})
    for (const bool beside : {false, true}) {
      plan p = small_plan({.stages = 2, .replicas = 3, .chunks = chunks, .quantum = {4}});
      if (beside) p.reduction.emplace();
      std::vector<reducing_stage> stages = tests::one_per_rank<reducing_stage>(p);
      const auto reports = tests::run_everywhere(p, stages);
      const vocabulary_model::gradients whole = vocabulary_model::whole(p.lengths, p.shape.parts());
      for (std::size_t rank = 0; rank < stages.size(); ++rank) {
        ASSERT_TRUE(reports[rank]) << reports[rank].error().detail;
        EXPECT_LT(distance(found_by(stages[rank]), expected_of(stages[rank], whole)), 1e-11);
        std::vector<std::uint32_t> order;
        for (int chunk = chunks; chunk-- > 0;) order.push_back(static_cast<std::uint32_t>(chunk));
        order.push_back(static_cast<std::uint32_t>(chunks));
        EXPECT_EQ(stages[rank].asked, order);
        EXPECT_EQ(stages[rank].calls_then.back(), stages[rank].calls.size()) << "all its calls have run";
        before_the_end += stages[rank].calls_then.front() < stages[rank].calls.size();
      }
      seen.count(p);
    }
  std::printf("%d steps that reduce by parts, %d ranks began with layers before the vocabulary was final\n", seen.steps,
              before_the_end);
  EXPECT_GT(before_the_end, 0);
}

struct failing_call {
  const char* name;
  vocabulary_fault fault;
  char letter;
  int after;
  std::string cause;
  friend std::ostream& operator<<(std::ostream& out, const failing_call& f) { return out << f.name; }
};

class PackflowVocabularyFailure : public ::testing::TestWithParam<failing_call> {};

TEST_P(PackflowVocabularyFailure, StopsEveryRankAndLeavesNothingBehind) {
  const failing_call& f = GetParam();
  const plan p = small_plan();
  int failed = 0;
  for (std::size_t rank = 0; rank < 6; ++rank) {
    transports::threads world{6, {.time_out = {5}}};
    std::vector<plain> stages = tests::one_per_rank<plain>(p);
    stages[rank].fault = f.fault, stages[rank].fails = f.letter, stages[rank].after = f.after;
    std::vector<std::string> messages(6);
    tests::on_every_rank(6, [&](int r) {
      const auto at = static_cast<std::size_t>(r);
      auto endpoint = world.endpoint(r);
      const executors::packflow run{.sink = [&](std::string_view line) { messages[at] = line; }};
      try {
        EXPECT_FALSE(run.execute(p, stages[at], endpoint));
      } catch (const std::runtime_error&) {
        EXPECT_EQ(f.fault, vocabulary_fault::throws);
      }
    });
    const std::string where = "rank " + std::to_string(rank) + " (replica " + std::to_string(rank / 3) + ", stage " +
                              std::to_string(rank % 3) + "), " + f.letter + std::to_string(f.after) + ": sequence ";
    for (const std::string& one : messages) {
      EXPECT_EQ(one, messages[0]);
      EXPECT_EQ(one.find(where), 0u) << one << ", not " << where;
      EXPECT_NE(one.find(f.cause), std::string::npos) << one;
    }
    for (plain& stage : stages) {
      EXPECT_EQ(stage.held(), bytes{});
      stage.fault = vocabulary_fault::none, stage.zero();
    }
    const auto reports = tests::run_everywhere(world, std::vector<const plan*>(6, &p), stages);
    const vocabulary_model::gradients whole = vocabulary_model::whole(p.lengths, 3);
    for (std::size_t r = 0; r < 6; ++r) {
      ASSERT_TRUE(reports[r]) << reports[r].error().detail;
      EXPECT_LT(distance(found_by(stages[r]), expected_of(stages[r], whole)), 1e-11);
    }
    ++failed;
  }
  std::printf("%d steps failed, and the next one was exact\n", failed);
}

INSTANTIATE_TEST_SUITE_P(
    Causes, PackflowVocabularyFailure,
    ::testing::Values(
        failing_call{"embed_throws", vocabulary_fault::throws, 'E', 2, ": the vocabulary is on fire"},
        failing_call{"output_throws", vocabulary_fault::throws, 'V', 0, ": the vocabulary is on fire"},
        failing_call{"output_fails", vocabulary_fault::returns_error, 'V', 3, ": the vocabulary is on fire"},
        failing_call{"weights_fail", vocabulary_fault::returns_error, 'U', 1, ": the vocabulary is on fire"},
        failing_call{"gradients_throw", vocabulary_fault::throws, 'G', 1, ": the vocabulary is on fire"},
        failing_call{"short_embedding", vocabulary_fault::puts_too_little, 'E', 1,
                     " bytes were given, where a peer waits for "},
        failing_call{"no_partial_rows", vocabulary_fault::writes_nothing, 'V', 1,
                     "nothing was written, although a peer waits for "}),
    [](const auto& each) { return std::string(each.param.name); });

/// What every rank answers.
template <class Compute>
void refused(const plan& p, std::vector<Compute> stages, const std::string& message) {
  for (const result<step_report>& step : tests::run_everywhere(p, stages)) {
    ASSERT_FALSE(step);
    EXPECT_NE(step.error().detail.find(message), std::string::npos) << step.error().detail;
  }
}

/// Has its vocabulary in one place, or a message of another size, as it is told.
class told_stage : public plain {
 public:
  using plain::plain;
  vocabulary_format says = plain::vocabulary_rows();
  [[nodiscard]] vocabulary_format vocabulary_rows() const { return says; }
};

TEST(PackflowVocabularyPlan, IsRefusedWhereTheComputeHasItElsewhere) {
  const plan p = small_plan({.stages = 2, .quantum = {4}});
  refused(p, tests::one_per_rank<prefix_in_arena<backward_cuts::any>>(p),
          "the plan spreads the vocabulary over the stages, the compute does not offer vocabulary_rows and the calls "
          "that go with it "
          "(executors/hooks.hpp): plan with shape.vocabulary = vocabulary::last");
  std::vector<told_stage> in_one_place = tests::one_per_rank<told_stage>(p);
  for (told_stage& stage : in_one_place) stage.says = {};
  refused(p, in_one_place, "the compute has it in one place: its vocabulary_rows have 0 partial elements a token");
  plan last = p;
  last.shape.vocabulary = vocabulary::last;
  refused(
      last, tests::one_per_rank<plain>(p),
      "the compute has it spread over the stages (vocabulary_rows): plan with shape.vocabulary = vocabulary::spread");
  std::vector<told_stage> other = tests::one_per_rank<told_stage>(p);
  other[1].says.statistics.width = 2;
  refused(
      p, other,
      "ranks 0 and 1 hold different rows of the vocabulary: 5 float64 partial, 1 float64 of statistics and 5 float64 "
      "partial, 2 float64 of statistics");
}

/// Why a plan with a changed program is out of order, on the rank of that program.
template <class Change>
std::string why(int rank, const Change& change) {
  plan p = small_plan({.stages = 2, .quantum = {4}});
  change(p.replicas[0].programs[static_cast<std::size_t>(rank)]);
  p.hash = hash_of(p);
  std::vector<plain> stages = tests::one_per_rank<plain>(p);
  const auto reports = tests::run_everywhere(p, stages);
  return reports[static_cast<std::size_t>(rank)] ? "no error" : reports[static_cast<std::size_t>(rank)].error().detail;
}
[[nodiscard]] program::iterator first_of(program& code, char letter) {
  return std::find_if(code.begin(), code.end(), [&](const instruction& i) { return letter_of(i) == letter; });
}

TEST(PackflowVocabularyPlan, IsOutOfOrderWhereACallIsMissingOrEarly) {
  for (const char letter : {'E', 'V', 'U', 'G'}) {
    const auto drop_last = [&](program& code) {
      for (auto at = code.end(); at-- != code.begin();)
        if (letter_of(*at) == letter) return (void)code.erase(at);
    };
    const std::string missing =
        letter == 'V' ? " would run before its V" : std::string("the program ends before ") + letter;
    EXPECT_NE(why(0, drop_last).find(missing), std::string::npos) << why(0, drop_last);
    const auto twice = [&](program& code) { code.push_back(*first_of(code, letter)); };
    EXPECT_NE(why(0, twice).find(std::string(1, letter) + "0 stands where pack "), std::string::npos) << why(0, twice);
  }
  const auto weights_first = [](program& code) {
    const instruction u = *first_of(code, 'U');
    code.erase(first_of(code, 'U'));
    code.insert(code.begin(), u);
  };
  EXPECT_NE(why(1, weights_first).find("U0 would run before its V"), std::string::npos) << why(1, weights_first);
  const auto backward_first = [](program& code) {
    const auto end_of = [&](char letter) {
      auto last = code.begin();
      for (auto at = code.begin(); at != code.end(); ++at)
        if (letter_of(*at) == letter) last = at;
      return last;
    };
    std::vector<instruction> outputs;
    for (auto at = end_of('F'); at != code.end();) {
      if (at->kind == instruction_kind::output || at->kind == instruction_kind::output_weights)
        outputs.push_back(*at), at = code.erase(at);
      else
        ++at;
    }
    code.insert(code.end(), outputs.begin(), outputs.end());
  };
  EXPECT_NE(why(1, backward_first).find(" would run before the output layer (V) of sequence "), std::string::npos)
      << why(1, backward_first);
  plan last = small_plan({.stages = 2, .quantum = {4}});
  last.shape.vocabulary = vocabulary::last;
  last.hash = hash_of(last);
  refused(last, tests::one_per_rank<prefix_in_arena<backward_cuts::any>>(last),
          "E0 is of a vocabulary that is spread over the stages, which the plan's is not");
}

}  // namespace
}  // namespace slimpack::packflow_vocabulary_test
