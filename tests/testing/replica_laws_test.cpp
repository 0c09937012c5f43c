#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/testing/replica_laws.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::replica_laws_test {
namespace {

micropacks packs_of(const std::vector<std::vector<slice>>& lists) {
  micropacks packs;
  for (const std::vector<slice>& list : lists) {
    for (const slice& s : list) packs.push(s);
    packs.close();
  }
  return packs;
}

/// Sequences of 20 and 10 tokens on one replica of one stage, cut at 10; the test changes one thing.
struct example {
  std::vector<tokens> lengths{{20}, {10}};
  std::vector<sequence_id> parents{};
  shape on{.quantum = {10}, .memory = memory_limit{memory_unit::token, 30}};
  std::vector<sequence_id> sequences{{0}, {1}};
  std::vector<std::vector<slice>> forward{{{{0}, {0}, {10}}}, {{{0}, {10}, {10}}, {{1}, {0}, {10}}}};
  std::vector<std::vector<slice>> backward{{{{1}, {0}, {10}}, {{0}, {10}, {10}}}, {{{0}, {0}, {10}}}};
  program code{{instruction_kind::forward, {0}},
               {instruction_kind::forward, {1}},
               {instruction_kind::backward, {0}},
               {instruction_kind::backward, {1}}};
  std::vector<merge> merges;

  /// How often each of the laws 1 to 4 is broken.
  [[nodiscard]] std::vector<std::int64_t> broken() const {
    const partition packs{packs_of(forward), packs_of(backward)};
    const std::vector<program> programs{code};
    const std::vector<testing::replica_view> replicas{{sequences, packs, programs, {}, parents}};
    testing::report r("replica laws", 1);
    if (testing::check_slices(r, batch_view{lengths, parents}, on, replicas, merges) &&
        testing::check_programs(r, on, replicas, merges))
      testing::check_memory(r, on, replicas[0], std::vector<memory_rates>{{.live_token = 1}},
                            [](const slice&, int, tokens) { return bytes{0}; });
    std::vector<std::int64_t> counts;
    for (int law = 1; law <= 4; ++law) counts.push_back(r.broken(law));
    return counts;
  }
};

using counts = std::vector<std::int64_t>;

TEST(ReplicaLaws, HoldForTheExample) { EXPECT_EQ(example{}.broken(), (counts{0, 0, 0, 0})); }

TEST(ReplicaLaws, FindATokenThatDoesNotRun) {
  example e;
  e.backward[1].clear();
  EXPECT_GT(e.broken()[0], 0);
}

TEST(ReplicaLaws, FindACutOffTheQuantum) {
  example e;
  e.forward[0] = {{{0}, {0}, {5}}};
  e.forward[1][0] = {{0}, {5}, {15}};
  EXPECT_GT(e.broken()[1], 0);
}

TEST(ReplicaLaws, FindSlicesOutOfOrder) {
  example e;
  std::swap(e.backward[0], e.backward[1]);
  EXPECT_GT(e.broken()[2], 0);
}

TEST(ReplicaLaws, FindAnInstructionThatIsMissingAndOneThatWaitsForever) {
  example e;
  e.code.pop_back();
  EXPECT_GT(e.broken()[2], 0);
  example early;
  std::swap(early.code[0], early.code[2]);
  EXPECT_GT(early.broken()[2], 0);
}

// All three slices are live before the first backward: 30 tokens.
TEST(ReplicaLaws, FindTooMuchHeld) {
  example e;
  e.on.memory->amount = 29;
  EXPECT_EQ(e.broken(), (counts{0, 0, 0, 1}));
}

/// Sequence 1, of 20 tokens, goes on where sequence 0, of 15, ends; it is cut backward, at a multiple of 10 of its own.
example path() {
  example e;
  e.lengths = {{15}, {20}};
  e.parents = {no_parent, {0}};
  e.on.memory->amount = 35;
  e.forward = {{{{0}, {0}, {10}}}, {{{0}, {10}, {5}}, {{1}, {15}, {20}}}};
  e.backward = {{{{1}, {25}, {10}}}, {{{1}, {15}, {10}}, {{0}, {0}, {15}}}};
  return e;
}

TEST(ReplicaLaws, HoldForAPath) { EXPECT_EQ(path().broken(), (counts{0, 0, 0, 0})); }

TEST(ReplicaLaws, FindASequenceThatRunsBeforeItsParent) {
  example e = path();
  std::swap(e.forward[1][0], e.forward[1][1]);
  EXPECT_EQ(e.broken()[0], 0);
  EXPECT_GT(e.broken()[2], 0);
  e = path();
  std::swap(e.backward[1][0], e.backward[1][1]);
  EXPECT_EQ(e.broken()[0], 0);
  EXPECT_GT(e.broken()[2], 0);
}

TEST(ReplicaLaws, FindACutOffTheQuantumOfASequence) {
  example e = path();
  e.backward = {{{{1}, {20}, {15}}}, {{{1}, {15}, {5}}, {{0}, {0}, {15}}}};
  EXPECT_GT(e.broken()[1], 0) << "20 is a multiple of the quantum on the path, and not in the sequence";
}

TEST(ReplicaLaws, FindSlicesThatBeginWithoutTheirDepth) {
  example e = path();
  e.forward[1][1] = {{1}, {0}, {20}};
  EXPECT_GT(e.broken()[0], 0);
}

TEST(ReplicaLaws, FindAPathThatReplicasShare) {
  example e = path();
  e.merges.push_back({{1}, {0, 1}, {}, {}});
  EXPECT_GT(e.broken()[0], 0);
}

TEST(ReplicaLaws, FindABatchThatIsNoForest) {
  example e = path();
  e.parents = {{1}, {0}};
  EXPECT_GT(e.broken()[0], 0);
}

TEST(ReplicaLaws, FindAMergeOfOneReplica) {
  example e;
  e.merges.push_back({{0}, {0}, {}, {}});
  EXPECT_GT(e.broken()[0], 0);
}

}  // namespace
}  // namespace slimpack::replica_laws_test
