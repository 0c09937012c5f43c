#include <slimpack/executors/detail/stage_script.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::stage_script_test {

/// One sequence of 8 tokens, in one pack each way, on one stage.
plan one_pack() {
  plan p;
  p.lengths = {{8}};
  p.shape.stages = p.shape.replicas = p.shape.chunks = 1;
  replica_plan& r = p.replicas.emplace_back();
  r.sequences = {{0}};
  for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) {
    packs->append({{0}, {0}, {8}});
    packs->close();
  }
  r.programs = {{{instruction_kind::forward, {0}, 0}, {instruction_kind::backward, {0}, 0}}};
  return p;
}

void refused(const plan& p, int rank) {
  for (const backward_cuts cuts : {backward_cuts::any, backward_cuts::forward_cuts}) {
    const auto script = detail::stage_script::of(p, rank, cuts, exchange_set::none());
    ASSERT_FALSE(script);
    EXPECT_EQ(script.error().code, errc::invalid_input);
  }
}

TEST(StageScript, IsThatOfARankThatThePlanHas) {
  EXPECT_TRUE(detail::stage_script::of(one_pack(), 0, backward_cuts::any, exchange_set::none()));
  for (const int rank : {-1, 1, std::numeric_limits<int>::max()}) refused(one_pack(), rank);
  for (int shape::*degree : {&shape::stages, &shape::replicas, &shape::chunks}) {
    plan p = one_pack();
    p.shape.*degree = 0;
    refused(p, 0);
  }
}

TEST(StageScript, RefusesSlicesThatLeaveTheirSequence) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const slice& wrong : {slice{{0}, {-1}, {9}}, slice{{0}, {0}, {9}}, slice{{0}, {0}, {0}}, slice{{0}, {8}, {-8}},
                             slice{{0}, {1}, {most}}, slice{{1}, {0}, {8}}}) {
    plan p = one_pack();
    p.replicas[0].partition.forward = {};
    p.replicas[0].partition.forward.append(wrong);
    p.replicas[0].partition.forward.close();
    refused(p, 0);
  }
}

TEST(StageScript, RefusesLengthsThatNoSequenceHas) {
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-8}, std::int64_t{1} << 62}) {
    plan p = one_pack();
    p.lengths = {{length}};
    for (micropacks* packs : {&p.replicas[0].partition.forward, &p.replicas[0].partition.backward}) {
      *packs = {};
      packs->append({{0}, {0}, {length}});
      packs->close();
    }
    refused(p, 0);
  }
}

TEST(StageScript, RefusesAQuantumThatCutsNowhere) {
  for (const std::int64_t quantum : {std::int64_t{0}, std::numeric_limits<std::int64_t>::min()}) {
    plan p = one_pack();
    p.shape.quantum = {quantum};
    refused(p, 0);
  }
}

/// Two replicas of one stage share a sequence of 16 tokens, in rows of 8; the first two of a row and its last two are
/// the first one's.
plan shared_rows() {
  plan p;
  p.lengths = {{16}};
  p.shape = {.replicas = 2, .quantum = {2}};
  p.replicas.resize(2);
  p.merges = {{{0}, {0, 1}, {{{0}, {0}}, {{1}, {1}}}, {{{0}, {0}}, {{1}, {1}}}}};
  for (int r = 0; r < 2; ++r) {
    replica_plan& one = p.replicas[static_cast<std::size_t>(r)];
    one.sequences = {{0}};
    for (const std::int64_t row : {0, 8}) {
      for (const pass way : both_passes) {
        const std::int64_t begin = way == pass::forward ? row : 8 - row;
        micropacks& packs = one.partition.of(way);
        if (r == 1)
          packs.append({{0}, {begin + 2}, {4}});
        else if (way == pass::forward)
          packs.append({{0}, {begin}, {2}}), packs.append({{0}, {begin + 6}, {2}});
        else
          packs.append({{0}, {begin + 6}, {2}}), packs.append({{0}, {begin}, {2}});
        packs.close();
      }
    }
    one.programs = {{{instruction_kind::forward, {0}},
                     {instruction_kind::forward, {1}},
                     {instruction_kind::backward, {0}},
                     {instruction_kind::backward, {1}}}};
  }
  return p;
}

std::string why_refused(const plan& p) {
  const auto script = detail::stage_script::of(p, 0, backward_cuts::any, exchange_set::all());
  return script ? "" : script.error().detail;
}

TEST(SharedRows, SayWhatEachSharerSendsAndNeeds) {
  const auto script = detail::stage_script::of(shared_rows(), 0, backward_cuts::any, exchange_set::all());
  ASSERT_TRUE(script) << script.error().detail;
  const detail::shared_sequence& s = script.value().shared.all().at(0);
  // Replica 1 ends at token 14: the last two of replica 0 come before none of its tokens, and never travel.
  EXPECT_EQ(s.rows.forward[0].sent, (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(s.rows.forward[1].sent, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(s.rows.forward[1].others, (std::vector<slice>{{{0}, {10}, {4}}}));
  EXPECT_EQ(s.rows.backward[0].sent, (std::vector<std::int64_t>{0, 2}));
  const piece& last = script.value().forward.pieces.back();
  EXPECT_TRUE(last.shared && last.is_own_last() && last.is_last());
  const auto other = detail::stage_script::of(shared_rows(), 1, backward_cuts::any, exchange_set::all());
  const piece& first = other.value().forward.pieces.front();
  EXPECT_TRUE(first.is_own_first() && !first.is_first());
  EXPECT_TRUE(other.value().forward.pieces.back().is_own_last() && !other.value().forward.pieces.back().is_last());
}

TEST(SharedRows, AreRefusedWhereTheyOverlapOrLeaveAGap) {
  for (const slice& wrong : {slice{{0}, {4}, {4}}, slice{{0}, {2}, {2}}, slice{{0}, {2}, {6}}}) {
    plan p = shared_rows();
    micropacks& packs = p.replicas[1].partition.forward;
    packs = {};
    packs.append(wrong), packs.close();
    packs.append({{0}, {10}, {4}}), packs.close();
    EXPECT_NE(why_refused(p).find("in forward row 0 on replica "), std::string::npos) << why_refused(p);
  }
}

TEST(SharedRows, AreRefusedWhereSharersDisagree) {
  plan p = shared_rows();
  p.merges[0].forward[1] = {{1}};
  EXPECT_NE(why_refused(p).find("has a forward row, 1, of 1 packs for 2 replicas"), std::string::npos)
      << why_refused(p);
  p = shared_rows();
  p.merges[0].forward[1] = {{1}, {2}};
  EXPECT_NE(why_refused(p).find("names pack 2 of replica 1, which has 2"), std::string::npos) << why_refused(p);
  p = shared_rows();
  p.merges[0].replicas = {1, 0};
  EXPECT_NE(why_refused(p).find("in ascending order"), std::string::npos) << why_refused(p);
  p = shared_rows();
  p.merges.clear();
  EXPECT_NE(why_refused(p).find("is on 2 replicas"), std::string::npos) << why_refused(p);
  p = shared_rows();
  std::swap(p.replicas[0].partition.backward, p.replicas[1].partition.backward);
  EXPECT_NE(why_refused(p).find("runs other tokens backward than forward"), std::string::npos) << why_refused(p);
}

// The first two tokens are a row of replica 0 alone, the next six of replica 1.
TEST(SharedRows, OfWhichASharerHasNothingAreTakenWithItsNextAndOwedWithTheOneBefore) {
  plan p;
  p.lengths = {{8}};
  p.shape = {.replicas = 2, .quantum = {2}};
  p.replicas.resize(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.replicas[r].sequences = {{0}};
    for (const pass way : both_passes) {
      micropacks& packs = p.replicas[r].partition.of(way);
      packs.append(r == 0 ? slice{{0}, {0}, {2}} : slice{{0}, {2}, {6}});
      packs.close();
    }
    p.replicas[r].programs = {{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  }
  p.merges = {{{0}, {0, 1}, {{{0}, merge::none}, {merge::none, {0}}}, {{merge::none, {0}}, {{0}, merge::none}}}};
  const auto script = detail::stage_script::of(p, 1, backward_cuts::any, exchange_set::all());
  ASSERT_TRUE(script) << script.error().detail;
  const by_pass<std::vector<detail::row_part>>& rows = script.value().shared.all().at(0).rows;
  EXPECT_EQ(rows.forward[1].known, (std::vector<slice>{{{0}, {0}, {2}}}));
  EXPECT_EQ(rows.forward[1].beside, std::vector<std::uint32_t>{0});
  EXPECT_EQ(rows.backward[0].known, (std::vector<slice>{{{0}, {0}, {2}}}));
  EXPECT_EQ(rows.backward[0].beside, std::vector<std::uint32_t>{1});
  using kind = detail::transfer_script::kind;
  EXPECT_EQ(script.value().transfers.steps,
            (std::vector<detail::transfer_script::step>{
                {kind::absent, 0}, {kind::rows, 0}, {kind::rows, 1}, {kind::absent, 1}}));
  // Replica 0 needs nothing of the other: nobody attends to what comes later.
  const auto first = detail::stage_script::of(p, 0, backward_cuts::any, exchange_set::all());
  EXPECT_TRUE(first.value().shared.all().at(0).rows.forward[0].known.empty());

  p.merges[0].exchange = exchange::queries;
  EXPECT_NE(why_refused(p).find("has a forward row, 0, without a pack of replica 1, which is for exchange::keep alone"),
            std::string::npos)
      << why_refused(p);
  p.merges[0].exchange = exchange::keep;
  p.merges[0].forward.push_back({merge::none, merge::none});
  EXPECT_NE(why_refused(p).find("has a forward row, 2, that names no pack"), std::string::npos) << why_refused(p);
}

// Two sequences of 8 tokens, each one row of two replicas, that run them in other orders.
TEST(SharedRows, AreRefusedWhereReplicasRunThemInDifferentOrders) {
  plan p;
  p.lengths = {{8}, {8}};
  p.shape = {.replicas = 2, .quantum = {2}};
  p.replicas.resize(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    p.replicas[r].sequences = {{0}, {1}};
    for (const pass way : both_passes)
      for (std::uint32_t k = 0; k < 2; ++k) {
        p.replicas[r].partition.of(way).append({{(r + k) % 2}, {4 * r}, {4}});
        p.replicas[r].partition.of(way).close();
      }
    p.replicas[r].programs = {{{instruction_kind::forward, {0}},
                               {instruction_kind::forward, {1}},
                               {instruction_kind::backward, {0}},
                               {instruction_kind::backward, {1}}}};
  }
  p.merges = {{{0}, {0, 1}, {{{0}, {1}}}, {{{0}, {1}}}}, {{1}, {0, 1}, {{{1}, {0}}}, {{{1}, {0}}}}};
  EXPECT_NE(why_refused(p).find("which begins together with it and waits itself"), std::string::npos) << why_refused(p);
}

/// A prompt of 6 tokens, two answers to it, of 4 and 3, and a follow-up of 2 behind the first; on one of two replicas,
/// in one pack each way. A sample ends within the prompt, too. The first token of each answer is a target.
plan a_forest() {
  plan p;
  p.lengths = {{6}, {4}, {2}, {3}};
  p.parents = {no_parent, {0}, {1}, {0}};
  p.samples = {{{0}, {5}}, {{2}, {12}, 2}, {{3}, {9}}};
  p.targets = {{{0}, {3}, {2}, 4, 1.5}, {{1}, {6}, {4}, 2, 1}, {{3}, {6}, {1}, 1, -1}};
  p.shape = {.replicas = 2, .quantum = {2}};
  p.replicas.resize(2);
  replica_plan& r = p.replicas[0];
  r.sequences = {{0}, {1}, {2}, {3}};
  for (const slice& s :
       {slice{{0}, {0}, {4}}, slice{{0}, {4}, {2}}, slice{{1}, {6}, {4}}, slice{{2}, {10}, {2}}, slice{{3}, {6}, {3}}})
    r.partition.forward.append(s);
  for (const slice& s : {slice{{3}, {6}, {3}}, slice{{2}, {10}, {2}}, slice{{1}, {6}, {4}}, slice{{0}, {0}, {6}}})
    r.partition.backward.append(s);
  for (const pass way : both_passes) r.partition.of(way).close();
  r.programs = {{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}}};
  return p;
}

TEST(Forests, TellPiecesTheirPathsTheirEdgesAndTheirSamples) {
  const auto made = detail::stage_script::of(a_forest(), 0, backward_cuts::any, exchange_set::none());
  ASSERT_TRUE(made) << made.error().detail;
  const detail::stage_script& script = made.value();
  const std::vector<piece>& forward = script.forward.pieces;
  ASSERT_EQ(forward.size(), 5u);
  const auto edges = [](const piece& p) { return std::vector<target_run>(p.edges.begin(), p.edges.end()); };
  const auto prefix = [](const piece& p) { return std::vector<slice>(p.prefix.begin(), p.prefix.end()); };
  // Target 4 is predicted by token 3; the last token predicts the first of each answer.
  EXPECT_EQ(edges(forward[0]), (std::vector<target_run>{{{0}, {3}, {2}, 4, 1.5}}));
  EXPECT_EQ(edges(forward[1]), (std::vector<target_run>{{{1}, {6}, {1}, 2, 1}, {{3}, {6}, {1}, 1, -1}}));
  EXPECT_EQ(edges(forward[2]), (std::vector<target_run>{{{1}, {7}, {3}, 2, 1}}));
  EXPECT_TRUE(edges(forward[3]).empty() && edges(forward[4]).empty());
  EXPECT_EQ(edges(script.backward.pieces[3]),
            (std::vector<target_run>{{{0}, {3}, {2}, 4, 1.5}, {{1}, {6}, {1}, 2, 1}, {{3}, {6}, {1}, 1, -1}}));
  EXPECT_TRUE(prefix(forward[0]).empty());
  EXPECT_EQ(prefix(forward[3]), (std::vector<slice>{{{0}, {0}, {6}}, {{1}, {6}, {4}}}));
  EXPECT_EQ(prefix(forward[4]), (std::vector<slice>{{{0}, {0}, {6}}}));
  EXPECT_TRUE(forward[3].is_own_first() && forward[3].is_own_last() && forward[3].sequence_begin == tokens{10});
  std::vector<std::uint32_t> samples;
  for (const piece& p : forward) samples.push_back(p.samples);
  EXPECT_EQ(samples, (std::vector<std::uint32_t>{4, 4, 2, 2, 1}));
  ASSERT_EQ(forward[1].ends.size(), 1u);
  EXPECT_EQ(forward[1].ends[0], (sample_end{{0}, {5}}));
  EXPECT_TRUE(forward[0].ends.empty() && forward[2].ends.empty());
  EXPECT_EQ(forward[3].ends[0].count, 2u);
  EXPECT_TRUE(script.outline.has_targets);
  EXPECT_EQ(script.outline.tokens_in_flight, tokens{15});
}

TEST(Forests, EndASampleWithEachLeafWhereTheyDoNotSay) {
  plan p = a_forest();
  p.samples.clear(), p.targets.clear();
  const auto made = detail::stage_script::of(p, 0, backward_cuts::any, exchange_set::none());
  ASSERT_TRUE(made) << made.error().detail;
  const std::vector<piece>& forward = made.value().forward.pieces;
  EXPECT_EQ(forward[0].samples, 2u);
  EXPECT_TRUE(forward[0].ends.empty() && forward[1].ends.empty() && forward[2].ends.empty());
  EXPECT_EQ(forward[3].ends.front(), (sample_end{{2}, {12}}));
  EXPECT_EQ(forward[4].ends.front(), (sample_end{{3}, {9}}));
  EXPECT_TRUE(forward[1].edges.empty());
  EXPECT_FALSE(made.value().outline.has_targets);
}

TEST(Forests, GiveAReplicaWithoutWorkTheBeginningOfARoot) {
  const auto made = detail::stage_script::of(a_forest(), 1, backward_cuts::any, exchange_set::none());
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_TRUE(made.value().outline.idle);
  const piece& only = made.value().forward.pieces.at(0);
  EXPECT_EQ(only.slice, (slice{{0}, {0}, {2}})) << "though another sequence is shorter";
  EXPECT_TRUE(only.is_own_first() && only.is_own_last() && only.prefix.empty() && only.edges.empty());
  EXPECT_EQ(only.samples, 0u);
}

TEST(Forests, AreRefusedWhereAParentRunsAfterItsChild) {
  plan p = a_forest();
  micropacks& forward = p.replicas[0].partition.forward;
  forward = {};
  for (const slice& s : {slice{{3}, {6}, {3}}, slice{{0}, {0}, {6}}, slice{{1}, {6}, {4}}, slice{{2}, {10}, {2}}})
    forward.append(s);
  forward.close();
  EXPECT_FALSE(detail::stage_script::of(p, 0, backward_cuts::any, exchange_set::none()));
}

}  // namespace slimpack::stage_script_test
