#include <slimpack/executors/detail/stage_script.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace slimpack::stage_script_test {

/// One sequence of 8 tokens, in one pack each way, on one stage.
plan one_pack() {
  plan p;
  p.lengths = {{8}};
  p.shape.stages = p.shape.replicas = p.shape.chunks = 1;
  replica_plan& r = p.replicas.emplace_back();
  r.sequences = {{0}};
  for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) {
    packs->append({{0}, {0}, {8}});
    packs->close();
  }
  r.programs = {{{pass::forward, {0}, 0}, {pass::backward, {0}, 0}}};
  return p;
}

void refused(const plan& p, int rank) {
  for (const backward_cuts cuts : {backward_cuts::any, backward_cuts::forward_cuts}) {
    const auto script = detail::stage_script::of(p, rank, cuts);
    ASSERT_FALSE(script);
    EXPECT_EQ(script.error().code, errc::invalid_input);
  }
}

TEST(StageScript, IsThatOfARankThatThePlanHas) {
  EXPECT_TRUE(detail::stage_script::of(one_pack(), 0, backward_cuts::any));
  for (const int rank : {-1, 1, std::numeric_limits<int>::max()}) refused(one_pack(), rank);
  for (int shape::*degree : {&shape::stages, &shape::replicas, &shape::chunks}) {
    plan p = one_pack();
    p.shape.*degree = 0;
    refused(p, 0);
  }
}

TEST(StageScript, RefusesSlicesThatLeaveTheirSequence) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const slice& wrong : {slice{{0}, {-1}, {9}}, slice{{0}, {0}, {9}}, slice{{0}, {0}, {0}}, slice{{0}, {8}, {-8}},
                             slice{{0}, {1}, {most}}, slice{{1}, {0}, {8}}}) {
    plan p = one_pack();
    p.replicas[0].partition.forward = {};
    p.replicas[0].partition.forward.append(wrong);
    p.replicas[0].partition.forward.close();
    refused(p, 0);
  }
}

TEST(StageScript, RefusesLengthsThatNoSequenceHas) {
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-8}, std::int64_t{1} << 62}) {
    plan p = one_pack();
    p.lengths = {{length}};
    for (micropacks* packs : {&p.replicas[0].partition.forward, &p.replicas[0].partition.backward}) {
      *packs = {};
      packs->append({{0}, {0}, {length}});
      packs->close();
    }
    refused(p, 0);
  }
}

}  // namespace slimpack::stage_script_test
