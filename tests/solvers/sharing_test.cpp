#include <slimpack/core/merge.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/plan_laws.hpp>

#include "../laws/cases.hpp"
#include "batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

/// Plans whose replicas share sequences.
namespace slimpack::sharing_test {
namespace {

const costs::quadratic pipeline_cost{.per_pack = {6e-5}, .hop = {2e-5}};

/// Two giants and 40 short sequences.
std::vector<tokens> giants() {
  std::vector<tokens> lengths{{100000}, {60000}};
  for (std::int64_t i = 0; i < 40; ++i) lengths.push_back({500 + 40 * i});
  return lengths;
}

template <class Schedule>
void keep_the_laws(const Schedule& schedule, int chunks) {
  const solvers::two_phase solver{.effort = solvers::search_budget::fast()};
  int k = 0;
  for (const int replicas : {2, 3, 5}) {
    for (const int stages : {1, 4}) {
      for (const bool limited : {false, true}) {
        if (!tests::is_tried(k++)) continue;
        shape on{.stages = stages, .replicas = replicas, .chunks = chunks};
        if (limited) on.memory = memory_limit{memory_unit::token, 60000};
        const plan made = planner{on, slicers::equal_cost{}, pipeline_cost, solver, schedule}(giants()).value();
        const testing::report found = testing::plan_laws(made, pipeline_cost);
        EXPECT_TRUE(found) << replicas << " replicas, " << stages << " stages: " << found;
        EXPECT_FALSE(made.merges.empty()) << replicas << " replicas, " << stages << " stages";
      }
    }
  }
}

TEST(SharedSequences, KeepThePlanLaws) { keep_the_laws(schedules::list{}, 1); }
TEST(SharedSequences, KeepThePlanLawsWithVirtualStages) { keep_the_laws(schedules::one_f_one_b{}, 2); }
TEST(SharedSequences, KeepThePlanLawsWithWeightGradientsApart) { keep_the_laws(schedules::zero_bubble{}, 1); }

// 100000 tokens under a limit of 21000: 782 quanta of 128, 157 of them on the fullest of 5 = 20096 tokens; of 4, 25088.
TEST(SharedSequences, TakeAsManyReplicasAsMemoryNeeds) {
  shape on{.stages = 2, .replicas = 6};
  on.memory = memory_limit{memory_unit::token, 21000};
  const plan made =
      planner{on, slicers::equal_cost{}, pipeline_cost}(tests::lengths_of({100000, 3000, 2000, 1000})).value();
  ASSERT_EQ(made.merges.size(), 3u);  // where all replicas run together it pays to share all that is not light
  EXPECT_EQ(made.merges[0].sequence.value, 0u);
  EXPECT_GE(made.merges[0].replicas.size(), 5u);
  EXPECT_TRUE(testing::plan_laws(made, pipeline_cost));
}

/// What is kept of others takes as much room as it says, and travels in no time.
struct crowded : costs::quadratic {
  double other_token{};
  explicit crowded(double kept) : quadratic(pipeline_cost), other_token(kept) {}
  [[nodiscard]] std::optional<memory_rates> memory(int) const {
    return memory_rates{.live_token = 4, .other_token = other_token};
  }
};

// Of 100000 tokens on two replicas each holds half at 4 bytes, 200000, and keeps of the other's half at 3, 150000.
TEST(SharedSequences, SendQueriesWhereWhatIsKeptHasNoRoom) {
  shape on{.stages = 1, .replicas = 2};
  const auto exchange_at = [&](double limit, exchange_set allowed) {
    on.memory = memory_limit{memory_unit::byte, limit};
    const solvers::two_phase solver{.effort = solvers::search_budget::fast(), .exchanges = allowed};
    const crowded cost(3);
    const result<plan> made = planner{on, slicers::equal_cost{}, cost, solver}(tests::lengths_of({100000, 3000, 2000}));
    if (!made) return made.error().detail;
    EXPECT_TRUE(testing::plan_laws(made.value(), cost));
    EXPECT_FALSE(made.value().merges.empty());
    return std::string(name_of(made.value().merges.at(0).exchange));
  };
  EXPECT_EQ(exchange_at(500e3, exchange_set::all()), "keep");
  EXPECT_EQ(exchange_at(300e3, {.queries = true}), "queries");
  EXPECT_NE(exchange_at(300e3, {}).find("the limit is 300000 bytes"), std::string::npos) << exchange_at(300e3, {});
  EXPECT_EQ(exchange_at(300e3, exchange_set::only(exchange::queries)), "queries");
}

TEST(SharedSequences, GoRoundARingInOneRow) {
  const auto planned = [](exchange_set allowed, std::int64_t length) {
    shape on{.stages = 1, .replicas = 2};
    on.memory = memory_limit{memory_unit::token, static_cast<double>(length) * 0.7};  // no replica holds all of it
    const solvers::two_phase solver{.effort = solvers::search_budget::fast(), .exchanges = allowed};
    return planner{on, slicers::equal_cost{}, pipeline_cost, solver}(tests::lengths_of({length}));
  };
  const result<plan> one_row = planned(exchange_set::all().without_keeping(), 512);
  ASSERT_TRUE(one_row) << one_row.error().detail;
  ASSERT_EQ(one_row.value().merges.size(), 1u);
  const merge& m = one_row.value().merges[0];
  EXPECT_EQ(m.exchange, m.forward.size() == 1 && m.backward.size() == 1 ? exchange::ring : exchange::queries);
  const result<plan> none = planned({.keep = false}, 512);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().detail,
            "no exchange is allowed between replicas that share a sequence: allow one of keep, "
            "queries and ring, or one sharer");
}

// A gain of less than a thousandth is no reason to share, where sharing has no price; a real one is.
TEST(SharedSequences, PayByAMarginWhereTheirExchangeIsFree) {
  const costs::quadratic free{.per_pack = {6e-5}};
  const auto shared = [&](double gain) {
    solvers::two_phase solver{.effort = solvers::search_budget::fast()};
    solver.options.sharing_gain = gain;
    return planner{shape{.stages = 2, .replicas = 2}, slicers::equal_cost{}, free, solver}(giants())
        .value()
        .merges.size();
  };
  EXPECT_GT(shared(0.002), 0u) << "100000 tokens against 60000";
  EXPECT_EQ(shared(1), 0u);
}

// 31 quanta for 3 sharers: 10 each, and one over, which is in the first row; the second has 5 quanta a sharer.
TEST(SharedSequences, HaveWhatLanesCannotHaveAlikeInTheirFirstRow) {
  const tokens quantum{128};
  const sequence whole{{0}, quantum * 31};
  const detail::sharing_group on(3, quantum, std::span(&whole, 1));
  EXPECT_EQ(on.row({{0}, {0}, quantum * 5}), (slice{{0}, {0}, quantum * 16}));
  const slice second{{0}, quantum * 5, quantum * 5};
  EXPECT_EQ(on.row(second), (slice{{0}, quantum * 16, quantum * 15}));
  for (std::size_t sharer = 0; sharer < 3; ++sharer) {
    tokens own{};
    for (const slice& cut : on.slices(second, sharer)) own += cut.length;
    EXPECT_EQ(own, quantum * 5) << "sharer " << sharer;
  }
}

// 7, 7 and 7 quanta on 3 sharers: 2 each and one over, which falls to another sharer each time: 7 each.
TEST(SharedSequences, GiveWhatLanesCannotHaveAlikeToAllInTurn) {
  const tokens quantum{128};
  const std::vector<sequence> shared = batch_view(std::vector<tokens>(3, quantum * 7)).sequences();
  const detail::sharing_group on(3, quantum, shared);
  for (std::size_t sharer = 0; sharer < 3; ++sharer) {
    tokens own{};
    for (const sequence& s : on.stand_ins())
      for (const slice& cut : on.slices({s.id, {0}, s.length}, sharer)) own += cut.length;
    EXPECT_EQ(own, quantum * 7) << "sharer " << sharer;
  }
}

TEST(SharerSlices, TileTheRunWithSomeForEachSharer) {
  for (std::int64_t sharers = 1; sharers <= 7; ++sharers) {
    for (std::int64_t quanta = sharers; quanta <= 5 * sharers; ++quanta) {
      for (const std::int64_t missing : {0, 1}) {  // tokens of the last quantum
        const slice run{{3}, {500}, {128 * quanta - missing}};
        std::vector<slice> slices;
        for (std::int64_t j = 0; j < sharers; ++j) {
          tokens own{};
          for (const slice& cut : detail::slices_of_sharer(run, j, sharers, {128})) {
            own += cut.length;
            if (cut.length > tokens{0}) slices.push_back(cut);
          }
          EXPECT_GT(own, tokens{0}) << quanta << " quanta, sharer " << j << " of " << sharers;
        }
        std::sort(slices.begin(), slices.end(), [](const slice& a, const slice& b) { return a.begin < b.begin; });
        tokens at = run.begin;
        for (const slice& cut : slices) {
          EXPECT_EQ(cut.begin, at) << quanta << " quanta of " << sharers << " sharers";
          at = cut.end();
        }
        EXPECT_EQ(at, run.end());
      }
    }
  }
}

// 28 quanta of 3 sharers: the first 4 in turn, 2, 1 and 1; of 6 slices of 4 each has two, with as many pairs.
TEST(SharerSlices, HaveAsManyPairsButForTheFirstQuanta) {
  std::vector<double> pairs;
  for (std::int64_t j = 0; j < 3; ++j) {
    const detail::sharer_slices own = detail::slices_of_sharer({{0}, {1280}, {128 * 28}}, j, 3, {128});
    EXPECT_EQ(own[0].length, tokens{j == 0 ? 256 : 128});
    EXPECT_LE(own[0].end(), tokens{1280 + 4 * 128});
    pairs.push_back(own[1].pairs() + own[2].pairs());
  }
  EXPECT_EQ(pairs[0], pairs[1]);
  EXPECT_EQ(pairs[0], pairs[2]);
}

// One of 6000 among 90 near 1000, 30 to a sharer: neighbours by length beside it differ by no more than 1500 in all.
TEST(DealtInTuples, LevelLanesWhereNeighboursAloneCannot) {
  testing::generator random(21);
  for (int round = 0; round < 50; ++round) {
    std::vector<tokens> lengths{{6000}};
    for (int i = 0; i < 90; ++i) lengths.push_back({random.between(500, 1500)});
    const std::vector<sequence> own = batch_view(lengths).sequences();
    std::vector<double> work;
    for (const sequence& s : own) work.push_back(static_cast<double>(s.length.value));
    std::vector<double> load{100000, 100000, 100000};
    std::vector<int> times(own.size(), 0);
    for (const std::vector<sequence>& tuple : detail::dealt_in_tuples(own, work, load)) {
      ASSERT_EQ(tuple.size(), 3u);
      for (std::size_t sharer = 0; sharer < 3; ++sharer) {
        if (tuple[sharer].length == tokens{0}) continue;
        ++times[tuple[sharer].id.value];
        load[sharer] += static_cast<double>(tuple[sharer].length.value);
      }
    }
    EXPECT_EQ(times, std::vector<int>(own.size(), 1)) << "seed 21, round " << round;
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, solvers::default_search_options.tuning.level_enough * *most * 1.1)
        << "seed 21, round " << round;
  }
}

TEST(SharedSequences, AreNoneWhereNoReplicasMayShare) {
  const plan made = planner{shape{.stages = 2, .replicas = 3}, slicers::equal_cost{}, pipeline_cost,
                            solvers::two_phase{.most_sharers = 1}}(giants())
                        .value();
  EXPECT_TRUE(made.merges.empty());
}

// 95 of 100 sequences near 1000 tokens, the others of up to 150000, on 8 to 24 replicas: some of those are more than a
// replica's mean work, and short ones level the rest.
TEST(SharedSequences, LevelReplicasOfShortAndLongSequences) {
  const costs::quadratic free{};
  testing::generator random(22);
  for (int round = 0; round < tests::cases(4); ++round) {
    const int replicas = static_cast<int>(random.between(8, 24));
    std::vector<tokens> lengths;
    double tokens_of_all = 0;
    double work = 0;
    for (int i = 0; i < 300; ++i) {
      lengths.push_back({i % 20 == 0 ? random.between(20000, 150000) : random.between(500, 2000)});
      const auto n = static_cast<double>(lengths.back().value);
      tokens_of_all += n;
      work += 3 * free.linear * n + 3.5 * free.attention * n * (n + 1) / 2;
    }
    const shape on{.replicas = replicas, .memory = memory_limit{memory_unit::token, 1.25 * tokens_of_all / replicas}};
    const solvers::two_phase solver{.effort = solvers::search_budget::fast()};
    const plan made = planner{on, slicers::equal_cost{}, free, solver}(lengths).value();
    EXPECT_LE(made.step_time.value * replicas / work, 1.003) << "seed 22, round " << round;
    EXPECT_TRUE(testing::plan_laws(made, free)) << "seed 22, round " << round;
    for (const replica_plan& r : made.replicas) EXPECT_LE(r.peak_memory.front(), on.memory->amount);
  }
}

TEST(SharedSequences, MakeStepsShorter) {
  const shape on{.stages = 4, .replicas = 4};
  const seconds apart =
      planner{on, slicers::equal_cost{}, pipeline_cost, solvers::two_phase{.most_sharers = 1}}(giants())
          .value()
          .step_time;
  const plan made = planner{on, slicers::equal_cost{}, pipeline_cost}(giants()).value();
  EXPECT_FALSE(made.merges.empty());
  EXPECT_LT(made.step_time, apart * 0.5);
}

// One sequence is as long as all the others together, several times a replica's mean work where nobody shares it.
TEST(SharedSequences, AreInTheFirstPlanOfAStoppedSearchWhereTheyMustBe) {
  std::stop_source stop;
  stop.request_stop();
  testing::generator random(38);
  for (int round = 0; round < tests::cases(4); ++round) {
    const shape on{.stages = 2, .replicas = static_cast<int>(random.between(6, 12))};
    std::vector<tokens> lengths;
    tokens of_all{};
    for (int i = 0; i < 200; ++i) of_all += lengths.emplace_back(tokens{random.between(500, 8000)});
    lengths.push_back(of_all);
    const plan stopped = planner{on, slicers::equal_cost{}, pipeline_cost}(lengths, stop.get_token()).value();
    double work = 0;
    for (const tokens length : lengths)
      for (const pass p : both_passes) work += pipeline_cost.time(slice{{}, {0}, length}, p, 0).value;
    EXPECT_LE(stopped.step_time.value * on.replicas / work, 1.5) << "seed 38, round " << round;
    EXPECT_TRUE(testing::plan_laws(stopped, pipeline_cost)) << "seed 38, round " << round;
  }
}

}  // namespace
}  // namespace slimpack::sharing_test
