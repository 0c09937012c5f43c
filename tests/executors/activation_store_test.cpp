#include <slimpack/basic_planner.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/executors/activation_store.hpp>
#include <slimpack/executors/detail/script/path_facts.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/zero_bubble.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/plan_graphs.hpp>
#include <slimpack/simulators/sweep.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"
#include "../solvers/batches.hpp"
#include "forests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::activation_store_test {
namespace {

using store = executors::activation_store<float>;

/// Two layers of fields 3 and 2 wide, the second with one more of 1; accumulators of 2 in each: 4 (5 + 6) = 44 and
/// 4 (2 + 2) = 16 bytes a token.
const store::layout small{{{3, 2}, {3, 2, 1}}, {{2}, {2}}};

piece part_of(std::uint32_t sequence, std::int64_t begin, std::int64_t end, std::int64_t length) {
  return {{{sequence}, {begin}, {end - begin}}, {length}, 0, 0};
}

store two_pages() {
  store s(std::vector{small}, {4});
  EXPECT_TRUE(s.append(part_of(7, 0, 4, 6)));
  EXPECT_TRUE(s.append(part_of(7, 4, 6, 6)));
  return s;
}

TEST(ActivationStore, CountsWhatItAllocates) {
  store s(std::vector{small}, {4});
  EXPECT_EQ(s.bytes_per_token(), bytes{44});
  EXPECT_EQ(s.gradient_bytes_per_token(), bytes{16});
  EXPECT_TRUE(s.append(part_of(7, 0, 4, 6)));
  EXPECT_EQ(s.held(), bytes{4 * 44});
  EXPECT_TRUE(s.append(part_of(7, 4, 6, 6)));
  EXPECT_EQ(s.held(), bytes{6 * 44});
  EXPECT_TRUE(s.begin_backward(part_of(7, 4, 6, 6)));
  EXPECT_EQ(s.held(), bytes{6 * 44 + 6 * 16});
  EXPECT_TRUE(s.end_backward(part_of(7, 4, 6, 6)));
  EXPECT_EQ(s.held(), bytes{4 * 44 + 4 * 16});
  EXPECT_TRUE(s.begin_backward(part_of(7, 0, 4, 6)));
  EXPECT_TRUE(s.end_backward(part_of(7, 0, 4, 6)));
  EXPECT_EQ(s.held(), bytes{0});
  EXPECT_EQ(s.peak(), bytes{6 * 44 + 6 * 16});
}

TEST(ActivationStore, MakesNoAccumulatorsForASequenceThatRunsBackwardAtOnce) {
  store s = two_pages();
  EXPECT_TRUE(s.begin_backward(part_of(7, 0, 6, 6)));
  EXPECT_EQ(s.held(), bytes{6 * 44});
  EXPECT_TRUE(s.visit(part_of(7, 0, 6, 6), [](const store::page& p) { EXPECT_TRUE(p.gradients({1, 0}).empty()); }));
}

TEST(ActivationStore, AccumulatorsBeginAtZeroAndKeepTheirSums) {
  store s = two_pages();
  ASSERT_TRUE(s.begin_backward(part_of(7, 4, 6, 6)));
  const auto add = [](const store::page& p) {
    for (float& f : p.gradients({1, 0})) f += static_cast<float>(p.begin().value + 1);
  };
  ASSERT_TRUE(s.visit(part_of(7, 0, 6, 6), add));
  ASSERT_TRUE(s.end_backward(part_of(7, 4, 6, 6)));
  ASSERT_TRUE(s.visit(part_of(7, 0, 4, 6), add));
  std::vector<float> found;
  ASSERT_TRUE(s.visit(part_of(7, 0, 4, 6), [&](const store::page& p) {
    for (const float f : p.gradients({1, 0})) found.push_back(f);
  }));
  EXPECT_EQ(found, std::vector<float>(8, 2));
}

TEST(ActivationStore, VisitsAPrefixPageByPage) {
  store s = two_pages();
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
  ASSERT_TRUE(s.visit(part_of(7, 1, 5, 6), [&](const store::page& p) {
    seen.emplace_back(p.begin().value, p.end().value);
    EXPECT_EQ(p.activations({0, 0}).size(), static_cast<std::size_t>(3 * (p.end() - p.begin()).value));
  }));
  EXPECT_EQ(seen, (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 4}, {4, 5}}));
}

// The claim of asymmetric partitioning: rows come back by token, wherever the passes cut.
TEST(ActivationStore, RowsComeBackUnderOtherCuts) {
  constexpr std::uint64_t seed = 11;
  testing::generator random(seed);
  for (int i = tests::steps(40); i > 0; --i) {
    const std::int64_t quantum = random.between(1, 5);
    const std::int64_t length = random.between(1, 40);
    const auto cut = [&](std::int64_t at) { return std::min(length, (at / quantum + random.between(1, 4)) * quantum); };
    const auto value = [](std::int64_t token, std::size_t layer, std::size_t index, std::size_t column) {
      return static_cast<float>(static_cast<std::size_t>(token) * 100 + layer * 50 + index * 10 + column);
    };
    const auto rows_of = [&](const piece& p, std::size_t layer, std::size_t index) {
      std::vector<float> rows;
      for (std::int64_t t = p.slice.begin.value; t < p.slice.end().value; ++t)
        for (std::size_t c = 0; c < small.activations[layer][index]; ++c) rows.push_back(value(t, layer, index, c));
      return rows;
    };
    const auto each_field = [&](auto&& f) {
      for (std::size_t layer = 0; layer < 2; ++layer)
        for (std::size_t index = 0; index < small.activations[layer].size(); ++index) f(layer, index);
    };
    store s(std::vector{small}, {quantum});
    for (std::int64_t at = 0, next = 0; at < length; at = next) {
      next = cut(at);
      const piece p = part_of(3, at, next, length);
      ASSERT_TRUE(s.append(p));
      each_field([&](std::size_t layer, std::size_t index) {
        ASSERT_TRUE(s.write(p, {layer, index}, rows_of(p, layer, index)));
      });
    }
    std::vector<std::int64_t> cuts{0};
    while (cuts.back() < length) cuts.push_back(cut(cuts.back()));
    for (std::size_t k = cuts.size() - 1; k > 0; --k) {
      const piece p = part_of(3, cuts[k - 1], cuts[k], length);
      ASSERT_TRUE(s.begin_backward(p));
      each_field([&](std::size_t layer, std::size_t index) {
        std::vector<float> rows(rows_of(p, layer, index).size());
        ASSERT_TRUE(s.read(p, {layer, index}, rows));
        EXPECT_EQ(rows, rows_of(p, layer, index)) << "seed " << seed;
      });
      ASSERT_TRUE(s.end_backward(p));
    }
    EXPECT_EQ(s.held(), bytes{0});
  }
}

/// A sequence of 6 tokens behind one of 7, which is cut at 4; two tokens more than the quantum.
const slice parent_of_7{{2}, {0}, {7}};
piece child_part(std::uint32_t sequence, std::int64_t begin, std::int64_t end) {
  return {.slice = {{sequence}, {begin}, {end - begin}},
          .sequence_length = {6},
          .own_begin = {7},
          .own_end = {13},
          .sequence_begin = {7},
          .prefix = {&parent_of_7, 1}};
}
store a_fork() {
  store s(std::vector{small}, {4});
  EXPECT_TRUE(s.append(part_of(2, 0, 4, 7)));
  EXPECT_TRUE(s.append(part_of(2, 4, 7, 7)));
  for (const std::uint32_t child : {7u, 8u}) {
    EXPECT_TRUE(s.append(child_part(child, 7, 11)));
    EXPECT_TRUE(s.append(child_part(child, 11, 13)));
  }
  return s;
}

TEST(ActivationStore, VisitsAPathPageByPage) {
  store s = a_fork();
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
  ASSERT_TRUE(s.visit(child_part(8, 2, 12), [&](const store::page& p) {
    seen.emplace_back(p.begin().value, p.end().value);
    EXPECT_EQ(p.activations({0, 0}).size(), static_cast<std::size_t>(3 * (p.end() - p.begin()).value));
  }));
  EXPECT_EQ(seen, (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 4}, {4, 7}, {7, 11}, {11, 12}}));
  std::vector<float> rows(6 * 3, 2), found(6 * 3);
  ASSERT_TRUE(s.write(child_part(7, 5, 11), {0, 0}, rows));
  ASSERT_TRUE(s.read(child_part(7, 5, 11), {0, 0}, found));
  EXPECT_EQ(found, rows);
  EXPECT_EQ(s.visit(child_part(7, 5, 14), [](const store::page&) {}).error().detail,
            "access of sequence 7, tokens [5, 14) of 6, chunk 0: reaches beyond the 13 tokens held");
}

TEST(ActivationStore, AddsGradientsOfChildrenUpUntilTheirParentRuns) {
  store s = a_fork();
  const auto add = [](const store::page& p) {
    for (float& f : p.gradients({1, 0})) f += 1;
  };
  ASSERT_TRUE(s.begin_backward(child_part(8, 7, 13)));
  EXPECT_EQ(s.held(), bytes{19 * 44 + 7 * 16}) << "the child runs at once, its parent is added to";
  ASSERT_TRUE(s.visit(child_part(8, 0, 13), add));
  ASSERT_TRUE(s.end_backward(child_part(8, 7, 13)));
  ASSERT_TRUE(s.begin_backward(child_part(7, 11, 13)));
  EXPECT_EQ(s.held(), bytes{13 * 44 + 13 * 16});
  ASSERT_TRUE(s.visit(child_part(7, 0, 13), add));
  ASSERT_TRUE(s.begin_backward(child_part(7, 7, 11)));
  ASSERT_TRUE(s.begin_backward(part_of(2, 0, 7, 7))) << "in one pack, the child first";
  std::vector<float> found;
  ASSERT_TRUE(s.visit(part_of(2, 0, 7, 7), [&](const store::page& p) {
    for (const float f : p.gradients({1, 0})) found.push_back(f);
  }));
  EXPECT_EQ(found, std::vector<float>(14, 2));
  ASSERT_TRUE(s.end_backward(child_part(7, 11, 13)));
  ASSERT_TRUE(s.end_backward(child_part(7, 7, 11)));
  EXPECT_EQ(s.held(), bytes{7 * 44 + 7 * 16});
  ASSERT_TRUE(s.end_backward(part_of(2, 0, 7, 7)));
  EXPECT_EQ(s.held(), bytes{0});
}

std::string refusal(const result<void>& done) {
  if (done) return "accepted";
  return (done.error().code == errc::out_of_order ? "out of order: " : "invalid: ") + done.error().detail;
}

/// The same, where sharers send each other field 1 of both layers: 4 (2 + 2) = 16 bytes of a token of theirs.
const store::layout sending{small.activations, small.gradients, {1}};

/// Tokens of a sequence of 20 that others share; this replica runs [0, 4) and [12, 16).
piece shared_part(std::int64_t begin, std::int64_t end) {
  return {{{7}, {begin}, {end - begin}}, {20}, 0, 0, false, true, {0}, {16}};
}

TEST(ActivationStore, KeepsWithGapsWhatReplicasShare) {
  store s(std::vector{sending}, {4});
  const slice others{{7}, {4}, {8}};
  ASSERT_TRUE(s.append(shared_part(0, 4)));
  ASSERT_TRUE(s.append(shared_part(0, 4), {&others, 1}));
  EXPECT_EQ(s.held(), bytes{4 * 44 + 8 * 16});
  ASSERT_TRUE(s.append(shared_part(12, 16)));
  EXPECT_EQ(s.held(), bytes{8 * 44 + 8 * 16});

  // Found by token, whoever runs them; of others only what they send.
  std::vector<std::pair<std::int64_t, std::size_t>> seen;  // where, elements of the field that is not sent
  ASSERT_TRUE(s.visit(shared_part(0, 16), [&](const store::page& here) {
    EXPECT_EQ(here.activations({1, 1}).size(), 8u);
    seen.emplace_back(here.begin().value, here.activations({0, 0}).size());
  }));
  EXPECT_EQ(seen, (std::vector<std::pair<std::int64_t, std::size_t>>{{0, 12}, {4, 0}, {8, 0}, {12, 12}}));

  ASSERT_TRUE(s.begin_backward(shared_part(12, 16)));
  EXPECT_EQ(s.held(), bytes{8 * 44 + 8 * 16 + 16 * 16}) << "accumulators of the others' tokens, too";
  ASSERT_TRUE(s.end_backward(shared_part(12, 16)));
  ASSERT_TRUE(s.begin_backward(shared_part(0, 4)));
  ASSERT_TRUE(s.end_backward(shared_part(0, 4), {&others, 1}));
  EXPECT_EQ(s.held(), bytes{4 * 44 + 4 * 16});
  ASSERT_TRUE(s.end_backward(shared_part(0, 4)));
  EXPECT_EQ(s.held(), bytes{0});
}

// Where rows go round nothing of the others is kept.
TEST(ActivationStore, VisitsWhatIsHeldBetweenGaps) {
  store s(std::vector{small}, {4});
  EXPECT_EQ(s.visit_held(shared_part(0, 4), [](const store::page&) {}).error().code, errc::out_of_order)
      << "nothing is held";
  ASSERT_TRUE(s.append(shared_part(0, 4)));
  ASSERT_TRUE(s.append(shared_part(12, 16)));
  std::vector<std::int64_t> begins;
  const auto note = [&](const store::page& here) { begins.push_back(here.begin().value); };
  ASSERT_TRUE(s.visit_held(shared_part(0, 20), note));
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 12}));
  begins.clear();
  ASSERT_TRUE(s.visit_held(shared_part(0, 14), note));
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, 12}));
  EXPECT_EQ(s.visit(shared_part(0, 16), note).error().code, errc::out_of_order) << "which has a gap";
  EXPECT_EQ(s.visit_held(shared_part(0, 24), note).error().code, errc::out_of_order) << "which the sequence has not";
}

TEST(ActivationStore, RefusesOthersTokensThatAreHeldOrNot) {
  store s(std::vector{sending}, {4});
  ASSERT_TRUE(s.append(shared_part(0, 4)));
  const slice own{{7}, {0}, {4}}, off{{7}, {5}, {2}}, others{{7}, {4}, {8}};
  EXPECT_EQ(s.append(shared_part(0, 4), {&own, 1}).error().code, errc::invalid_input);
  EXPECT_EQ(s.append(shared_part(0, 4), {&off, 1}).error().code, errc::invalid_input);
  EXPECT_EQ(s.end_backward(shared_part(0, 4), {&others, 1}).error().code, errc::out_of_order);
  EXPECT_EQ(s.end_backward(shared_part(0, 4), {&own, 1}).error().code, errc::out_of_order);
  EXPECT_EQ(s.visit(shared_part(0, 8), [](const store::page&) {}).error().code, errc::out_of_order);
  EXPECT_EQ(s.begin_backward(shared_part(0, 4)).error().code, errc::out_of_order) << "[12, 16) has not run forward";
  EXPECT_EQ(s.held(), bytes{4 * 44});
}

TEST(ActivationStore, FreesOthersTokensTogetherOrNotAtAll) {
  store s(std::vector{sending}, {4});
  const std::vector<slice> others{{{7}, {4}, {4}}, {{7}, {8}, {4}}};
  ASSERT_TRUE(s.append(shared_part(0, 4), others));
  ASSERT_TRUE(s.append(shared_part(0, 4)));
  for (const slice& wrong : {slice{{7}, {0}, {4}}, slice{{7}, {16}, {4}}, slice{{7}, {9}, {2}}}) {  // own, not held,
                                                                                                    // off the quantum
    EXPECT_EQ(s.end_backward(shared_part(0, 4), std::vector{others[0], wrong}).error().code, errc::out_of_order);
    EXPECT_EQ(s.held(), bytes{4 * 44 + 8 * 16}) << "after an error nothing has changed";
  }
  ASSERT_TRUE(s.end_backward(shared_part(0, 4), others));
  EXPECT_EQ(s.held(), bytes{4 * 44});
}

TEST(ActivationStore, RefusesRowsOfAFieldThatOthersDoNotSend) {
  store s(std::vector{sending}, {4});
  const slice others{{7}, {4}, {8}};
  ASSERT_TRUE(s.append(shared_part(0, 4)));
  ASSERT_TRUE(s.append(shared_part(0, 4), {&others, 1}));
  ASSERT_TRUE(s.append(shared_part(12, 16)));
  const std::vector<float> own(4 * 3, 7);
  ASSERT_TRUE(s.write(shared_part(0, 4), {0, 0}, own));
  const std::vector<float> wrong(16 * 3, 5);
  std::vector<float> rows(16 * 3, 1);
  const std::string why =
      "out of order: access of sequence 7, tokens [0, 16) of 20, chunk 0: reaches over tokens of others, who do not "
      "send field 0";
  EXPECT_EQ(refusal(s.write(shared_part(0, 16), {0, 0}, wrong)), why);
  EXPECT_EQ(refusal(s.read(shared_part(0, 16), {0, 0}, rows)), why);
  EXPECT_EQ(rows, std::vector<float>(16 * 3, 1));
  std::vector<float> kept(4 * 3);
  ASSERT_TRUE(s.read(shared_part(0, 4), {0, 0}, kept));
  EXPECT_EQ(kept, own) << "after an error nothing has changed";
  // What they send is there for all.
  std::vector<float> sent(16 * 2), found(16 * 2);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<float>(i);
  ASSERT_TRUE(s.write(shared_part(0, 16), {0, 1}, sent));
  ASSERT_TRUE(s.read(shared_part(0, 16), {0, 1}, found));
  EXPECT_EQ(found, sent);
}

/// The same, where weight gradients that run apart need 3 and 1 elements more: 4 (3 + 1) = 16 bytes a token.
const store::layout splitting{small.activations, small.gradients, {}, {{3}, {1}}};

piece apart(piece p) {
  p.weights_apart = true;
  return p;
}

TEST(ActivationStore, KeepsWhatWeightGradientsNeedUntilTheyHaveRun) {
  store s(std::vector{splitting}, {4});
  EXPECT_EQ(s.weight_bytes_per_token(), bytes{16});
  const piece first = apart(part_of(7, 0, 4, 6)), last = apart(part_of(7, 4, 6, 6));
  ASSERT_TRUE(s.append(first));
  ASSERT_TRUE(s.append(last));
  ASSERT_TRUE(s.begin_backward(last));
  EXPECT_EQ(s.held(), bytes{6 * 44 + 6 * 16 + 2 * 16});
  ASSERT_TRUE(s.visit(last, [](const store::page& here) {
    EXPECT_EQ(here.weights({0, 0}).size(), 6u);
    EXPECT_EQ(here.weights({1, 0}).size(), 2u);
    std::ranges::fill(here.weights({1, 0}), 5.0f);
    std::ranges::fill(here.activations({1, 2}), 7.0f);
  }));
  ASSERT_TRUE(s.visit(first, [](const store::page& here) { EXPECT_TRUE(here.weights({0, 0}).empty()); }));
  ASSERT_TRUE(s.end_backward(last));
  EXPECT_EQ(s.held(), bytes{6 * 44 + 4 * 16 + 2 * 16}) << "accumulators go with B";
  ASSERT_TRUE(s.begin_backward(first));
  ASSERT_TRUE(s.end_backward(first));
  EXPECT_EQ(s.held(), bytes{6 * 44 + 6 * 16});
  ASSERT_TRUE(s.visit(last, [](const store::page& here) {
    EXPECT_EQ(here.weights({1, 0})[1], 5.0f);
    EXPECT_EQ(here.activations({1, 2})[1], 7.0f);
    EXPECT_TRUE(here.gradients({0, 0}).empty());
  }));
  ASSERT_TRUE(s.end_weights(last));
  EXPECT_EQ(s.held(), bytes{4 * 44 + 4 * 16});
  ASSERT_TRUE(s.end_weights(first));
  EXPECT_EQ(s.held(), bytes{0});
  EXPECT_EQ(s.rates().weight_token, 16);
}

TEST(ActivationStore, RefusesWeightGradientsThatNoBackwardLeft) {
  store s(std::vector{splitting}, {4});
  const piece whole = apart(part_of(7, 0, 6, 6));
  EXPECT_EQ(refusal(s.end_weights(whole)),
            "out of order: weight gradients of sequence 7, tokens [0, 6) of 6, chunk 0: were not left by a backward");
  ASSERT_TRUE(s.append(whole));
  EXPECT_EQ(s.end_weights(whole).error().code, errc::out_of_order);
  ASSERT_TRUE(s.begin_backward(whole));
  EXPECT_EQ(s.end_weights(whole).error().code, errc::out_of_order) << "its backward has not ended";
  ASSERT_TRUE(s.end_backward(whole));
  EXPECT_EQ(s.end_weights(apart(part_of(7, 0, 3, 6))).error().code, errc::out_of_order) << "off the quantum";
  EXPECT_EQ(s.end_weights(apart(part_of(7, 4, 9, 9))).error().code, errc::out_of_order) << "beyond its end";
  ASSERT_TRUE(s.end_weights(whole));
  EXPECT_EQ(s.end_weights(whole).error().code, errc::out_of_order) << "twice";
}

TEST(ActivationStore, RefusesAForwardThatDoesNotContinue) {
  store s(std::vector{small}, {4});
  EXPECT_EQ(refusal(s.append(part_of(7, 4, 6, 6))),
            "out of order: forward of sequence 7, tokens [4, 6) of 6, chunk 0: does not continue the 0 tokens held "
            "of 6");
  ASSERT_TRUE(s.append(part_of(7, 0, 4, 6)));
  for (const piece& wrong : {part_of(7, 0, 4, 6), part_of(7, 4, 8, 8), part_of(7, 4, 8, 6), part_of(7, 5, 6, 6)})
    EXPECT_EQ(s.append(wrong).error().code, errc::out_of_order);
  EXPECT_EQ(s.held(), bytes{4 * 44});
}

TEST(ActivationStore, RefusesABackwardBeforeTheLastForward) {
  store s(std::vector{small}, {4});
  ASSERT_TRUE(s.append(part_of(7, 0, 4, 6)));
  EXPECT_EQ(refusal(s.begin_backward(part_of(7, 0, 4, 6))),
            "out of order: backward of sequence 7, tokens [0, 4) of 6, chunk 0: begins after 4 of 6 tokens of forward");
}

TEST(ActivationStore, RefusesABackwardThatDoesNotEndWhereTheLastBegan) {
  store s = two_pages();
  EXPECT_EQ(refusal(s.begin_backward(part_of(7, 0, 4, 6))),
            "out of order: backward of sequence 7, tokens [0, 4) of 6, chunk 0: does not end at 6");
  ASSERT_TRUE(s.begin_backward(part_of(7, 4, 6, 6)));
  EXPECT_EQ(s.begin_backward(part_of(7, 4, 6, 6)).error().code, errc::out_of_order);
}

TEST(ActivationStore, RefusesAChildBeforeItsParentAndAParentBeforeItsChildren) {
  store s(std::vector{small}, {4});
  const std::string early =
      "out of order: forward of sequence 7, tokens [7, 11) of 6, chunk 0: goes on where sequence 2 ends, which has not "
      "run forward";
  EXPECT_EQ(refusal(s.append(child_part(7, 7, 11))), early);
  ASSERT_TRUE(s.append(part_of(2, 0, 4, 7)));
  EXPECT_EQ(refusal(s.append(child_part(7, 7, 11))), early);
  s = a_fork();
  ASSERT_TRUE(s.begin_backward(child_part(8, 7, 13)));
  EXPECT_EQ(refusal(s.begin_backward(part_of(2, 4, 7, 7))),
            "out of order: backward of sequence 2, tokens [4, 7) of 7, chunk 0: begins before that of 1 that go on "
            "where its sequence ends");
  s.discard({7});
  EXPECT_TRUE(s.begin_backward(part_of(2, 4, 7, 7)));
  s = a_fork();
  s.discard({2});
  EXPECT_EQ(refusal(s.begin_backward(child_part(8, 7, 13))),
            "out of order: backward of sequence 8, tokens [7, 13) of 6, chunk 0: reads sequence 2, which is not held");
  s.clear();
  EXPECT_EQ(s.held(), bytes{0});
}

TEST(ActivationStore, RefusesToFreeTwice) {
  store s = two_pages();
  ASSERT_TRUE(s.begin_backward(part_of(7, 4, 6, 6)));
  ASSERT_TRUE(s.end_backward(part_of(7, 4, 6, 6)));
  EXPECT_EQ(refusal(s.end_backward(part_of(7, 4, 6, 6))),
            "out of order: end of backward of sequence 7, tokens [4, 6) of 6, chunk 0: was not begun");
  EXPECT_EQ(s.end_backward(part_of(7, 0, 4, 6)).error().code, errc::out_of_order);  // not begun yet
}

TEST(ActivationStore, RefusesTokensThatAreNotHeld) {
  store s = two_pages();
  ASSERT_TRUE(s.begin_backward(part_of(7, 4, 6, 6)));
  ASSERT_TRUE(s.end_backward(part_of(7, 4, 6, 6)));
  std::vector<float> rows(2 * 3);
  EXPECT_EQ(refusal(s.read(part_of(7, 3, 5, 6), {0, 0}, rows)),
            "out of order: access of sequence 7, tokens [3, 5) of 6, chunk 0: reaches beyond the 4 tokens held");
  EXPECT_EQ(s.write(part_of(8, 0, 2, 6), {0, 0}, rows).error().code, errc::out_of_order);
}

TEST(ActivationStore, RefusesACutOffTheQuantumAndASpanOfAnotherSize) {
  store s = two_pages();
  EXPECT_EQ(refusal(s.append(part_of(8, 0, 3, 6))),
            "invalid: forward of sequence 8, tokens [0, 3) of 6, chunk 0: does not lie on the quantum, 4");
  EXPECT_EQ(refusal(s.begin_backward(part_of(7, 5, 6, 6))),
            "invalid: backward of sequence 7, tokens [5, 6) of 6, chunk 0: does not lie on the quantum, 4");
  std::vector<float> rows(5);
  EXPECT_EQ(refusal(s.read(part_of(7, 0, 2, 6), {0, 0}, rows)),
            "invalid: access of sequence 7, tokens [0, 2) of 6, chunk 0: of width 3 copies 5 elements");
}

TEST(ActivationStore, DropsASequenceOrAll) {
  store s = two_pages();
  ASSERT_TRUE(s.append(part_of(8, 0, 1, 1)));
  ASSERT_TRUE(s.begin_backward(part_of(7, 4, 6, 6)));
  s.discard({7});
  EXPECT_EQ(s.held(), bytes{44});
  s.clear();
  EXPECT_EQ(s.held(), bytes{0});
  EXPECT_TRUE(s.append(part_of(7, 0, 4, 6)));  // as in the next step
}

/// Prices packs as costs::quadratic does, and bytes as stores of some layouts measure them.
struct stored : costs::quadratic {
  std::vector<memory_rates> rates;
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const { return rates[static_cast<std::size_t>(stage)]; }
};

/// Runs a stage's program over a store, each pack's pieces together.
void replay(store& s, const replica_plan& plan, const detail::path_facts& paths, std::size_t stage) {
  for (const instruction& i : plan.programs[stage]) {
    std::vector<piece> pack;
    for (const slice& one : plan.partition.of(i.pass())[i.pack.value]) {
      piece& made = pack.emplace_back(paths.piece_of(one));
      made.chunk = i.chunk;
      made.weights_apart = i.pass() == pass::backward && plan.times.apart.splits(i.pack.value);
    }
    if (i.is_weights()) {
      for (const piece& p : pack) ASSERT_TRUE(s.end_weights(p));
      continue;
    }
    for (const piece& p : pack) ASSERT_TRUE(i.pass() == pass::forward ? s.append(p) : s.begin_backward(p));
    if (i.pass() == pass::forward) continue;
    for (const piece& p : pack) ASSERT_TRUE(s.end_backward(p));
  }
}

struct replayed {
  int stages{};          ///< whose peak was compared
  int forests{};         ///< plans of samples that share beginnings
  int asymmetric{};      ///< replicas whose backward packs are cut otherwise than their forward packs
  int with_gradients{};  ///< stages whose peak falls if accumulators are not counted
  int with_weights{};    ///< stages whose peak falls if what weight gradients need is not counted
};

bool same_slices(const micropacks& a, const micropacks& b) {
  const auto sorted = [](const micropacks& m) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> begins;
    for (const slice& s : m.slices()) begins.emplace_back(s.sequence.value, s.begin.value);
    std::ranges::sort(begins);
    return begins;
  };
  return sorted(a) == sorted(b);
}

/// Plans a batch and holds every stage's measured peak to the planned one, to the byte.
template <class Solver, class Schedule>
void compare(const shape& on, const batch_view& batch, const std::vector<std::vector<store::layout>>& layouts,
             const Solver& solver, const Schedule& schedule, replayed& so_far) {
  stored cost{{.per_pack = {2e-5}, .hop = {1e-5}}, {}};
  for (const std::vector<store::layout>& l : layouts) cost.rates.push_back(store(l, on.quantum).rates());
  const result<plan> made =
      basic_planner(on, slicers::equal_cost{}, cost, solver, schedule, simulators::sweep{})(batch);
  if (!made) {
    ASSERT_EQ(made.error().code, errc::out_of_memory) << made.error().detail;
    return;
  }
  const detail::path_facts paths(made.value());
  so_far.forests += batch.shares_prefixes();
  for (const replica_plan& r : made.value().replicas) {
    so_far.asymmetric += !same_slices(r.partition.forward, r.partition.backward);
    const workload work =
        simulators::workload_of(made.value(), static_cast<std::size_t>(&r - made.value().replicas.data()));
    const auto peak_without = [&](double memory_rates::*what) {
      workload less = work;
      for (memory_rates& rate : less.rates) rate.*what = 0;
      return simulators::peak_memory(less, r.programs);
    };
    const std::vector<double> without = peak_without(&memory_rates::gradient_token);
    const std::vector<double> without_weights = peak_without(&memory_rates::weight_token);
    for (std::size_t stage = 0; stage < r.programs.size(); ++stage) {
      store s(layouts[stage], on.quantum);
      replay(s, r, paths, stage);
      EXPECT_EQ(s.peak(), bytes{r.peak_memory[stage]});
      EXPECT_EQ(s.held(), bytes{0});
      so_far.with_gradients += without[stage] < r.peak_memory[stage];
      so_far.with_weights += without_weights[stage] < r.peak_memory[stage];
      ++so_far.stages;
    }
  }
}

TEST(ActivationStore, PeakIsWhatTheSimulatorPredictsToTheByte) {
  constexpr std::uint64_t seed = 5;
  testing::generator random(seed);
  replayed seen;
  const int cases = tests::cases(200);
  for (int i = cases; i > 0; --i) {
    shape on{.stages = static_cast<int>(random.between(1, 4)),
             .replicas = static_cast<int>(random.between(1, 2)),
             .chunks = static_cast<int>(random.between(1, 2)),
             .quantum = {random.between(1, 64)}};
    const bool shares = random.once_in(2);
    const std::vector<tokens> lengths = tests::random_lengths(random, 12, {3000});
    const tests::random_forest paths = tests::forest_maker(random, {400}, 30).make();
    if (shares) on.replicas = 1;
    const batch_view batch = shares ? batch_view(paths.batch) : batch_view(lengths);
    std::vector<std::vector<store::layout>> layouts;
    for (int stage = 0; stage < on.stages; ++stage) {
      const auto width = [&] { return static_cast<std::size_t>(random.between(0, 6)); };
      const store::layout same{
          {{width() + 1, width()}, {width()}}, {{width()}, {width(), 2}}, {}, {{width()}, {width()}}};
      layouts.emplace_back(static_cast<std::size_t>(on.chunks), same);
    }
    if (random.once_in(2)) on.memory = memory_limit{memory_unit::byte, 4e5 * random.ratio()};
    const solvers::two_phase search{.effort = solvers::search_budget::fast(), .most_sharers = 1};
    if (!shares && random.once_in(4))
      compare(on, batch, layouts, solvers::karmarkar_karp{}, schedules::one_f_one_b{}, seen);
    else if (random.once_in(2))
      compare(on, batch, layouts, search, schedules::zero_bubble{}, seen);
    else if (on.chunks > 1)
      compare(on, batch, layouts, search, schedules::one_f_one_b{}, seen);
    else
      compare(on, batch, layouts, search, schedules::list{}, seen);
    if (HasFailure()) FAIL() << "seed " << seed << ", " << i << " cases before the last";
  }
  EXPECT_GT(seen.asymmetric, cases / 4);
  EXPECT_GT(seen.with_gradients, cases / 2);
  EXPECT_GT(seen.with_weights, cases / 10);
  EXPECT_GT(seen.forests, cases / 4);
  RecordProperty("stages", seen.stages);
  RecordProperty("asymmetric", seen.asymmetric);
  RecordProperty("with_gradients", seen.with_gradients);
  RecordProperty("with_weights", seen.with_weights);
}

}  // namespace
}  // namespace slimpack::activation_store_test
