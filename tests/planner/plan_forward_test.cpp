#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/costs/memory/evaluation_keeps.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/forward.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"
#include "../support/random_forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace slimpack::plan_forward_test {
namespace {

/// Stages of unlike work, a message that takes time, and bytes.
struct uneven_bytes : costs::quadratic {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return costs::quadratic::time(s, p, part) * (1 + 0.3 * (part % 3));
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return memory_rates{
        .fixed = 100.0 * (stage + 1), .live_token = 2, .gradient_token = 5, .forward_token = 3, .backward_token = 7};
  }
  [[nodiscard]] bytes kept(const slice& s, int /*stage*/) const {
    const double n = static_cast<double>(s.length.value);
    return {n * (static_cast<double>(s.begin.value) + n / 2) / 16};
  }
  [[nodiscard]] seconds reduce_time() const { return {0.5}; }
};

/// The same, which knows evaluations.
struct evaluation_bytes : uneven_bytes {
  [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
    return memory_rates{.fixed = 10.0 * (stage + 1), .live_token = 1, .forward_token = 2};
  }
};

/// And of layers of which a sequence keeps no more than its last tokens, and a state.
struct evaluation_windows : evaluation_bytes {
  [[nodiscard]] bytes evaluation_kept(const slice& piece, int stage, tokens first) const {
    return costs::evaluation_keeps{{{100, 3.5}, {700, 1.25 + stage}}, 40}(piece, first);
  }
};

const costs::quadratic priced{.linear = 1e-6, .attention = 1e-8, .per_pack = {2e-5}, .hop = {1e-5}};

TEST(PlanForward, ObeysTheLawsOfPlansOnEveryShape) {
  int limited = 0;
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    shape on{.stages = static_cast<int>(random.between(1, 6)),
             .replicas = static_cast<int>(random.between(1, 4)),
             .chunks = static_cast<int>(random.between(1, 3)),
             .quantum = {random.between(1, 64)}};
    std::vector<tokens> lengths;
    tokens longest{};
    for (std::int64_t n = random.between(1, 40); n > 0; --n)
      lengths.push_back(random.length({2000})), longest = std::max(longest, lengths.back());
    const auto check = [&](const auto& cost) {
      const result<plan> made = planner{on, slicers::equal_cost{}, cost}.plan_forward(lengths);
      ASSERT_TRUE(made) << made.error().detail << ", seed " << seed;
      const plan& p = made.value();
      EXPECT_TRUE(is_forward_only(p));
      EXPECT_EQ(p.reduce_time, seconds{});
      EXPECT_TRUE(testing::plan_laws(p, cost)) << testing::plan_laws(p, cost) << "seed " << seed;
      const result<plan> again = planner{on, slicers::equal_cost{}, cost}.plan_forward(lengths);
      EXPECT_EQ(again.value().hash, p.hash);
      if (on.memory) ++limited;
    };
    check(priced);
    check(uneven_bytes{priced});
    check(evaluation_bytes{priced});
    check(evaluation_windows{{{priced}}});
    // As much as the longest needs alone: all of it, on every chunk.
    on.memory = memory_limit{memory_unit::token, static_cast<double>(longest.value)};
    check(priced);
  }
  EXPECT_GT(limited, 0);
}

/// One replica, or several that may compute paths again; chunks; bytes; and a limit that is the longest path.
TEST(PlanForward, OfForestsObeysTheLawsOfPlansOnEveryShape) {
  int copies = 0;
  for (int seed = 1; seed <= tests::cases(40); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    shape on{.stages = static_cast<int>(random.between(1, 5)),
             .replicas = static_cast<int>(random.between(1, 4)),
             .chunks = static_cast<int>(random.between(1, 3)),
             .quantum = {random.between(1, 64)}};
    const tests::random_forest batch(random, {.most = 30, .longest = {1500}});
    const batch_view view(batch);
    const auto check = [&](const auto& cost) {
      const planner plan_batch{on, slicers::equal_cost{}, cost};
      const result<plan> made = plan_batch.plan_forward(batch);
      ASSERT_TRUE(made) << made.error().detail << ", seed " << seed;
      const plan& p = made.value();
      EXPECT_TRUE(is_forward_only(p));
      EXPECT_TRUE(testing::plan_laws(p, cost)) << testing::plan_laws(p, cost) << "seed " << seed;
      const result<uncut_forest> from = uncut(batch_of(p), p.copies);
      ASSERT_TRUE(from) << from.error().detail;
      EXPECT_TRUE(std::ranges::equal(from.value().lengths, view.lengths())) << "seed " << seed;
      copies += !p.copies.empty();
      EXPECT_EQ(plan_batch.plan_forward(batch).value().hash, p.hash) << "seed " << seed;
      std::vector<tokens> paths;  // flat: each leaf's path is a sequence
      const slice_order order(view);
      for (const sequence& s : view.sequences())
        if (order.children(s.id) == 0) paths.push_back(s.end());
      const result<plan> flat = plan_batch.plan_forward(paths);
      ASSERT_TRUE(flat) << flat.error().detail << ", seed " << seed;
      EXPECT_LE(p.step_time.value, flat.value().step_time.value * 1.005) << "seed " << seed;
    };
    check(priced);
    check(uneven_bytes{priced});
    check(evaluation_bytes{priced});
    check(evaluation_windows{{{priced}}});
    // What a path needs alone: all of it, on every chunk. A sibling has let go of its own before another begins.
    on.memory = memory_limit{memory_unit::token, static_cast<double>(view.longest().value)};
    check(priced);
    if (on.chunks > 1 || view.longest() == tokens{1}) continue;  // a chunk may let go before the next one begins
    on.memory->amount -= 1;
    const result<plan> none = planner{on, slicers::equal_cost{}, priced}.plan_forward(batch);
    ASSERT_FALSE(none) << "seed " << seed;
    EXPECT_EQ(none.error().code, errc::out_of_memory) << "seed " << seed;
  }
  EXPECT_GT(copies, 0);
}

/// The least time of any forward packs of a batch on one replica: every order of sequences that has parents before
/// their children, each pack boundary tried.
class exhaustive {
 public:
  exhaustive(const shape& on, const costs::quadratic& cost, std::vector<sequence> batch)
      : on_(on), cost_(cost), batch_(std::move(batch)) {}

  seconds operator()() {
    std::sort(batch_.begin(), batch_.end(), [](const sequence& a, const sequence& b) { return a.id < b.id; });
    do {
      packs_.clear();
      if (is_order()) next(0, batch_.front().begin);
    } while (std::next_permutation(batch_.begin(), batch_.end(),
                                   [](const sequence& a, const sequence& b) { return a.id < b.id; }));
    return best_;
  }

 private:
  [[nodiscard]] bool is_order() const {
    std::vector<bool> before(batch_.size());
    for (const sequence& s : batch_) {
      if (!s.is_root() && !before[s.parent.value]) return false;
      before[s.id.value] = true;
    }
    return true;
  }
  /// Adds one quantum after the other, each to the pack before or to a new one.
  void next(std::size_t at, tokens begin) {
    if (at == batch_.size()) return price();
    const sequence& s = batch_[at];
    const slice one{s.id, begin, std::min(on_.quantum, s.end() - begin)};
    const bool ends = one.end() == s.end();
    for (const bool opens : {true, false}) {
      if (!opens && packs_.empty()) continue;
      if (opens) packs_.emplace_back();
      packs_.back().push_back(one);
      next(ends ? at + 1 : at, !ends ? one.end() : at + 1 < batch_.size() ? batch_[at + 1].begin : tokens{});
      packs_.back().pop_back();
      if (opens) packs_.pop_back();
    }
  }
  /// When the last stage ends the last pack, by the recurrence of a flow shop.
  void price() {
    std::vector<seconds> free(static_cast<std::size_t>(on_.stages));
    for (const std::vector<slice>& pack : packs_) {
      micropacks joined;
      for (const slice& s : pack) joined.push(s);
      joined.close();
      seconds arrived{};
      for (int stage = 0; stage < on_.stages; ++stage) {
        seconds& end = free[static_cast<std::size_t>(stage)];
        end = std::max(end, arrived) + pack_time(cost_, joined[0], pass::forward, stage);
        arrived = end + message_time(cost_, size_of(joined[0]), pass::forward, stage);
      }
    }
    best_ = std::min(best_, free.back());
  }

  shape on_;
  costs::quadratic cost_;
  std::vector<sequence> batch_;
  std::vector<std::vector<slice>> packs_;
  seconds best_{std::numeric_limits<double>::infinity()};
};

/// How near plans of small batches come to the best, those of parents_of(number of sequences, random).
template <class Parents>
void expect_near_the_best(const Parents& parents_of) {
  double worst = 1, sum = 0;
  int cases = 0, exact = 0;
  for (int seed = 1; seed <= tests::cases(30); ++seed) {
    testing::generator random(static_cast<std::uint64_t>(seed));
    const shape on{.stages = static_cast<int>(random.between(2, 4)), .quantum = {16}};
    std::vector<tokens> lengths;
    std::int64_t quanta = 0;
    while (lengths.size() < 4 && quanta < 9) {
      lengths.push_back({random.between(1, 16 * std::min<std::int64_t>(6, 10 - quanta))});
      quanta += (lengths.back().value + 15) / 16;
    }
    costs::quadratic cost = priced;
    cost.attention = random.between(0, 1) == 0 ? 1e-8 : 1e-6;
    cost.per_pack = {random.between(0, 1) == 0 ? 2e-6 : 2e-5};
    const std::vector<sequence_id> parents = parents_of(lengths.size(), random);
    const batch_view batch(lengths, parents);
    const plan p = planner{on, slicers::equal_cost{}, cost}.plan_forward(batch).value();
    const seconds best = exhaustive{on, cost, batch.sequences()}();
    EXPECT_GE(best, p.lower_bound * (1 - 1e-12)) << "a bound is no bound, seed " << seed;
    EXPECT_GE(p.step_time, best * (1 - 1e-12));
    const double ratio = p.step_time / best;
    worst = std::max(worst, ratio), sum += ratio, exact += ratio < 1 + 1e-9;
    ++cases;
  }
  std::printf("%d batches: %d as fast as the best, mean %.4f, worst %.4f of its time\n", cases, exact, sum / cases,
              worst);
  EXPECT_LT(sum / cases, 1.02);
  EXPECT_LT(worst, 1.1);
}

TEST(PlanForward, IsNearTheBestOfSmallBatches) {
  expect_near_the_best([](std::size_t, testing::generator&) { return std::vector<sequence_id>{}; });
}

TEST(PlanForward, IsNearTheBestOfSmallForests) {
  expect_near_the_best([](std::size_t count, testing::generator& random) {
    std::vector<sequence_id> parents{no_parent};
    while (parents.size() < count) {  // of the sequence before, or of one on the path to it
      sequence_id parent{static_cast<std::uint32_t>(parents.size() - 1)};
      while (parent != no_parent && random.once_in(2)) parent = parents[parent.value];
      parents.push_back(parent);
    }
    return parents;
  });
}

TEST(PlanForward, ComesNearItsBoundOnLargeOnes) {
  testing::generator random(3);
  std::vector<tokens> lengths;
  for (int i = 0; i < 256; ++i) lengths.push_back(random.length({16384}));
  int k = 0;
  for (const shape& on : {shape{.stages = 4, .chunks = 2}, shape{.stages = 4, .replicas = 4}, shape{.stages = 8}}) {
    if (!tests::is_tried(k++)) continue;
    const plan p = planner{on, slicers::equal_cost{}, priced}.plan_forward(lengths).value();
    EXPECT_GT(p.efficiency, 0.95);
    EXPECT_LT(p.bubble, 0.05);
  }
}

TEST(PlanForward, TakesLessMemoryWhereItMust) {
  const std::vector<tokens> lengths = tests::lengths_of({65536, 300, 9000, 2000, 128, 700, 40000, 1});
  const shape on{.stages = 4};
  const plan free = planner{on, slicers::equal_cost{}, priced}.plan_forward(lengths).value();
  shape tight = on;
  tight.memory = memory_limit{memory_unit::token, 65536};
  const plan least = planner{tight, slicers::equal_cost{}, priced}.plan_forward(lengths).value();
  EXPECT_EQ(least.replicas[0].peak_memory, std::vector<double>(4, 65536));
  EXPECT_GE(least.step_time, free.step_time);
  tight.memory->amount = 65535;
  const result<plan> none = planner{tight, slicers::equal_cost{}, priced}.plan_forward(lengths);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::out_of_memory);
  EXPECT_NE(none.error().detail.find("need 65536 tokens, the limit is 65535 tokens: 1 tokens are missing"),
            std::string::npos)
      << none.error().detail;
  // A step holds all of a sequence until it turns: here it needs as much, but with several sequences on their way.
  EXPECT_LE(free.replicas[0].peak_memory[0],
            planner(on, slicers::equal_cost{}, priced)(lengths).value().replicas[0].peak_memory[0]);
}

// On stage 1 of 2, a sequence of 512 tokens that is cut: 20 + 1 x 512 + 2 x the tokens that run. In a step 200 + 2 x
// 512, what its pieces keep, and what runs.
TEST(PlanForward, HoldsWhatAnEvaluationNeeds) {
  const std::vector<tokens> lengths = tests::lengths_of({512});
  shape on{.stages = 2, .quantum = {128}, .memory = memory_limit{memory_unit::byte, 20 + 512 + 2 * 128}};
  const auto planned = [&](const auto& cost) { return planner{on, slicers::equal_cost{}, cost}.plan_forward(lengths); };
  const plan p = planned(evaluation_bytes{priced}).value();
  EXPECT_EQ(p.replicas[0].peak_memory, (std::vector<double>{10 + 512 + 2 * 128, 20 + 512 + 2 * 128}));
  EXPECT_EQ(p.replicas[0].rates[1].fixed, 20);
  EXPECT_TRUE(testing::plan_laws(p, evaluation_bytes{priced})) << testing::plan_laws(p, evaluation_bytes{priced});
  EXPECT_FALSE(testing::plan_laws(p, uneven_bytes{priced})) << "its rates are not those of steps";
  EXPECT_EQ(planner(on, slicers::equal_cost{}, evaluation_bytes{priced})(lengths).error().code, errc::out_of_memory)
      << "a step needs more";
  EXPECT_EQ(planned(uneven_bytes{priced}).error().code, errc::out_of_memory)
      << "a model that knows no evaluations has them held to be steps";
  on.memory->amount -= 1;
  const result<plan> less = planned(evaluation_bytes{priced});
  ASSERT_FALSE(less);
  EXPECT_NE(less.error().detail.find("need 788 bytes, the limit is 787 bytes: 1 bytes are missing"), std::string::npos)
      << less.error().detail;
}

// Where all layers have windows, a sequence of any length has room once its window has.
TEST(PlanForward, HasRoomForLongSequencesOfWindows) {
  struct windows : evaluation_windows {
    [[nodiscard]] std::optional<memory_rates> evaluation_memory(int stage) const {
      return memory_rates{.fixed = 10.0 * (stage + 1), .live_token = 0, .forward_token = 2};
    }
  };
  const windows cost{{{{priced}}}};
  shape on{.stages = 2, .quantum = {16}};
  const double kept = 100 * 3.5 + 700 * 2.25 + 40;  // on the second stage
  on.memory = memory_limit{memory_unit::byte, 20 + kept + 2 * 1000};
  const std::vector<tokens> lengths = tests::lengths_of({60000, 300});
  const result<plan> made = planner{on, slicers::equal_cost{}, cost}.plan_forward(lengths);
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_TRUE(testing::plan_laws(made.value(), cost)) << testing::plan_laws(made.value(), cost);
  on.memory->amount = 20 + kept;  // and none for a pack
  EXPECT_FALSE((planner{on, slicers::equal_cost{}, cost}.plan_forward(lengths)));
}

TEST(PlanForward, RefusesAModelWhoseEvaluationsHoldNoAmount) {
  struct faulty : evaluation_bytes {
    [[nodiscard]] std::optional<memory_rates> evaluation_memory(int /*stage*/) const {
      return memory_rates{.forward_token = -1};
    }
  };
  const result<plan> made =
      planner{{.stages = 2}, slicers::equal_cost{}, faulty{{priced}}}.plan_forward(tests::lengths_of({700}));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().detail.find("-1 bytes for a rate of memory_rates, on stage"), std::string::npos)
      << made.error().detail;
}

TEST(PlanForward, LeavesReplicasIdleThatHaveNoSequence) {
  const std::vector<tokens> lengths = tests::lengths_of({700, 300});
  const plan p = planner{{.stages = 2, .replicas = 3}, slicers::equal_cost{}, priced}.plan_forward(lengths).value();
  EXPECT_TRUE(testing::plan_laws(p, priced)) << testing::plan_laws(p, priced);
  EXPECT_EQ(
      std::count_if(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return r.sequences.empty(); }),
      1);
}

TEST(PlanForward, CutsNothingWhereTheSlicerDoesNot) {
  const std::vector<tokens> lengths = tests::lengths_of({4000, 300, 9000, 2000, 128, 700});
  const plan p = planner{{.stages = 3}, slicers::whole{}, priced}.plan_forward(lengths).value();
  EXPECT_TRUE(testing::plan_laws(p, priced)) << testing::plan_laws(p, priced);
  EXPECT_EQ(p.replicas[0].partition.forward.slices().size(), lengths.size());
}

TEST(PlanForward, EndsEarlyWhereItIsStopped) {
  std::stop_source stop;
  stop.request_stop();
  const std::vector<tokens> lengths = tests::lengths_of({65536, 300, 9000, 2000, 128, 700, 40000, 1});
  const plan p = planner{{.stages = 4}, slicers::equal_cost{}, priced}.plan_forward(lengths, stop.get_token()).value();
  EXPECT_TRUE(p.truncated);
  EXPECT_TRUE(testing::plan_laws(p, priced)) << testing::plan_laws(p, priced);
}

/// Slices that go beyond a sequence.
struct overreaching {
  template <class Cost>
  slice next(const sequence& s, tokens at, pass, const cut_budget&, const Cost&) const {
    return {s.id, at, s.length - at + tokens{at == tokens{}}};
  }
};

TEST(PlanForward, RefusesWhatNoPlanCanBeMadeOf) {
  const std::vector<tokens> lengths = tests::lengths_of({700, 300});
  EXPECT_EQ(planner(shape{.stages = 2}, slicers::equal_cost{}, priced).plan_forward({}).error().code,
            errc::invalid_input);
  const result<plan> wrong = planner{{.stages = 2}, overreaching{}, priced}.plan_forward(lengths);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().detail.find("the slicer's answer is wrong: of sequence 0 of 700 tokens"), std::string::npos)
      << wrong.error().detail;
}

}  // namespace
}  // namespace slimpack::plan_forward_test
