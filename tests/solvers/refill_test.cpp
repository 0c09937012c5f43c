#include <slimpack/costs/quadratic.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/slicers/uniform.hpp>
#include <slimpack/slicers/whole.hpp>
#include <slimpack/solvers/pack/fill.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/testing/generator.hpp>

#include "batches.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace slimpack::refill_test {
namespace {

const costs::quadratic cost{.per_pack = {6e-5}};

std::vector<double> times_of(const micropacks& packs, pass p) {
  std::vector<double> times;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    times.push_back(0);
    for (const slice& s : packs[i]) times.back() += cost.time(s, p, 0).value;
  }
  return times;
}

/// Packs of random sizes, filled again by what they take, are what they were.
template <class Slicer>
void fill_again(const Slicer& slicer) {
  testing::generator random(17);
  for (int i = 0; i < 50; ++i) {
    const std::vector<sequence> own = batch_view(tests::random_lengths(random, 20, {5000})).sequences();
    const cut_budget base{{}, {6000}, {128}, 0, true};
    for (const pass p : {pass::forward, pass::backward}) {
      micropacks packs;
      ASSERT_TRUE(detail::fill(
          packs, own, p, slicer, cost, base,
          [&](seconds) { return seconds{1e-3 * static_cast<double>(random.between(1, 6))}; },
          [](const sequence&) { return false; }));
      micropacks stream;
      for (const slice& s : packs.slices()) stream.push(s);
      micropacks again;
      ASSERT_TRUE(detail::refill(again, stream.open(), p, times_of(packs, p), own, slicer, cost, base));
      EXPECT_EQ(again, packs) << "seed 17, batch " << i;
    }
  }
}

TEST(Refill, IsTheSameForTheSameTimes) {
  fill_again(slicers::equal_cost{});
  fill_again(slicers::uniform{{512}});
  fill_again(slicers::whole{});
}

TEST(Refill, GivesTheLastPackWhatIsLeftAndMoreWhereThatIsTooMuch) {
  const std::vector<sequence> own = batch_view(tests::lengths_of({1024, 1024, 1024})).sequences();
  const std::vector<slice> runs{{own[0].id, {0}, {1024}}, {own[1].id, {0}, {1024}}, {own[2].id, {0}, {1024}}};
  const std::vector<double> times{cost.time(runs[0], pass::forward, 0).value, 0};
  micropacks packs;
  ASSERT_TRUE(detail::refill(packs, runs, pass::forward, times, own, slicers::equal_cost{}, cost,
                             {{}, {4096}, {128}, 0, true}));
  ASSERT_EQ(packs.size(), 2u);
  EXPECT_EQ(size_of(packs[1]), tokens{2048});
  ASSERT_TRUE(detail::refill(packs, runs, pass::forward, times, own, slicers::equal_cost{}, cost,
                             {{}, {1024}, {128}, 0, true}));
  EXPECT_EQ(packs.size(), 3u);
}

TEST(Refill, RefusesWhatTheSlicerDoesNotCutSo) {
  const std::vector<sequence> own = batch_view(tests::lengths_of({1024})).sequences();
  const std::vector<slice> whole{{own[0].id, {0}, {1024}}};
  const std::vector<slice> part{{own[0].id, {0}, {512}}};
  const std::vector<double> times{1};
  micropacks packs;
  EXPECT_TRUE(
      detail::refill(packs, whole, pass::forward, times, own, slicers::whole{}, cost, {{}, {1024}, {128}, 0, true}));
  EXPECT_FALSE(
      detail::refill(packs, whole, pass::forward, times, own, slicers::whole{}, cost, {{}, {1023}, {128}, 0, true}));
  EXPECT_FALSE(
      detail::refill(packs, part, pass::forward, times, own, slicers::whole{}, cost, {{}, {1024}, {128}, 0, true}));
}

}  // namespace
}  // namespace slimpack::refill_test
