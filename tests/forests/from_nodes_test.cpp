#include <slimpack/forests/from_nodes.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slimpack::from_nodes_test {
namespace {

using namespace forests;
using ids = std::vector<std::optional<sequence_id>>;

template <class Made>
std::string error_of(const Made& made) {
  return made ? "none" : made.error().detail;
}

//  0 (4) -+- 2 (2) --- 4 (1)        1 (5)
//         +- 3 (3)
const std::vector<tokens> lengths{{4}, {5}, {2}, {3}, {1}};
const std::vector<sequence_id> parents{no_parent, no_parent, {0}, {0}, {2}};
const forest in_order{.lengths = {{4}, {2}, {1}, {3}, {5}},
                      .parents = {no_parent, {0}, {1}, {0}, no_parent},
                      .samples = {{{2}, {7}}, {{3}, {7}}, {{4}, {5}}}};

TEST(FromParents, PutsSubtreesInOnePiece) {
  const renumbered made = from_parents(lengths, parents).value();
  EXPECT_EQ(made.all, in_order);
  EXPECT_EQ(made.now, (ids{{{0}}, {{4}}, {{1}}, {{3}}, {{2}}}));
  EXPECT_FALSE(slimpack::batch_view(made.all).fault()) << *slimpack::batch_view(made.all).fault();
}

TEST(FromParents, EndsSamplesWhereItIsTold) {
  const std::vector<std::uint32_t> samples{1, 2, 0, 1, 1};
  EXPECT_EQ(from_parents(lengths, parents, samples).value().all.samples,
            (std::vector<sample_end>{{{0}, {4}}, {{2}, {7}}, {{3}, {7}}, {{4}, {5}, 2}}));
}

TEST(FromParents, MakesSequencesOfTokensThatHaveAParentEach) {
  const std::vector<sequence_id> token{no_parent, {0}, {1}, {1}, {2}, {3}};
  const forest made = merged_chains(from_parents(std::vector<tokens>(6, tokens{1}), token).value().all).all;
  EXPECT_EQ(made.lengths, (std::vector<tokens>{{2}, {2}, {2}}));
  EXPECT_EQ(made.parents, (std::vector<sequence_id>{no_parent, {0}, {0}}));
}

TEST(FromParents, RefusesWhatIsNoForest) {
  std::vector<sequence_id> wrong = parents;
  wrong[2] = {4};
  EXPECT_EQ(error_of(from_parents(lengths, wrong)), "node 2 has the parent 4: a parent comes before its children");
  wrong.pop_back();
  EXPECT_EQ(error_of(from_parents(lengths, wrong)), "there are 4 parents for 5 nodes");
  EXPECT_EQ(error_of(from_parents(lengths, parents, std::vector<std::uint32_t>{1})), "there are 1 samples for 5 nodes");
  std::vector<tokens> empty = lengths;
  empty[1] = {0};
  EXPECT_EQ(error_of(from_parents(empty, parents)), "sequence 4 has 0 tokens; lengths run from 1 to 2147483647");
}

TEST(FromPaths, MakesTheForestOfPathsFromRoots) {
  const std::vector<std::vector<std::uint32_t>> paths{{3, 0, 4}, {1}, {3, 2}, {3, 2}};
  const renumbered made = from_paths(std::vector<tokens>{{2}, {5}, {3}, {4}, {1}, {9}}, paths).value();
  forest twice = in_order;
  twice.samples[1].count = 2;
  EXPECT_EQ(made.all, twice);
  EXPECT_EQ(made.now, (ids{{{1}}, {{4}}, {{3}}, {{0}}, {{2}}, std::nullopt}));
}

TEST(FromPaths, RefusesPathsThatAreNoneOfAForest) {
  const std::vector<tokens> nodes{{2}, {5}, {3}};
  const auto error_with = [&](const std::vector<std::vector<std::uint32_t>>& paths) {
    return error_of(from_paths(nodes, paths));
  };
  EXPECT_EQ(error_with({{0, 1}, {2, 1}}),
            "the path of sample 1 comes to node 1 from another node than a path before it");
  EXPECT_EQ(error_with({{0, 1}, {1}}), "the path of sample 1 comes to node 1 from another node than a path before it");
  EXPECT_EQ(error_with({{0, 0}}), "the path of sample 0 comes to node 0 from another node than a path before it");
  EXPECT_EQ(error_with({{0, 3}}), "the path of sample 0 has node 3, and there are 3");
  EXPECT_EQ(error_with({{0}, {}}), "the path of sample 1 has no nodes");
}

TEST(FromGroups, MakesTheForestOfRunsOfTokens) {
  const std::vector<std::int64_t> groups{7, 7, 7, 7, 2, 2, 9, 9, 9, 1, 1, 1, 1, 1, 5};
  const std::vector<std::int64_t> above{7, 7, 7, 7, 7, 7, 7, 7, 7, 1, 1, 1, 1, 1, 2};
  EXPECT_EQ(from_groups(groups, above).value().all, in_order);
}

TEST(FromGroups, RefusesGroupsThatAreNoNodes) {
  using numbers = std::vector<std::int64_t>;
  const auto error_with = [](const numbers& groups, const numbers& above) {
    return error_of(from_groups(groups, above));
  };
  EXPECT_EQ(error_with({1, 2, 1}, {1, 1, 1}),
            "token 2 is of group 1, which has ended before it: the tokens of a group are in one run");
  EXPECT_EQ(error_with({1, 2, 2}, {1, 1, 2}), "token 2 is of group 2, and has the parent 2, the token before it 1");
  EXPECT_EQ(error_with({1, 2}, {1, 3}), "token 1 is of group 2, whose parent 3 does not come before it");
  EXPECT_EQ(error_with({1, 2}, {1}), "there are 1 parents for 2 tokens");
}

}  // namespace
}  // namespace slimpack::from_nodes_test
