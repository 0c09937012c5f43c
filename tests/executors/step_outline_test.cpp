#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/step_outline.hpp>

#include <gtest/gtest.h>

namespace slimpack::step_outline_test {
namespace {

/// A sequence of 8 tokens, in packs of 5 and 3 forward and of 6 and 2 backward, on replica 0 of two.
plan two_packs() {
  plan p;
  p.lengths = {{8}};
  p.shape.replicas = 2;
  p.replicas.resize(2);
  replica_plan& r = p.replicas[0];
  r.sequences = {{0}};
  for (const slice& s : {slice{{0}, {0}, {5}}, slice{{0}, {5}, {3}}})
    r.partition.forward.append(s), r.partition.forward.close();
  for (const slice& s : {slice{{0}, {2}, {6}}, slice{{0}, {0}, {2}}})
    r.partition.backward.append(s), r.partition.backward.close();
  r.programs = {{{instruction_kind::forward, {0}},
                 {instruction_kind::forward, {1}},
                 {instruction_kind::backward, {0}},
                 {instruction_kind::backward, {1}}}};
  p.replicas[1].programs = {{}};
  return p;
}

step_outline outline_of(const plan& p, int rank) {
  return detail::stage_script::of(p, rank, backward_cuts::any, exchange_set::none()).value().outline;
}

TEST(StepOutline, TellsHowMuchAStageWillHold) {
  const step_outline o = outline_of(two_packs(), 0);
  EXPECT_EQ(o.packs_in_flight, 2u);
  EXPECT_EQ(o.tokens_in_flight, tokens{8});
  EXPECT_EQ(o.largest_pack, tokens{6});  // of either pass
  EXPECT_FALSE(o.idle);
  EXPECT_FALSE(o.forward_only);
}

TEST(StepOutline, OfAReplicaWithoutSequencesIsIdle) {
  const step_outline o = outline_of(two_packs(), 1);
  EXPECT_TRUE(o.idle);
  EXPECT_EQ(o.replica, 1);
  EXPECT_EQ(o.packs_in_flight, 1u);  // the beginning of the shortest sequence, of weight 0
}

TEST(StepOutline, IsOfAStepWithBothPassesWhereNothingIsSaid) {
  const step_outline o;
  EXPECT_FALSE(o.idle || o.forward_only);
  EXPECT_EQ(o.forward_calls + o.backward_calls + o.packs_in_flight, 0u);
  EXPECT_TRUE(o.sequences.empty());
}

}  // namespace
}  // namespace slimpack::step_outline_test
