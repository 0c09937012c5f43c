#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/core/soundness/is_sound.hpp>
#include <slimpack/planner.hpp>
#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::sound_packs_test {
namespace {

/// Three replicas; the long sequence is worth sharing.
plan planned(std::uint64_t seed) {
  testing::generator random(seed);
  std::vector<tokens> lengths{{60000}};
  for (int i = 0; i < 12; ++i) lengths.push_back(random.length({6000}));
  const shape on{.stages = 2, .replicas = 3, .quantum = {64}};
  return planner{on, slicers::equal_cost{},
                 costs::quadratic{.attention = 4e-11, .per_pack = {6.4e-5}, .hop = {2.4e-5}}}(lengths)
      .value();
}

using packs = std::vector<std::vector<slice>>;

/// Changes the packs of a pass.
void change(replica_plan& r, pass p, const std::function<void(packs&)>& how) {
  packs all;
  micropacks& of = r.partition.of(p);
  for (std::size_t i = 0; i < of.size(); ++i) all.emplace_back(of[i].begin(), of[i].end());
  how(all);
  of.clear();
  for (const std::vector<slice>& pack : all) {
    for (const slice& s : pack) of.append(s);
    of.close();
  }
}

std::string refusal(const plan& p) {
  const result<void> sound = is_sound(p);
  return sound ? std::string("none") : sound.error().detail;
}

TEST(SoundPacks, HoldsOfPlansWhoseReplicasShareSequences) {
  std::size_t shared = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const plan p = planned(seed);
    EXPECT_EQ(refusal(p), "none") << "seed " << seed;
    shared += p.merges.size();
  }
  EXPECT_GT(shared, 0U);
}

TEST(SoundPacks, RefusesSlicesThatAreMissingTwiceCutElsewhereOrOutOfOrder) {
  const plan whole = planned(1);
  for (const pass direction : both_passes)
    for (std::uint32_t replica = 0; replica < 3; ++replica) {
      const std::vector<std::pair<const char*, std::function<void(packs&)>>> faults{
          {"missing", [](packs& all) { all.back().pop_back(); }},
          {"twice", [](packs& all) { all.back().push_back(all.front().front()); }},
          {"shorter", [](packs& all) { all.front().front().length -= tokens{1}; }},
          {"on the first pack alone", [](packs& all) { all.resize(1); }},
          {"backwards", [](packs& all) { std::swap(all.front(), all.back()); }}};
      for (const auto& [name, spoil] : faults) {
        plan p = whole;
        change(p.replicas[replica], direction, spoil);
        EXPECT_NE(refusal(p), "none") << name << ", replica " << replica << ", " << name_of(direction);
      }
    }
}

TEST(SoundPacks, NamesTheSequenceAndWhatIsDue) {
  plan p;
  p.shape = {.quantum = {2}};
  p.lengths = {{4}};
  replica_plan& r = p.replicas.emplace_back();
  const auto say = [&](const std::vector<slice>& one_a_pack) {
    r.partition.forward.clear();
    for (const slice& s : one_a_pack) r.partition.forward.append(s), r.partition.forward.close();
    const result<void> sound = detail::sound_packs(p, detail::extent::listed);
    return sound ? std::string("none") : sound.error().detail;
  };
  EXPECT_EQ(say({{{0}, {0}, {4}}}), "sequence 0 has a slice on replica 0, which does not list it");
  r.sequences = {{0}};
  EXPECT_EQ(say({{{0}, {0}, {4}}}), "none");  // without backward packs it is an evaluation
  EXPECT_EQ(say({{{0}, {0}, {2}}}), "sequence 0 of 4 tokens ends at token 2 forward: each token must run once");
  EXPECT_EQ(say({{{0}, {2}, {2}}, {{0}, {0}, {2}}}),
            "sequence 0 runs tokens 2 to 4 in forward pack 0 of replica 0, where what begins at token 0 comes next");
  EXPECT_EQ(say({{{0}, {0}, {1}}, {{0}, {1}, {3}}}),
            "sequence 0 is cut at token 1 by forward pack 1 of replica 0, no multiple of the quantum, 2");
  EXPECT_EQ(say({{{0}, {0}, {5}}}),
            "sequence 0 has 4 tokens, of which forward pack 0 of replica 0 runs 5 from token 0 on");
}

TEST(SoundPacks, RefusesReplicasThatAreCopiesOrListNothing) {
  plan copied = planned(2);
  copied.replicas[1] = copied.replicas[0];
  EXPECT_NE(refusal(copied), "none");
  EXPECT_NE(refusal(copied).find(" replicas, it must be on 1, or on those that share it"), std::string::npos);
  plan unlisted = planned(2);
  unlisted.replicas[0].sequences.clear();
  EXPECT_NE(refusal(unlisted), "none");
}

}  // namespace
}  // namespace slimpack::sound_packs_test
