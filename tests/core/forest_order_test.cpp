#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>
#include <slimpack/core/order/releases.hpp>
#include <slimpack/core/order/slice_order.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/testing/generator.hpp>

#include "../laws/cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// The rule of order of samples that share beginnings, against code that asks each token of each path.
namespace slimpack::forest_order_test {
namespace {

using token = std::pair<std::uint32_t, std::int64_t>;  // its sequence, and its place on the path

struct random_forest {
  explicit random_forest(std::uint64_t seed)
      : random(seed), batch(testing::trial_forest(random, random.between(1, 9), {12})) {}

  testing::generator random;
  forest batch;
  slice_order order{batch_view(batch)};
  std::vector<sequence> all = batch_view(batch).sequences();

  /// The path of a sequence, down to the token at a place.
  [[nodiscard]] std::vector<token> path(std::uint32_t s, std::int64_t at) const {
    std::vector<token> found;
    if (batch.parents[s] != no_parent) found = path(batch.parents[s].value, -1);
    const auto begin = static_cast<std::int64_t>(found.size());
    const std::int64_t end = at < 0 ? begin + batch.lengths[s].value : at;
    for (std::int64_t t = begin; t < end; ++t) found.emplace_back(s, t);
    return found;
  }
  /// Whether a token reads another: it is behind it on its path.
  [[nodiscard]] bool reads(const token& of, const token& other) const {
    const std::vector<token> before = path(of.first, of.second);
    return std::find(before.begin(), before.end(), other) != before.end();
  }
  [[nodiscard]] static std::vector<token> tokens_of(const slice& s) {
    std::vector<token> found;
    for (tokens t = s.begin; t < s.end(); t += tokens{1}) found.emplace_back(s.sequence.value, t.value);
    return found;
  }
  /// Whether all that a slice waits for has run, and nothing of itself: forward what it reads, backward what reads it.
  [[nodiscard]] bool may_run(const slice& s, pass p, const std::set<token>& ran) const {
    const std::vector<token> own = tokens_of(s);
    for (std::uint32_t other = 0; other < all.size(); ++other)
      for (const token& t : tokens_of(all[other].whole())) {
        const bool in = std::find(own.begin(), own.end(), t) != own.end();
        if (in && ran.contains(t)) return false;
        const bool awaited = std::any_of(own.begin(), own.end(), [&](const token& mine) {
          return p == pass::forward ? reads(mine, t) : reads(t, mine);
        });
        if (awaited && !in && !ran.contains(t)) return false;
      }
    return true;
  }
  /// Any slice of any sequence.
  [[nodiscard]] slice any_slice() {
    const auto s = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(all.size()) - 1));
    return random.slice_of(all[s], {1});
  }
  /// All tokens of a pass in slices, as it may run them.
  [[nodiscard]] std::vector<slice> run_through(pass p) {
    pass_front front;
    front.begin(order, p);
    std::vector<slice> slices;
    while (true) {
      std::vector<sequence_id> next;
      for (const sequence& s : all)
        if (!front.has_ended(s.id) && !front.awaits_others(s.id)) next.push_back(s.id);
      if (next.empty()) return slices;
      const sequence& s =
          all[next[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(next.size()) - 1))].value];
      const tokens due = front.due(s.id);
      const tokens size{random.between(1, (p == pass::forward ? s.end() - due : due - s.begin).value)};
      slices.push_back({s.id, p == pass::forward ? due : due - size, size});
      EXPECT_TRUE(front.take(slices.back()));
    }
  }
};

TEST(ForestOrder, KnowsWhereSequencesBeginAndWhoGoesOnBehindThem) {
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_forest f(static_cast<std::uint64_t>(seed));
    ASSERT_EQ(f.order.size(), f.all.size());
    for (std::uint32_t s = 0; s < f.all.size(); ++s) {
      const auto begin = static_cast<std::int64_t>(f.path(s, -1).size()) - f.batch.lengths[s].value;
      const sequence& found = f.order.of({s});
      EXPECT_EQ(found, (sequence{{s}, f.batch.lengths[s], {begin}, f.batch.parents[s]}));
      EXPECT_EQ(found.whole(), (slice{{s}, {begin}, f.batch.lengths[s]}));
      EXPECT_EQ(f.order.entry({s}, pass::forward), tokens{begin});
      EXPECT_EQ(f.order.exit({s}, pass::forward), found.end());
      EXPECT_EQ(f.order.entry({s}, pass::backward), found.end());
      EXPECT_EQ(f.order.children({s}), std::count(f.batch.parents.begin(), f.batch.parents.end(), sequence_id{s}));
    }
  }
}

TEST(ForestOrder, ReadsThePathBeforeASlice) {
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_forest f(static_cast<std::uint64_t>(seed));
    for (int k = 0; k < 10; ++k) {
      const slice s = f.any_slice();
      const std::vector<token> before = f.path(s.sequence.value, s.begin.value);
      std::vector<token> found;
      f.order.each_run_before(s, [&](const slice& run) {
        ASSERT_TRUE(f.order.has(run));
        const std::vector<token> read = random_forest::tokens_of(run);
        found.insert(found.begin(), read.begin(), read.end());
      });
      EXPECT_EQ(found, before);
      const slice other = f.any_slice();
      const std::vector<token> asked = random_forest::tokens_of(other);
      EXPECT_EQ(f.order.reads_before(s, other), std::all_of(asked.begin(), asked.end(), [&](const token& t) {
                  return std::find(before.begin(), before.end(), t) != before.end();
                }));
    }
  }
}

TEST(ForestOrder, HasSlicesOfItsSequences) {
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_forest f(static_cast<std::uint64_t>(seed));
    const sequence& one = f.all[f.any_slice().sequence.value];
    for (std::int64_t begin = -1; begin <= one.end().value + 1; ++begin)
      for (std::int64_t length = -1; length <= one.length.value + 1; ++length)
        EXPECT_EQ(f.order.has({one.id, {begin}, {length}}),
                  length > 0 && begin >= one.begin.value && begin + length <= one.end().value);
    EXPECT_FALSE(f.order.has({{static_cast<std::uint32_t>(f.all.size())}, {0}, {1}}));
  }
}

TEST(PassFront, TakesWhatWaitsForNothing) {
  int taken = 0, left = 0;
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_forest f(static_cast<std::uint64_t>(seed));
    pass_front front;
    for (const pass p : both_passes) {
      front.begin(f.order, p);
      std::set<token> ran;
      for (int k = 0; k < 60; ++k) {
        const slice s = f.any_slice();
        const bool may = f.may_run(s, p, ran);
        ++(may ? taken : left);
        ASSERT_EQ(front.take(s), may) << s.sequence.value << ": " << s.begin.value << " + " << s.length.value;
        if (!may) continue;
        for (const token& t : random_forest::tokens_of(s)) ran.insert(t);
        EXPECT_EQ(front.has_ended(s.sequence), s.exit(p) == f.order.exit(s.sequence, p));
      }
    }
  }
  EXPECT_GT(taken, 100 / tests::one_in);
  EXPECT_GT(left, 100 / tests::one_in);
}

TEST(ForwardReaders, AreThePacksOfAllThatGoesOnBehind) {
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_forest f(static_cast<std::uint64_t>(seed));
    micropacks packs;
    for (const slice& s : f.run_through(pass::forward)) {
      packs.append(s);
      if (f.random.once_in(2)) packs.close();
    }
    packs.close();
    const forward_readers readers(packs, f.batch.parents);
    for (const sequence& one : f.all) {
      std::uint32_t last = 0;
      for (std::uint32_t i = 0; i < packs.size(); ++i)
        for (const slice& s : packs[i])
          if (s.sequence == one.id || f.reads({s.sequence.value, s.begin.value}, {one.id.value, one.begin.value}))
            last = i;
      EXPECT_EQ(readers.last(one.whole()), last) << "sequence " << one.id.value;
    }
  }
}

// Accumulators are of sequences whose gradients of keys and values several slices add to.
TEST(OpenGradients, AreOpenFromTheFirstSliceThatAddsToThemToTheirOwn) {
  int opened = 0;
  for (int seed = 1; seed <= tests::cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_forest f(static_cast<std::uint64_t>(seed));
    micropacks packs;
    for (const slice& s : f.run_through(pass::forward)) packs.append(s), packs.close();
    const std::vector<slice> backward = f.run_through(pass::backward);
    const forward_readers readers(packs, f.batch.parents);
    open_gradients open(readers);
    for (std::size_t k = 0; k < backward.size(); ++k) {
      std::int64_t opens = 0, closes = 0;
      for (const sequence& one : f.all) {
        std::vector<std::size_t> adding;  // backward slices
        for (std::size_t i = 0; i < backward.size(); ++i)
          if (backward[i].sequence == one.id ||
              f.reads({backward[i].sequence.value, backward[i].begin.value}, {one.id.value, one.begin.value}))
            adding.push_back(i);
        if (adding.size() < 2) continue;
        opens += adding.front() == k ? one.length.value : 0;
        closes += backward[k].sequence == one.id ? backward[k].length.value : 0;
      }
      const open_gradients::change now = open.run(backward[k]);
      EXPECT_EQ(now.opens, opens) << "slice " << k;
      EXPECT_EQ(now.closes, closes) << "slice " << k;
      EXPECT_FALSE(now.is_shared);
      opened += opens > 0;
    }
  }
  EXPECT_GT(opened, 50 / tests::one_in);
}

}  // namespace
}  // namespace slimpack::forest_order_test
