#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "../laws/round_robin.hpp"
#include "../solvers/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace slimpack::planner_test {
namespace {

const std::vector<tokens> mixed = tests::lengths_of({65536, 300, 9000, 2000, 128, 700, 40000, 1});

struct four_parts : costs::quadratic {
  [[nodiscard]] int parts() const { return 4; }
};

/// Knows bytes and reduces gradients for half a second.
struct with_bytes : costs::quadratic {
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const {
    return memory_rates{.fixed = 1000.0 * (stage + 1), .live_token = 2, .gradient_token = 1, .backward_token = 3};
  }
  [[nodiscard]] seconds reduce_time() const { return {0.5}; }
};

/// Every backward before every forward.
struct impossible {
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    program code;
    for (const pass p : {pass::backward, pass::forward})
      for (std::uint32_t i = 0; i < work.times.packs(p); ++i) code.push_back({pass_kind(p), {i}});
    return std::vector<program>(static_cast<std::size_t>(work.shape.stages), code);
  }
};

/// All forwards first, whatever memory there is.
struct careless {
  [[nodiscard]] result<std::vector<program>> programs(const workload& work) const {
    program code;
    for (const pass p : {pass::forward, pass::backward})
      for (std::uint32_t i = 0; i < work.times.packs(p); ++i) code.push_back({pass_kind(p), {i}});
    return std::vector<program>(static_cast<std::size_t>(work.shape.stages), code);
  }
};

/// What a planner refuses, and says about it, before and instead of planning.
template <class Cost = costs::quadratic>
std::string refusal(const shape& on, const std::vector<tokens>& lengths = mixed, const Cost& cost = {}) {
  const planner plan_batch{on, slicers::equal_cost{}, cost};
  const result<void> checked = plan_batch.check(lengths);
  const result<plan> made = plan_batch(lengths);
  if (checked || made) return "no refusal";
  EXPECT_EQ(checked.error().code, errc::invalid_input);
  EXPECT_EQ(made.error().detail, checked.error().detail);
  return checked.error().detail;
}

TEST(PlannerCheck, NamesADegreeOutsideItsRange) {
  EXPECT_EQ(refusal({.stages = 0}), "shape.stages is 0, it must be from 1 to 65536");
  EXPECT_EQ(refusal({.replicas = -3}), "shape.replicas is -3, it must be from 1 to 65536");
  EXPECT_EQ(refusal({.tensor = 0}), "shape.tensor is 0, it must be from 1 to 65536");
  EXPECT_EQ(refusal({.context = 0}), "shape.context is 0, it must be from 1 to 65536");
  EXPECT_EQ(refusal({.expert = 0}), "shape.expert is 0, it must be from 1 to 65536");
  EXPECT_EQ(refusal({.replicas = 2, .tensor = 3, .expert = 4}),
            "shape.expert is 4, it must divide the 6 ranks of a stage");
  EXPECT_EQ(refusal({.chunks = 65537}), "shape.chunks is 65537, it must be from 1 to 65536");
  EXPECT_EQ(refusal({.stages = 65536, .chunks = 65536}),
            "shape.stages * chunks is 4294967296, it must be from 1 to 65536");
}

TEST(PlannerCheck, NamesAQuantumOutsideItsRange) {
  EXPECT_EQ(refusal({.quantum = {0}}), "shape.quantum is 0 tokens, it must be from 1 to 2147483647");
  EXPECT_EQ(refusal({.quantum = {std::int64_t{1} << 62}}),
            "shape.quantum is 4611686018427387904 tokens, it must be from 1 to 2147483647");
}

// Times that sums cannot hold: the schedule would never see a stage become free.
TEST(PlannerCheck, NamesTimesThatAreNone) {
  for (const double linear : {1e308, std::nan(""), -1.0}) {
    const costs::quadratic cost{.linear = linear};
    EXPECT_FALSE(planner(shape{.stages = 2}, slicers::equal_cost{}, cost).check(mixed)) << linear;
  }
  const costs::quadratic slow_messages{.hop = {1e300}};
  EXPECT_FALSE(planner(shape{.stages = 2}, slicers::equal_cost{}, slow_messages).check(mixed));
}

/// One time is `wrong`, all others are those of costs::quadratic.
struct wrong_in {
  enum class at : unsigned char { slice, overhead, pack, message, exchange, reduction } where{};
  seconds wrong;

  [[nodiscard]] seconds or_wrong(at here, pass p, int part, seconds t) const {
    return here == where && p == pass::backward && part == 1 ? wrong : t;
  }
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return or_wrong(at::slice, p, part, costs::quadratic{}.time(s, p, part));
  }
  [[nodiscard]] seconds overhead(pass p, int part) const { return or_wrong(at::overhead, p, part, {}); }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return or_wrong(at::pack, p, part, sum);
  }
  [[nodiscard]] seconds message(tokens, pass p, int part) const { return or_wrong(at::message, p, part, {}); }
  [[nodiscard]] seconds exchange(const shared_row&, std::span<const slice>, pass p, int part) const {
    return or_wrong(at::exchange, p, part, {});
  }
  [[nodiscard]] seconds reduce_time() const { return where == at::reduction ? wrong : seconds{}; }
};

TEST(PlannerCheck, NamesTheTimeThatIsNone) {
  using at = wrong_in::at;
  const shape on{.stages = 2, .replicas = 2};
  const std::vector<tokens> lengths{{1024}, {300}};
  const auto says = [&](at where) { return refusal(on, lengths, wrong_in{where, {-1}}); };
  const std::string sequence = "a sequence of 1024 tokens, backward on part 1; times must be from 0 to 1e12 s";
  EXPECT_EQ(says(at::slice), "the cost model gives -1 s for " + sequence);
  EXPECT_EQ(says(at::overhead), "the cost model gives -1 s for the overhead of a pack with " + sequence);
  EXPECT_EQ(says(at::pack), "the cost model gives -1 s for a pack of " + sequence);
  EXPECT_EQ(says(at::message), "the cost model gives -1 s for the message of " + sequence);
  EXPECT_EQ(says(at::exchange), "the cost model gives -1 s for the exchange of " + sequence);
  EXPECT_EQ(says(at::reduction),
            "the cost model gives -1 s for the reduction of gradients; times must be from 0 to 1e12 s");
  for (const double wrong : {std::nan(""), static_cast<double>(INFINITY), 1e13})
    EXPECT_FALSE(planner(on, slicers::equal_cost{}, wrong_in{at::exchange, {wrong}}).check(lengths)) << wrong;
}

// One stage sends no messages; its replicas would wait for an exchange without end.
TEST(PlannerCheck, RefusesAnInfiniteHopThatOnlyAnExchangeTakes) {
  const costs::quadratic cost{.hop = {static_cast<double>(INFINITY)}};
  EXPECT_EQ(refusal({.replicas = 2}, mixed, cost),
            "the cost model gives inf s for the exchange of a sequence of 65536 "
            "tokens, forward on part 0; times must be from 0 to 1e12 s");
}

TEST(PlannerCheck, NamesALimitThatIsNone) {
  for (const double amount : {-1.0, std::nan("")}) {
    shape on;
    on.memory = memory_limit{memory_unit::token, amount};
    EXPECT_EQ(refusal(on), "shape.memory is " + std::to_string(amount) + ", it must be at least 0");
  }
}

struct any_weight_time : costs::quadratic {
  double share{};  ///< of backward
  seconds weight_time(const slice& s, int part) const { return quadratic::time(s, pass::backward, part) * share; }
};

TEST(PlannerCheck, RefusesWeightGradientsThatAreNoShareOfBackwardWhereTheyRunApart) {
  const std::vector<tokens> lengths{{1024}, {300}};
  for (const double share : {-0.5, 1.5, std::nan("")}) {
    const any_weight_time cost{{}, share};
    const planner apart{shape{.stages = 2}, slicers::equal_cost{}, cost, solvers::two_phase{},
                        schedules::zero_bubble{}};
    const result<plan> answer = apart(lengths);
    ASSERT_FALSE(answer) << share;
    EXPECT_EQ(answer.error().code, errc::invalid_input);
    EXPECT_NE(answer.error().detail.find("weight gradients of a sequence of 1024 tokens on part 0"), std::string::npos)
        << answer.error().detail;
  }
}

// Bounds hold for plans with weight gradients apart, too, so that they ask for them whatever the schedule.
TEST(PlannerCheck, RefusesWeightGradientsThatAreNoTimesUnderAnySchedule) {
  for (const double share : {-0.5, std::nan("")}) {
    const any_weight_time cost{{}, share};
    const result<plan> answer =
        planner{shape{.stages = 2}, slicers::equal_cost{}, cost}(std::vector<tokens>{{1024}, {300}});
    ASSERT_FALSE(answer) << share;
    EXPECT_EQ(answer.error().code, errc::invalid_input);
    EXPECT_NE(answer.error().detail.find("s for the weight gradients of slice [0, "), std::string::npos)
        << answer.error().detail;
  }
}

TEST(PlannerCheck, NamesACostModelOfAnotherShape) {
  EXPECT_EQ(refusal({.stages = 2}, mixed, four_parts{}), "the cost model prices 4 parts, the shape has 2");
  EXPECT_TRUE(planner(shape{.stages = 4}, slicers::equal_cost{}, four_parts{}).check(mixed));
  EXPECT_TRUE(planner(shape{.stages = 2, .chunks = 2}, slicers::equal_cost{}, four_parts{}).check(mixed));
}

TEST(PlannerCheck, NamesAnEmptyBatch) { EXPECT_EQ(refusal({}, {}), "the batch is empty: give at least one length"); }

TEST(PlannerCheck, NamesALengthOutOfRange) {
  EXPECT_EQ(refusal({}, tests::lengths_of({5, 0})), "sequence 1 has 0 tokens; lengths run from 1 to 2147483647");
  EXPECT_EQ(refusal({}, tests::lengths_of({-7})), "sequence 0 has -7 tokens; lengths run from 1 to 2147483647");
  EXPECT_EQ(refusal({}, tests::lengths_of({2147483648})),
            "sequence 0 has 2147483648 tokens; lengths run from 1 to 2147483647");
  EXPECT_TRUE(planner{shape{}}.check(tests::lengths_of({1, 2147483647})));
}

TEST(Planner, RefusesALimitInBytesThatItsCostModelDoesNotKnow) {
  shape on;
  on.memory = memory_limit{memory_unit::byte, 8e9};
  const result<plan> made = planner{on}(mixed);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::invalid_input);
  EXPECT_EQ(made.error().detail, "this cost model knows no bytes: give the memory limit in tokens");
}

// Two sequences of 100 tokens, both live before the first backward.
TEST(Planner, RefusesProgramsOverTheLimit) {
  shape on;
  on.memory = memory_limit{memory_unit::token, 199};
  const planner plan_batch{on, slicers::whole{}, costs::quadratic{}, tests::round_robin{}, careless{}};
  const result<plan> made = plan_batch(tests::lengths_of({100, 100}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::out_of_memory);
  EXPECT_EQ(made.error().detail, "the plan needs 200 tokens, the limit is 199 tokens");
}

TEST(Planner, RefusesProgramsThatWaitForEachOther) {
  const planner plan_batch{shape{}, slicers::whole{}, costs::quadratic{}, tests::round_robin{}, impossible{}};
  const result<plan> made = plan_batch(mixed);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::cyclic_schedule);
}

TEST(Planner, ObeysThePlanLaws) {
  testing::generator random(111);
  const schedules::one_f_one_b classic{.lead = 1};
  for (int i = tests::cases(6); i > 0; --i) {
    shape on{.stages = static_cast<int>(random.between(1, 5)), .replicas = static_cast<int>(random.between(1, 3))};
    const std::vector<tokens> lengths = tests::random_lengths(random, 40, {32768});
    if (random.once_in(2)) on.memory = memory_limit{memory_unit::token, 40.0 * 32768};
    with_bytes cost;
    cost.per_pack = {1e-4 * random.ratio()};
    cost.hop = {1e-4 * random.ratio()};
    const auto obeys = [&](const auto& plan_batch) {
      const plan made = plan_batch(lengths).value();
      const testing::report found = testing::plan_laws(made, cost);
      EXPECT_TRUE(found) << "seed 111\n" << found;
    };
    obeys(planner{on, slicers::equal_cost{}, cost});
    obeys(planner{on, slicers::uniform{{2048}}, cost, solvers::two_phase{}, schedules::one_f_one_b{}});
    obeys(planner{on, slicers::equal_cost{}, cost, solvers::chunked{.chunk = {4096}}, schedules::one_f_one_b{}});
    obeys(planner{on, slicers::whole{}, cost, solvers::megatron{}, classic});
    obeys(planner{on, slicers::whole{}, cost, solvers::dp_balanced{}, classic});
    obeys(planner{on, slicers::whole{}, cost, solvers::karmarkar_karp{}, classic});
    on.chunks = 2;
    obeys(planner{on, slicers::whole{}, cost, solvers::dp_balanced{}, schedules::one_f_one_b{}});
  }
}

TEST(Planner, GivesEqualPlansForEqualInputs) {
  const planner plan_batch{{.stages = 4, .replicas = 2}};
  const plan first = plan_batch(mixed).value();
  const plan second = planner{plan_batch}(mixed).value();
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_EQ(first.step_time, second.step_time);
  EXPECT_EQ(first.replicas[1].partition, second.replicas[1].partition);
  EXPECT_EQ(first.replicas[1].programs, second.replicas[1].programs);
}

TEST(Planner, HashesWhatAPlanIsMadeFrom) {
  const std::uint64_t hash = planner{{.stages = 4}}(mixed).value().hash;
  std::vector<tokens> turned = mixed;
  std::reverse(turned.begin(), turned.end());
  EXPECT_NE(planner{{.stages = 4}}(turned).value().hash, hash);
  EXPECT_NE(planner{{.stages = 3}}(mixed).value().hash, hash);
  EXPECT_NE((planner{{.stages = 4}, slicers::equal_cost{}, costs::quadratic{.linear = 2e-6}}(mixed).value().hash),
            hash);
  shape limited{.stages = 4};
  limited.memory = memory_limit{memory_unit::token, 1e9};
  EXPECT_NE(planner{limited}(mixed).value().hash, hash);
}

TEST(Planner, MarksAPlanUnderAStopTokenAsTruncated) {
  const planner plan_batch{{.stages = 4}};
  std::stop_source stop;
  const plan free = plan_batch(mixed).value();
  const plan watched = plan_batch(mixed, stop.get_token()).value();
  EXPECT_FALSE(free.truncated);
  EXPECT_TRUE(watched.truncated);
  EXPECT_EQ(watched.hash, free.hash);  // the mark itself is not hashed, and nobody asked to stop
  stop.request_stop();
  const plan stopped = plan_batch(mixed, stop.get_token()).value();
  EXPECT_GE(stopped.step_time, free.step_time);
  const testing::report found = testing::plan_laws(stopped);
  EXPECT_TRUE(found) << found;
}

// One sequence of 10 tokens, one stage, one pack each way, a second a token forward and two backward, overhead 3 a
// pack: a step of 10 + 3 + 20 + 3 = 36, of it 30 useful. On two stages, with a hop of 2, the same four times over and
// two hops: 76, of it 60 useful of 2 x 76.
TEST(Planner, CountsBubbleAndEfficiencyByHand) {
  costs::quadratic cost = tests::per_token;
  cost.per_pack = {3};
  cost.hop = {2};
  const std::vector<tokens> lengths = tests::lengths_of({10});
  const plan one = planner{shape{}, slicers::whole{}, cost}(lengths).value();
  EXPECT_EQ(one.step_time, seconds{36});
  EXPECT_DOUBLE_EQ(one.bubble, 1 - 30.0 / 36);
  EXPECT_EQ(one.efficiency, 1);
  const plan two = planner{shape{.stages = 2}, slicers::whole{}, cost}(lengths).value();
  EXPECT_EQ(two.step_time, seconds{76});
  EXPECT_DOUBLE_EQ(two.bubble, 1 - 60.0 / (2 * 76));
  EXPECT_EQ(two.efficiency, two.lower_bound / two.step_time);
}

TEST(Planner, LosesNothingWhereNothingTakesTime) {
  const plan made =
      planner{{.stages = 2}, slicers::equal_cost{}, costs::quadratic{.linear = 0, .attention = 0}}(mixed).value();
  EXPECT_EQ(made.step_time, seconds{0});
  EXPECT_EQ(made.efficiency, 1);
  EXPECT_EQ(made.bubble, 0);
}

TEST(Planner, AddsTheReductionOverCopiesOfTheWeightsToTimeAndBounds) {
  const plan alone = planner{{.stages = 2}, slicers::equal_cost{}, with_bytes{}}(mixed).value();
  EXPECT_EQ(alone.reduce_time, seconds{0});
  EXPECT_EQ(alone.step_time, alone.replicas[0].makespan);
  const plan two = planner{{.stages = 2, .replicas = 2}, slicers::equal_cost{}, with_bytes{}}(mixed).value();
  EXPECT_EQ(two.reduce_time, seconds{0.5});
  EXPECT_EQ(two.step_time, std::max(two.replicas[0].makespan, two.replicas[1].makespan) + seconds{0.5});
  const plan context = planner{{.stages = 2, .context = 2}, slicers::equal_cost{}, with_bytes{}}(mixed).value();
  EXPECT_EQ(context.step_time, context.replicas[0].makespan + seconds{0.5});
  EXPECT_EQ(context.lower_bound, context.replicas[0].lower_bound + seconds{0.5});
}

TEST(Planner, CountsMemoryInTheUnitOfTheLimitOrElseInBytesWhereItCan) {
  shape on{.stages = 2};
  EXPECT_EQ(planner{on}(mixed).value().memory_unit, memory_unit::token);
  const plan in_bytes = planner{on, slicers::equal_cost{}, with_bytes{}}(mixed).value();
  EXPECT_EQ(in_bytes.memory_unit, memory_unit::byte);
  EXPECT_GE(in_bytes.replicas[0].peak_memory[1], 2000.0 + 2 * 65536);  // what is fixed, and the longest sequence
  on.memory = memory_limit{memory_unit::token, 1e6};
  const plan limited = planner{on, slicers::equal_cost{}, with_bytes{}}(mixed).value();
  EXPECT_EQ(limited.memory_unit, memory_unit::token);
  EXPECT_LE(limited.replicas[0].peak_memory[0], 117665);  // no more tokens than there are
}

TEST(Planner, BoundsEachReplicaByItsOwnSequences) {
  const plan made = planner{{.stages = 2, .replicas = 2}}(mixed).value();
  for (const replica_plan& r : made.replicas) {
    std::vector<sequence> own;
    for (const sequence_id s : r.sequences)
      if (std::none_of(made.merges.begin(), made.merges.end(), [&](const merge& m) { return m.sequence == s; }))
        own.push_back({s, mixed[s.value]});
    seconds largest{};
    for (const bound& b : simulators::lower_bounds(costs::quadratic{}, {.stages = 2}, own, r.rates))
      largest = std::max(largest, b.time);
    EXPECT_EQ(r.lower_bound, largest);
  }
}

}  // namespace
}  // namespace slimpack::planner_test
