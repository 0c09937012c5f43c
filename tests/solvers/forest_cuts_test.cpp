#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/solvers/divide/forest_cuts.hpp>
#include <slimpack/solvers/pack/sequence_orders.hpp>
#include <slimpack/testing/generator.hpp>

#include "../support/random_forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace slimpack::forest_cuts_test {
namespace {

std::vector<double> lengths_as_work(const std::vector<sequence>& all) {
  std::vector<double> work;
  for (const sequence& s : all) work.push_back(static_cast<double>(s.length.value));
  return work;
}

/// Tokens of each tree, by root.
std::vector<double> trees_of(const forest_cut& cut) {
  const std::vector<sequence> all = batch_view(cut).sequences();
  std::vector<double> work(all.size());
  for (const sequence& s : all) {
    const sequence* root = &s;
    while (!root->is_root()) root = &all[root->parent.value];
    work[root->id.value] += static_cast<double>(s.length.value);
  }
  std::erase(work, 0.0);
  return work;
}

TEST(ForestCuts, AreCutsOfTheirBatch) {
  testing::generator random(4701);
  for (int round = 0; round < 300; ++round) {
    const tests::random_forest batch(random, {.children = 16, .most = random.between(1, 200)});
    const std::vector<sequence> all = batch_view(batch).sequences();
    const std::vector<double> work = lengths_as_work(all);
    double sum = 0;
    for (const double w : work) sum += w;
    const detail::sequence_orders orders(all);
    for (const std::vector<sequence>& order : {all, orders.of(1).forward, orders.of(0.5).forward}) {
      const divide::forest_cuts by(all, order, work);
      const double limit = sum * (random.ratio() + 0.01);
      for (const forest_cut& cut : {by.by_work(limit), by.by_subtrees(limit), by.by_size(limit), by.flat(),
                                    divide::forest_cuts(all, {}, work).flat()}) {
        const batch_view made = cut;
        ASSERT_FALSE(made.fault()) << "seed 4701, round " << round << ": " << *made.fault();
        const result<uncut_forest> from = uncut(made, cut.copies);
        ASSERT_TRUE(from) << "seed 4701, round " << round << ": " << from.error().detail;
        EXPECT_EQ(from.value().lengths, batch.lengths) << round;
        if (batch_view(batch).shares_prefixes()) {
          EXPECT_EQ(from.value().parents, batch.parents) << round;
        }
      }
    }
  }
}

TEST(ForestCuts, LeaveTreesThatAreNotTooLarge) {
  testing::generator random(4702);
  for (int round = 0; round < 100; ++round) {
    const tests::random_forest batch(random, {});
    const std::vector<sequence> all = batch_view(batch).sequences();
    const std::vector<double> work = lengths_as_work(all);
    double sum = 0;
    for (const double w : work) sum += w;
    const divide::forest_cuts by(all, all, work);
    for (const forest_cut& cut : {by.by_work(sum), by.by_subtrees(sum)}) {
      EXPECT_TRUE(cut.copies.empty());
      EXPECT_EQ(cut.lengths, batch.lengths);
    }
  }
}

TEST(ForestCuts, MakeEvenTreesOfEvenLeaves) {
  // A root of one token under which there are 64 leaves of 100.
  std::vector<tokens> lengths{{1}};
  std::vector<sequence_id> parents{no_parent};
  for (int i = 0; i < 64; ++i) lengths.push_back({100}), parents.push_back({0});
  const std::vector<sequence> all = batch_view(lengths, parents).sequences();
  const divide::forest_cuts by(all, all, lengths_as_work(all));
  const forest_cut four = by.by_work(6401.0 / 4);
  EXPECT_EQ(trees_of(four), (std::vector<double>{1601, 1601, 1601, 1601}));
  EXPECT_EQ(four.copies.size(), 3u);
  const forest_cut flat = by.flat();
  EXPECT_EQ(trees_of(flat), std::vector<double>(64, 101));
  EXPECT_EQ(flat.copies.size(), 63u);  // each but the first, where the root is at home, is one sequence
}

TEST(ForestCuts, ExchangeWhatRunsCannotBalance) {
  // Leaves in a row can be halved into 60 and 40 at best.
  const std::vector<tokens> lengths{{1}, {40}, {20}, {30}, {10}};
  const std::vector<sequence_id> parents{no_parent, {0}, {0}, {0}, {0}};
  const std::vector<sequence> all = batch_view(lengths, parents).sequences();
  const forest_cut two = divide::forest_cuts(all, all, lengths_as_work(all)).by_work(50.5);
  EXPECT_EQ(trees_of(two), (std::vector<double>{51, 51}));
}

}  // namespace
}  // namespace slimpack::forest_cuts_test
