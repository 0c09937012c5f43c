#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/forests/from_tokens.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::from_tokens_test {
namespace {

using namespace forests;
using token_ids = std::vector<std::int32_t>;

struct owned_sample {
  token_ids ids;
  std::vector<trained_run> targets{};
};

result<token_forest> made_of(const std::vector<owned_sample>& samples, tokens least = {1}) {
  std::vector<token_sample> all;
  for (const owned_sample& s : samples) all.push_back({s.ids, s.targets});
  return from_tokens(all, least);
}

/// 1 2 3 4 5 6 | 7 8, | 9, and 1 2 3 | 5.
const std::vector<owned_sample> answers{
    {{1, 2, 3, 4, 5, 6, 7, 8}, {{{6}, {2}}}}, {{1, 2, 3, 4, 5, 6, 9}, {{{6}, {1}}}}, {{1, 2, 3, 5}, {{{3}, {1}}}}};

TEST(FromTokens, ForksWhereSamplesPart) {
  const token_forest made = made_of(answers).value();
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{3}, {3}, {2}, {1}, {1}}));
  EXPECT_EQ(made.all.parents, (std::vector<sequence_id>{no_parent, {0}, {1}, {1}, {0}}));
  EXPECT_EQ(made.all.samples, (std::vector<sample_end>{{{2}, {8}}, {{3}, {7}}, {{4}, {4}}}));
  EXPECT_EQ(made.all.targets, (std::vector<target_run>{{{2}, {6}, {2}}, {{3}, {6}, {1}}, {{4}, {3}, {1}}}));
  EXPECT_EQ(made.ends, (std::vector<sequence_id>{{2}, {3}, {4}}));
}

TEST(FromTokens, GivesSamplesThatShareNothingTheirNumbers) {
  const token_forest made = made_of({{{9, 1}}, {{3}}, {{7, 7, 7}}, {{5, 1}}}).value();
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{2}, {1}, {3}, {2}}));
  EXPECT_EQ(made.all.parents, std::vector<sequence_id>(4, no_parent));
  EXPECT_EQ(made.text, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(FromTokens, EndsBeginningsOfOtherSamplesOnTheirPath) {
  const token_forest made = made_of({{{1, 2}}, {{1, 2, 3}}, {{1}}, {{1, 2, 3}}}).value();
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{3}}));
  EXPECT_EQ(made.all.samples, (std::vector<sample_end>{{{0}, {1}}, {{0}, {2}}, {{0}, {3}, 2}}));
}

TEST(FromTokens, AddsUpWhatEqualSamplesTrainOn) {
  const token_forest made =
      made_of({{{1, 2, 3, 4}, {{{1}, {3}, .5}}}, {{1, 2, 3, 4}, {{{2}, {2}, -1}}}, {{1, 2, 3}, {{{1}, {2}, 2}}}})
          .value();
  EXPECT_EQ(made.all.targets,
            (std::vector<target_run>{{{0}, {1}, {1}, 2, 2.5}, {{0}, {2}, {1}, 3, 1.5}, {{0}, {3}, {1}, 2, -.5}}));
}

TEST(FromTokens, LeavesForksOutThatSaveTooLittle) {
  const token_forest made = made_of(answers, {4}).value();  // the second fork saves 3 tokens, the first 2 x 3
  EXPECT_EQ(made.all.lengths, (std::vector<tokens>{{3}, {5}, {4}, {1}}));
  EXPECT_EQ(made.all.parents, (std::vector<sequence_id>{no_parent, {0}, {0}, {0}}));
  EXPECT_EQ(made.all.targets, (std::vector<target_run>{{{1}, {6}, {2}}, {{2}, {6}, {1}}, {{3}, {3}, {1}}}));
  EXPECT_EQ(made_of(answers, {7}).value().all.lengths, (std::vector<tokens>{{8}, {7}, {4}}));
}

TEST(FromTokens, RefusesSamplesThatAreNone) {
  const auto error_of = [](const result<token_forest>& made) { return made ? "none" : made.error().detail; };
  EXPECT_EQ(error_of(made_of({{{1}}, {{}}})), "sample 1 has 0 tokens; lengths run from 1 to 2147483647");
  EXPECT_EQ(error_of(made_of({{{1, 2}, {{{1}, {2}}}}})), "sample 0 has targets [1, 3), and it has 2 tokens");
  EXPECT_EQ(error_of(made_of({{{1, 2}, {{{0}, {1}}}}})),
            "sample 0 has targets [0, 1), and nothing predicts the first token");
  EXPECT_EQ(error_of(made_of({{{1, 2, 3}, {{{1}, {2}}, {{2}, {1}}}}})),
            "sample 0 has targets [2, 3), which begins before 3, where another ends");
  EXPECT_EQ(error_of(made_of({{{1, 2}, {{{1}, {1}, 1e308}}}, {{1, 2}, {{{1}, {1}, 1e308}}}})),
            "the weights of targets of sequence 0 add up to no finite number");
  EXPECT_EQ(error_of(made_of({{{1}}}, {0})), "a fork is to save 0 tokens: at least 1");
}

/// A tree with a node for each token, which knows nothing of sorting: the oracle.
struct token_tree {
  struct node {
    std::map<std::int32_t, std::size_t> next{};
  };
  std::vector<node> nodes{{}};

  explicit token_tree(const std::vector<owned_sample>& samples) {
    for (const owned_sample& s : samples) {
      std::size_t at = 0;
      for (const std::int32_t id : s.ids) {
        const auto [found, is_new] = nodes[at].next.try_emplace(id, nodes.size());
        at = found->second;
        if (is_new) nodes.emplace_back();
      }
    }
  }
};

/// The tokens of a sequence, and those of its path.
struct path {
  token_ids own, all;
};

/// Sequences of what is below a node, where `all` is the path and `own` its tokens behind the last fork.
std::vector<path> branches_of(const token_tree& tree, std::size_t at, token_ids own, token_ids all, std::size_t least,
                              std::size_t& kept) {
  while (tree.nodes[at].next.size() == 1 && at != 0) {
    const auto& [id, below] = *tree.nodes[at].next.begin();
    own.push_back(id), all.push_back(id), at = below;
  }
  if (tree.nodes[at].next.empty()) {
    kept = 1;
    return {{own, all}};
  }
  // Each branch as if this fork stayed, with what it has behind it alone; what is not kept is one of several here.
  std::vector<path> below;
  std::size_t branches = 0;
  for (const auto& [id, node] : tree.nodes[at].next) {
    std::size_t its = 0;
    token_ids path_below = all;
    path_below.push_back(id);
    for (path& p : branches_of(tree, node, {id}, path_below, least, its)) below.push_back(std::move(p));
    branches += its;
  }
  const std::size_t saved = (branches - 1) * own.size();
  if (at == 0) return below;
  if (saved >= least) {
    kept = 1;
    below.push_back({own, all});
    return below;
  }
  kept = branches;
  for (path& p : below)
    if (p.all.size() - p.own.size() == all.size()) p.own.insert(p.own.begin(), own.begin(), own.end());
  return below;
}

std::vector<std::pair<token_ids, std::size_t>> sequences_by_oracle(const std::vector<owned_sample>& samples,
                                                                   std::size_t least) {
  const token_tree tree(samples);
  std::size_t kept = 0;
  std::vector<std::pair<token_ids, std::size_t>> all;
  for (const path& p : branches_of(tree, 0, {}, {}, least, kept)) all.emplace_back(p.all, p.own.size());
  std::sort(all.begin(), all.end());
  return all;
}

/// The same of a forest that was made.
std::vector<std::pair<token_ids, std::size_t>> sequences_of(const token_forest& made,
                                                            const std::vector<owned_sample>& samples) {
  std::vector<std::pair<token_ids, std::size_t>> all;
  for (const sequence& s : batch_view(made.all).sequences()) {
    const token_ids& ids = samples[made.text[s.id.value]].ids;
    all.emplace_back(token_ids(ids.begin(), ids.begin() + s.end().value), static_cast<std::size_t>(s.length.value));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// What each sample trains on, token by token, added up along the paths that the forest gives samples.
std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<std::uint32_t, double>> targets_by_oracle(
    const token_forest& made, const std::vector<owned_sample>& samples) {
  const std::vector<sequence> all = batch_view(made.all).sequences();
  std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<std::uint32_t, double>> sums;
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (const trained_run& run : samples[i].targets)
      for (tokens at = run.begin; at < run.begin + run.length; at += tokens{1}) {
        sequence_id on = made.ends[i];
        while (all[on.value].begin > at) on = all[on.value].parent;
        auto& [count, weight] = sums[{on.value, at.value}];
        ++count, weight += run.weight;
      }
  return sums;
}

/// Samples over an alphabet of few letters, many of them beginnings of others, and some equal.
std::vector<owned_sample> random_samples(std::mt19937_64& random) {
  const std::size_t count = 1 + random() % 12;
  const auto letters = static_cast<std::int32_t>(1 + random() % 3);
  std::vector<owned_sample> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    owned_sample& s = samples[i];
    if (i > 0 && random() % 3 != 0) {
      const token_ids& other = samples[random() % i].ids;
      s.ids.assign(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(random() % (other.size() + 1)));
    }
    for (std::size_t more = random() % 8 + std::size_t{s.ids.empty()}; more > 0; --more)
      s.ids.push_back(static_cast<std::int32_t>(random() % static_cast<std::size_t>(letters)) - 1);
    for (std::size_t at = 1 + random() % 4; at < s.ids.size();) {
      const std::size_t length = std::min<std::size_t>(1 + random() % 4, s.ids.size() - at);
      const double weight = static_cast<double>(random() % 5) * .25;
      s.targets.push_back({{static_cast<std::int64_t>(at)}, {static_cast<std::int64_t>(length)}, weight});
      at += length + random() % 3;
    }
  }
  return samples;
}

TEST(FromTokens, MakesWhatATreeOfTokensSays) {
  const std::uint64_t first = 20261130;
  std::size_t forks = 0, equal = 0;
  for (std::uint64_t seed = first; seed < first + 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<owned_sample> samples = random_samples(random);
    const auto least = static_cast<std::int64_t>(1 + (random() % 2) * (random() % 12));
    const token_forest made = made_of(samples, {least}).value();
    ASSERT_FALSE(slimpack::batch_view(made.all).fault()) << *slimpack::batch_view(made.all).fault();
    ASSERT_EQ(sequences_of(made, samples), sequences_by_oracle(samples, static_cast<std::size_t>(least)));
    const std::vector<sequence> all = batch_view(made.all).sequences();
    std::uint32_t ends = 0;
    for (const sample_end& e : made.all.samples) ends += e.count, equal += e.count > 1;
    ASSERT_EQ(ends, samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {  // each sample has its tokens on its path
      const sequence& last = all[made.ends[i].value];
      const token_ids &ids = samples[i].ids, &text = samples[made.text[last.id.value]].ids;
      const auto length = static_cast<std::int64_t>(ids.size());
      ASSERT_TRUE(last.begin.value < length && length <= last.end().value);
      ASSERT_TRUE(std::equal(ids.begin(), ids.end(), text.begin()));
      const sample_end end{last.id, {length}};
      ASSERT_TRUE(std::any_of(made.all.samples.begin(), made.all.samples.end(),
                              [&](const sample_end& e) { return e.sequence == end.sequence && e.at == end.at; }));
    }
    std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<std::uint32_t, double>> sums;
    for (const target_run& t : made.all.targets)
      for (tokens at = t.begin; at < t.begin + t.length; at += tokens{1})
        sums[{t.sequence.value, at.value}] = {t.count, t.weight};
    ASSERT_EQ(sums, targets_by_oracle(made, samples));
    for (const sequence& s : all) {
      forks += s.is_root() ? 0U : 1U;
      const token_ids& its = samples[made.text[s.id.value]].ids;
      const auto has_path = [&](const owned_sample& one) {
        return std::mismatch(its.begin(), its.begin() + s.end().value, one.ids.begin(), one.ids.end()).first ==
               its.begin() + s.end().value;
      };
      ASSERT_EQ(std::find_if(samples.begin(), samples.end(), has_path) - samples.begin(), made.text[s.id.value]);
    }
  }
  EXPECT_GT(forks, 5000U);  // the inputs are not those of lists
  EXPECT_GT(equal, 1000U);
}

TEST(FromTokens, TakesTheFirstSampleThatHasThemForTheOrderOfBranches) {
  for (std::uint64_t seed = 1; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<owned_sample> samples = random_samples(random);
    const token_forest made = made_of(samples).value();
    std::vector<std::size_t> first(made.all.lengths.size(), samples.size());
    for (std::size_t i = samples.size(); i-- > 0;)
      for (sequence_id on = made.ends[i]; on != no_parent; on = made.all.parents[on.value]) first[on.value] = i;
    for (std::size_t a = 0; a < first.size(); ++a)
      for (std::size_t b = a + 1; b < first.size(); ++b)
        if (made.all.parents[a] == made.all.parents[b]) {
          ASSERT_LE(first[a], first[b]);
        }
  }
}

}  // namespace
}  // namespace slimpack::from_tokens_test
