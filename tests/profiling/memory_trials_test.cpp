#include <slimpack/core/slice.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/profiling/driver.hpp>
#include <slimpack/profiling/memory_trials.hpp>
#include <slimpack/profiling/trials.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>
#include <slimpack/transports/threads.hpp>

#include "../executors/everywhere.hpp"
#include "../executors/path_stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::memory_trials_test {
namespace {

using namespace slimpack::profiling;

/// What an allocation of this stage takes. Whole bytes, so that sums are exact.
struct sizes {
  double weights{1e6}, token{}, gradient{}, pair{}, forward_token{}, backward_token{}, forward_pair{}, backward_pair{},
      weight_token{}, workspace{};
};

/// A stage that allocates and frees as trainers do: rows of a chunk's tokens, scores that wait for their backward,
/// accumulators of dK and dV from a sequence's first backward slice to its last, and what lives during a call.
class allocating_stage {
 public:
  allocating_stage(const sizes& of, int chunks, bool one_by_one = false)
      : of_(of), share_(1.0 / chunks), one_by_one_(one_by_one), now_(of.weights), peak_(of.weights) {}

  [[nodiscard]] memory_reading read() {
    const memory_reading told{{now_}, {peak_}};
    peak_ = now_;
    return told;
  }
  [[nodiscard]] double most() const { return most_; }

  void run(const instruction& i, std::span<const slice> pack, bool apart,
           const std::map<std::uint32_t, std::int64_t>& ends) {
    for (const slice& s : pack) {
      const double n = tokens_of(s), d = n * static_cast<double>(s.end().value);
      if (i.pass() == pass::forward)
        take((of_.token * n + of_.pair * d) * share_);
      else if (!i.is_weights()) {
        if (s.end().value == ends.at(s.sequence.value) && s.begin.value > 0)
          take(of_.gradient * static_cast<double>(s.end().value) * share_), open_[{i.chunk, s.sequence.value}] = true;
        if (apart) take(of_.weight_token * n * share_);
      }
    }
    double running = 0, largest = 0;
    for (const slice& s : pack) {
      if (i.is_weights()) break;
      const double n = tokens_of(s), d = n * static_cast<double>(s.end().value);
      const bool forward = i.pass() == pass::forward;
      running += (forward ? of_.forward_token : of_.backward_token) * n;
      const double scores = (forward ? of_.forward_pair : of_.backward_pair) * d;
      if (one_by_one_)
        largest = std::max(largest, scores);
      else
        running += scores;
    }
    running += largest + (i.is_weights() ? 0 : of_.workspace);
    take(running), take(-running);
    for (const slice& s : pack) {
      const double n = tokens_of(s), d = n * static_cast<double>(s.end().value);
      if (i.is_weights()) take(-(of_.token + of_.weight_token) * n * share_);
      if (i.pass() == pass::forward || i.is_weights()) continue;
      take(-(of_.pair * d + (apart ? 0 : of_.token * n)) * share_);
      if (open_[{i.chunk, s.sequence.value}]) take(-of_.gradient * n * share_);
      if (s.begin.value == 0) open_.erase({i.chunk, s.sequence.value});
    }
  }

 private:
  static double tokens_of(const slice& s) { return static_cast<double>(s.length.value); }
  void take(double bytes) {
    now_ += bytes;
    peak_ = std::max(peak_, now_), most_ = std::max(most_, now_);
  }

  sizes of_;
  double share_;
  bool one_by_one_;  // sequences of a pack attend one after the other
  double now_, peak_, most_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> open_;
};

/// Runs a stage's program, reading its memory around each call.
void run(allocating_stage& stage, const plan& p, std::size_t of, memory_trials* memory = nullptr) {
  const replica_plan& r = p.replicas[0];
  std::map<std::uint32_t, std::int64_t> ends;
  for (const slice& s : r.partition.forward.slices()) {
    std::int64_t& end = ends[s.sequence.value];
    end = std::max(end, s.end().value);
  }
  if (memory) memory->begin(p);
  for (const instruction& i : r.programs[of]) {
    if (memory) memory->before();
    stage.run(i, r.partition.of(i.pass())[i.pack.value], r.times.apart.splits(i.pack.value), ends);
    if (memory) memory->after(i);
  }
}

memory_fit fitted(const sizes& of, int chunks, bool apart, bool one_by_one = false) {
  allocating_stage stage(of, chunks, one_by_one);
  memory_trials memory([&] { return stage.read(); });
  for (const trial& t : trials_for({2000}, {64}, apart))
    run(stage, plan_of(t, {.chunks = chunks, .quantum = {64}}), 0, &memory);
  return memory.fit().value();
}

sizes any_sizes(testing::generator& random, int chunks) {
  const auto some = [&](std::int64_t most) { return static_cast<double>(chunks * random.between(0, most)); };
  return {1e6,        some(5000) + chunks,
          some(3000), some(4),
          some(2000), some(9000),
          some(5),    some(12),
          0,          random.once_in(2) ? 0 : 65536.0};
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(b)); }

// Trials tell every rate, whatever else there is, and then the peak of any program: measured rates give planned peaks.
TEST(MemoryTrials, GiveThePeaksOfProgramsThatWereNotTried) {
  testing::generator random(41);
  for (int i = 0; i < 40; ++i) {
    testing::random_replica made = testing::any_replica({.longest = {1500}, .quantum = {64}, .chunks = 3}, random);
    made.work.times.kept = {};
    const int chunks = made.work.shape.chunks;
    const sizes of = any_sizes(random, chunks);
    const memory_fit found = fitted(of, chunks, false);
    SCOPED_TRACE("seed 41, case " + std::to_string(i));
    EXPECT_TRUE(near(found.rates.live_token, of.token)) << found.rates.live_token << " of " << of.token;
    EXPECT_TRUE(near(found.rates.gradient_token, of.gradient)) << found.rates.gradient_token << " of " << of.gradient;
    EXPECT_TRUE(near(found.pair_bytes, of.pair)) << found.pair_bytes << " of " << of.pair;
    EXPECT_TRUE(near(found.rates.forward_token, of.forward_token)) << found.rates.forward_token;
    EXPECT_TRUE(near(found.rates.backward_token, of.backward_token)) << found.rates.backward_token;
    EXPECT_TRUE(near(found.rates.forward_pair, of.forward_pair)) << found.rates.forward_pair;
    EXPECT_TRUE(near(found.rates.backward_pair, of.backward_pair)) << found.rates.backward_pair;
    EXPECT_TRUE(near(found.rates.fixed, of.weights + of.workspace)) << found.rates.fixed;
    EXPECT_LT(found.worst, 1e-9);

    struct measured : costs::quadratic {
      double pair_bytes{};
      [[nodiscard]] std::optional<memory_rates> memory(int) const { return memory_rates{}; }
      [[nodiscard]] bytes kept(const slice& piece, int) const { return {pair_bytes * piece.dense_pairs()}; }
    };
    measured cost;
    cost.pair_bytes = std::round(found.pair_bytes);
    plan p;
    p.shape = made.work.shape;
    p.lengths = made.lengths;
    replica_plan& r = p.replicas.emplace_back();
    // Scores are kept by pieces of both passes: where these are cut alike, as in trials, pieces are slices.
    r.partition = common_refinement(made.packs);
    const workload work =
        price(r.partition, cost, p.shape, std::vector<memory_rates>(made.work.rates.size(), found.rates));
    r.programs = schedules::one_f_one_b{}.programs(work).value();
    const std::vector<double> planned = simulators::peak_memory(work, r.programs);
    for (std::size_t stage = 0; stage < r.programs.size(); ++stage) {
      allocating_stage real(of, chunks);
      run(real, p, stage);
      // A program of packs that need less than others plans the rest for all of them: it is in `fixed`.
      EXPECT_NEAR(planned[stage], real.most(), 1e-6 * real.most()) << "stage " << stage;
    }
  }
}

TEST(MemoryTrials, TellWhatWeightGradientsWaitWith) {
  sizes of{.token = 300, .gradient = 40, .pair = 1, .backward_token = 7, .weight_token = 55};
  for (const int chunks : {1, 5}) {
    const memory_fit found = fitted(of, chunks, true);
    EXPECT_TRUE(near(found.rates.live_token, 300)) << found.rates.live_token;
    EXPECT_TRUE(near(found.rates.weight_token, 55)) << found.rates.weight_token;
    EXPECT_TRUE(near(found.rates.backward_token, 7)) << found.rates.backward_token;
    EXPECT_TRUE(near(found.pair_bytes, 1)) << found.pair_bytes;
  }
}

// Sequences that attend one after the other have the scores of the largest alone. The count sums them up: rates are
// then no longer exact, but what trials held is planned for.
TEST(MemoryTrials, PlanNoLessThanTrialsHeld) {
  const sizes of{.token = 100, .forward_pair = 4, .backward_pair = 8, .workspace = 1000};
  const memory_fit found = fitted(of, 1, false, true);
  EXPECT_GE(found.worst, 0);
  for (const trial& t : trials_for({2000}, {64}, false)) {
    const plan p = plan_of(t, {.quantum = {64}});
    allocating_stage real(of, 1, true);
    run(real, p, 0);
    workload work = price(p.replicas[0].partition, costs::quadratic{}, p.shape, {found.rates});
    EXPECT_GE(simulators::peak_memory(work, p.replicas[0].programs)[0] * (1 + 1e-12), real.most()) << text_of(t);
  }
  EXPECT_TRUE(near(found.rates.live_token, 100));
}

TEST(MemoryTrials, RefuseOnePassAloneAndBytesThatAreNone) {
  memory_observation forward{.kind = instruction_kind::forward, .tokens = 1, .pairs = 1, .peak = 2, .after = 1};
  const result<memory_fit> alone = fit_memory(std::span(&forward, 1), {0});
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().detail.find("no backward pack"), std::string::npos) << alone.error().detail;
  memory_observation pair[]{forward, {.kind = instruction_kind::backward, .before = 1, .peak = 1}};
  EXPECT_TRUE(fit_memory(pair, {0}));
  pair[1].peak = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(fit_memory(pair, {0}));
}

// A compute that keeps everything in an activation_store, whose pages are its account: the driver's trials tell its own
// rates, to the byte.
TEST(MemoryTrials, TellTheRatesOfAStoreThroughTheDriver) {
  for (const int chunks : {1, 2}) {
    const shape on{.chunks = chunks, .quantum = {16}};
    transports::threads world{1, {.time_out = {60}}};
    auto endpoint = world.endpoint(0);
    tests::path_packs<backward_cuts::any> compute(0, 1, chunks, on.quantum);
    memory_trials memory([&] {
      const memory_reading told{compute.held(), compute.peak()};
      compute.restart_peak();
      return told;
    });
    driver drive{compute, on, tokens{200}, endpoint};
    drive.budget = {2};  // for all trials: those of weight gradients apart are the last
    drive.memory = &memory;
    drive.prepare = [&](std::span<const sequence> all) {
      compute.text.clear();
      for (const sequence& s : all) compute.text.emplace_back(static_cast<std::size_t>(s.length.value), 1);
    };
    ASSERT_TRUE(drive.measure());
    const memory_fit found = memory.fit().value();
    const memory_rates own = compute.rates();
    EXPECT_TRUE(near(found.rates.live_token, own.live_token)) << found.rates.live_token << " of " << own.live_token;
    EXPECT_TRUE(near(found.rates.gradient_token, own.gradient_token)) << found.rates.gradient_token;
    EXPECT_TRUE(near(found.rates.weight_token, own.weight_token)) << found.rates.weight_token;
    EXPECT_NEAR(found.rates.fixed, 0, 1);
    EXPECT_NEAR(found.pair_bytes + found.rates.forward_pair + found.rates.backward_pair, 0, 1e-9);
    EXPECT_LT(found.worst, 1e-9);
  }
}

// Every rank knows every stage, the largest of its replicas.
TEST(MemoryTrials, TellAllRanksTheSame) {
  constexpr int stages = 2, ranks = 4;
  transports::threads world{ranks, {.time_out = {20}}};
  std::vector<measured_memory> all(ranks);
  tests::on_every_rank(ranks, [&](int rank) {
    auto endpoint = world.endpoint(rank);
    const memory_fit own{
        {.fixed = 10.0 + rank, .live_token = 5.0 - rank, .backward_pair = 1.0 * rank}, 0.5 * rank, 0.1};
    all[static_cast<std::size_t>(rank)] = gather_memory(endpoint, own, rank % stages, stages).value();
  });
  for (const measured_memory& m : all) {
    EXPECT_EQ(m.memory, all[0].memory);
    EXPECT_EQ(m.pair_bytes, (std::vector<double>{1.0, 1.5}));
    EXPECT_EQ(m.memory[1].fixed, 13);
    EXPECT_EQ(m.memory[1].live_token, 4);
    EXPECT_EQ(m.memory[0].backward_pair, 2);
  }
  transports::threads one{1, {.time_out = {20}}};
  auto endpoint = one.endpoint(0);
  EXPECT_FALSE(gather_memory(endpoint, {}, 0, 2)) << "stage 1 has not been measured";
}

}  // namespace
}  // namespace slimpack::memory_trials_test
