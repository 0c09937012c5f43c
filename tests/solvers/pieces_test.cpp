#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/detail/piece_cost.hpp>
#include <slimpack/testing/generator.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::pieces_test {
namespace {

const shape on{.stages = 3};
const std::vector<memory_rates> no_rates(3);

partition some_packs(testing::generator& random) {
  return testing::random_partition(tests::random_lengths(random, 8, {6000}), {128}, costs::quadratic{}, random);
}

TEST(PieceCost, PricesPacksAsTheirPieces) {
  testing::generator random(3);
  const costs::quadratic model{.per_pack = {1e-5}, .per_call = {6.4e-5}};
  const detail::cost_behind<costs::quadratic> behind(model);
  const detail::piece_cost cost(behind, on, 1);
  for (int i = 0; i < 20; ++i) {
    const partition packs = some_packs(random);
    for (const weight_gradients weights : {weight_gradients::with_inputs, weight_gradients::apart}) {
      const workload found = price(packs, cost, on, no_rates, weights),
                     expected = price(common_refinement(packs), model, on, no_rates, weights);
      EXPECT_EQ(found.times.calls[pass::forward], expected.times.calls[pass::forward]) << "seed 3, batch " << i;
      EXPECT_EQ(found.times.calls[pass::backward], expected.times.calls[pass::backward]) << "seed 3, batch " << i;
      EXPECT_EQ(found.split.inputs, expected.split.inputs);
      EXPECT_EQ(found.split.weights, expected.split.weights);
    }
  }
}

// Half of a quantum of 128 tokens: 64 us forward, 128 us backward for each piece, where linear layers take 1 and 2 us a
// token.
TEST(PieceCost, CountsPiecesWhereTheModelKnowsNoOverhead) {
  testing::generator random(4);
  const costs::quadratic model{.attention = 0};
  const costs::quadratic told{.attention = 0, .per_call = {1e-9}};
  const detail::cost_behind<costs::quadratic> behind(model), behind_told(told);
  const detail::piece_cost cost(behind, on, 0.5), exact(behind_told, on, 0.5);
  EXPECT_DOUBLE_EQ(cost.call_overhead(pass::forward, 1).value, 64e-6);
  EXPECT_DOUBLE_EQ(cost.call_overhead(pass::backward, 2).value, 128e-6);
  EXPECT_EQ(exact.call_overhead(pass::forward, 1), told.per_call) << "a model that tells is believed";
  const partition packs = some_packs(random), pieces = common_refinement(packs);
  const workload found = price(packs, cost, on, no_rates, weight_gradients::apart);
  const workload bare = price(pieces, model, on, no_rates, weight_gradients::apart);
  for (std::size_t cell = 0; cell < found.times.calls[pass::backward].size(); ++cell) {
    const double calls = 128e-6 * static_cast<double>(pieces.backward[cell / 3].size());
    EXPECT_DOUBLE_EQ(found.times.calls[pass::backward][cell].value,
                     bare.times.calls[pass::backward][cell].value + calls);
    EXPECT_DOUBLE_EQ(found.split.weights[cell].value, bare.split.weights[cell].value + calls);
    EXPECT_DOUBLE_EQ(found.split.inputs[cell].value, bare.split.inputs[cell].value + calls);
  }
  timings times;
  price_layers(pieces.forward, pass::forward, cost, 3, times);
  EXPECT_DOUBLE_EQ(times.calls[pass::forward][0].value, found.times.calls[pass::forward][0].value);
  EXPECT_DOUBLE_EQ(pack_time(cost, pieces.forward[0], pass::forward, 0).value,
                   found.times.calls[pass::forward][0].value);
}

/// Sequence 0 of 1000 tokens in pieces of 300, 100, 200 and 400.
partition four_pieces() {
  partition packs;
  for (const tokens end : {tokens{400}, tokens{1000}})
    packs.forward.push({{0}, end == tokens{400} ? tokens{} : tokens{400}, end == tokens{400} ? end : tokens{600}}),
        packs.forward.close();
  packs.backward.push({{0}, {600}, {400}}), packs.backward.close();
  packs.backward.push({{0}, {300}, {300}}), packs.backward.close();
  packs.backward.push({{0}, {0}, {300}}), packs.backward.close();
  return packs;
}

TEST(PieceSlicer, CutsBetweenPiecesNearestToTheTimeThatIsLeft) {
  const detail::cost_behind<costs::quadratic> behind(tests::per_token);
  const detail::common_cuts cuts(four_pieces());
  const detail::piece_slicer cut(cuts);
  const sequence whole{{0}, {1000}};
  const auto next = [&](std::int64_t at, pass p, double time, bool empty = true, std::int64_t size = 1000) {
    return cut.next(whole, {at}, p, {{time}, {size}, {100}, 0, empty}, behind);
  };
  EXPECT_EQ(next(0, pass::forward, 349), (slice{{0}, {0}, {300}}));
  EXPECT_EQ(next(0, pass::forward, 351), (slice{{0}, {0}, {400}}));
  EXPECT_EQ(next(0, pass::forward, 5000), (slice{{0}, {0}, {1000}}));
  EXPECT_EQ(next(0, pass::forward, 1), (slice{{0}, {0}, {300}})) << "an empty pack takes some piece";
  EXPECT_EQ(next(0, pass::forward, 149, false).length, tokens{0}) << "another is nearer to its time without";
  EXPECT_EQ(next(0, pass::forward, 5000, true, 650), (slice{{0}, {0}, {600}})) << "never more than the pack holds";
  EXPECT_EQ(next(1000, pass::backward, 1001), (slice{{0}, {400}, {600}}))
      << "2 s a token: of 800 and 1200 s the nearer";
  EXPECT_EQ(next(400, pass::backward, 200), (slice{{0}, {300}, {100}}));
}

}  // namespace
}  // namespace slimpack::pieces_test
