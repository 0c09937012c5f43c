#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace slimpack::slice_order_test {
namespace {

TEST(SliceOrder, RunsForwardFromTheFirstTokenAndBackwardFromTheLast) {
  const std::vector<tokens> lengths{{4}, {10}};
  const slice_order order(lengths);
  EXPECT_EQ(order.entry({1}, pass::forward), tokens{0});
  EXPECT_EQ(order.entry({1}, pass::backward), tokens{10});
  EXPECT_EQ(order.exit({1}, pass::backward), tokens{0});
  const slice front{{1}, {0}, {6}}, back{{1}, {6}, {4}}, all{{0}, {0}, {4}};
  EXPECT_TRUE(order.is_first(front, pass::forward) && !order.is_last(front, pass::forward));
  EXPECT_TRUE(order.is_last(front, pass::backward) && !order.is_first(front, pass::backward));
  EXPECT_TRUE(order.is_first(back, pass::backward) && !order.is_last(back, pass::backward));
  for (const pass p : both_passes) EXPECT_TRUE(order.is_first(all, p) && order.is_last(all, p));
  EXPECT_TRUE(order.has(back));
  for (const slice& wrong :
       {slice{{2}, {0}, {1}}, slice{{0}, {-1}, {2}}, slice{{0}, {4}, {0}}, slice{{0}, {2}, {3}}, slice{{0}, {5}, {1}}})
    EXPECT_FALSE(order.has(wrong));
}

TEST(SliceOrder, ReadsAllTokensBeforeASlice) {
  const std::vector<tokens> lengths{{4}, {10}};
  const slice_order order(lengths);
  const slice back{{1}, {6}, {4}};
  EXPECT_TRUE(order.reads_before(back, {{1}, {0}, {6}}));
  EXPECT_TRUE(order.reads_before(back, {{1}, {2}, {3}}));
  for (const slice& other : {slice{{1}, {0}, {7}}, slice{{0}, {0}, {4}}, slice{{1}, {2}, {0}}, slice{{1}, {-1}, {2}}})
    EXPECT_FALSE(order.reads_before(back, other));
  EXPECT_FALSE(order.reads_before({{1}, {0}, {6}}, {{1}, {0}, {1}}));
}

TEST(PassFront, TakesWhatComesNextAndNothingElse) {
  const std::vector<tokens> lengths{{4}, {10}};
  const slice_order order(lengths);
  pass_front front;
  for (const pass p : both_passes) {
    front.begin(order, p);
    const slice first = p == pass::forward ? slice{{1}, {0}, {6}} : slice{{1}, {6}, {4}};
    const slice other = p == pass::forward ? slice{{1}, {6}, {4}} : slice{{1}, {0}, {6}};
    EXPECT_FALSE(front.take(other));
    EXPECT_TRUE(front.take(first));
    EXPECT_FALSE(front.take(first));
    EXPECT_EQ(front.due({1}), tokens{6});
    EXPECT_EQ(front.due({0}), order.entry({0}, p));
    EXPECT_TRUE(front.take(other));
    EXPECT_EQ(front.due({1}), order.exit({1}, p));
  }
}

/// Sequence 5 of 8 tokens in two forward packs, sequence 900 of 4 in one between them.
micropacks three_packs() {
  micropacks packs;
  for (const slice& s : {slice{{5}, {0}, {6}}, slice{{900}, {0}, {4}}, slice{{5}, {6}, {2}}})
    packs.append(s), packs.close();
  return packs;
}

TEST(ForwardReaders, AreThePacksBehindATokenUpToTheLast) {
  const micropacks packs = three_packs();
  const forward_readers readers(packs);
  EXPECT_EQ(readers.last({{5}, {0}, {1}}), 2u);
  EXPECT_EQ(readers.last({{900}, {0}, {4}}), 1u);
}

TEST(OpenGradients, AreOfTokensThatSeveralSlicesAddTo) {
  const micropacks packs = three_packs();
  const forward_readers readers(packs);
  open_gradients alone(readers);
  open_gradients::change now = alone.run({{5}, {6}, {2}});
  EXPECT_EQ(now.opens, 8);
  EXPECT_EQ(now.closes, 2);
  now = alone.run({{900}, {0}, {4}});
  EXPECT_EQ(now.opens, 0) << "it runs in one slice";
  EXPECT_EQ(now.closes, 0);
  now = alone.run({{5}, {0}, {6}});
  EXPECT_EQ(now.opens, 0) << "they are open";
  EXPECT_EQ(now.closes, 6);
  open_gradients shared(readers);
  shared.share({900}, 3);
  now = shared.run({{900}, {0}, {4}});
  EXPECT_TRUE(now.is_shared && !shared.run({{5}, {6}, {2}}).is_shared);
  EXPECT_EQ(now.opens, 7);
  EXPECT_EQ(now.closes, 4);
}

}  // namespace
}  // namespace slimpack::slice_order_test
