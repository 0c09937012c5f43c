#include <slimpack/profiling/observation.hpp>

#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace slimpack::observation_test {
namespace {

using profiling::gather;
using profiling::observation;
using profiling::observations_of;

/// One sequence of 10 tokens in one pack, on two stages of two replicas, of which the second is idle.
plan one_pack(program code, int chunks = 1) {
  plan p;
  p.shape = {.stages = 2, .replicas = 2, .chunks = chunks};
  p.lengths = {{10}};
  p.replicas.resize(2);
  replica_plan& r = p.replicas[0];
  r.sequences = {{0}};
  for (micropacks* packs : {&r.partition.forward, &r.partition.backward}) packs->push({{0}, {0}, {10}}), packs->close();
  r.programs.assign(2, code);
  return p;
}

/// Instructions that begin at 0, 10, 20, ... and take 1, 2, 3, ... seconds.
step_report timed(const program& code) {
  step_report report;
  double n = 0;
  for (const instruction& i : code) report.timeline.push_back({i, {10 * n}, {11 * n + 1}}), ++n;
  return report;
}

const std::vector<slice> whole{{{0}, {0}, {10}}};

TEST(Observations, AreOfEachPackOnEachChunk) {
  const program code{{instruction_kind::forward, {0}, 0},
                     {instruction_kind::forward, {0}, 1},
                     {instruction_kind::backward, {0}, 1},
                     {instruction_kind::backward, {0}, 0}};
  const std::vector<observation> seen = observations_of(one_pack(code, 2), 1, timed(code)).value();
  // Stage 1 of two has parts 1 and 3.
  EXPECT_EQ(seen, (std::vector<observation>{{pass::forward, 1, false, whole, {1}},
                                            {pass::forward, 3, false, whole, {2}},
                                            {pass::backward, 3, false, whole, {3}},
                                            {pass::backward, 1, false, whole, {4}}}));
}

// B takes 2 s and W 3 s: together a backward of 5 s.
TEST(Observations, TellWeightGradientsApartTwice) {
  const program code{
      {instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}, {instruction_kind::weights, {0}}};
  EXPECT_EQ(observations_of(one_pack(code), 0, timed(code)).value(),
            (std::vector<observation>{{pass::forward, 0, false, whole, {1}},
                                      {pass::backward, 0, false, whole, {5}},
                                      {pass::backward, 0, true, whole, {3}}}));
}

// A backward knows its processor's time where its B and its W do.
TEST(Observations, HaveTheProcessorsTimeOfCallsThatKnowIt) {
  const program code{
      {instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}, {instruction_kind::weights, {0}}};
  step_report report = timed(code);
  const auto processors = [&] {
    std::vector<double> all;
    for (const observation& o : observations_of(one_pack(code), 0, report).value()) all.push_back(o.processor.value);
    return all;
  };
  EXPECT_EQ(processors(), (std::vector<double>{0, 0, 0}));
  report.timeline[0].processor = {0.5}, report.timeline[2].processor = {2};
  EXPECT_EQ(processors(), (std::vector<double>{0.5, 0, 2}));
  report.timeline[1].processor = {1.5};
  EXPECT_EQ(processors(), (std::vector<double>{0.5, 3.5, 2}));
}

TEST(Observations, LeaveOutCallsOfAVocabularyAndPacksThatLendOrHelp) {
  const program code{
      {instruction_kind::embed, {0}}, {instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}};
  plan p = one_pack(code);
  p.replicas[0].loans.push_back(
      {{0, {instruction_kind::forward, {0}}}, {1, {instruction_kind::backward, {0}}}, whole[0], whole[0]});
  EXPECT_EQ(observations_of(p, 0, timed(code)).value(),
            (std::vector<observation>{{pass::backward, 0, false, whole, {3}}}));
  EXPECT_EQ(observations_of(p, 1, timed(code)).value(),
            (std::vector<observation>{{pass::forward, 1, false, whole, {2}}}));
}

TEST(Observations, OfAReplicaWithoutWorkAreNone) {
  const program code{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}};
  EXPECT_TRUE(observations_of(one_pack(code), 2, timed(code)).value().empty());
}

TEST(Observations, NeedTheReportOfTheRanksProgram) {
  const program code{{instruction_kind::forward, {0}}, {instruction_kind::backward, {0}}};
  const auto refusal = [&](int rank, const step_report& report) {
    const result<std::vector<observation>> seen = observations_of(one_pack(code), rank, report);
    return seen                                       ? std::string("no error")
           : seen.error().code == errc::invalid_input ? seen.error().detail
                                                      : "another code";
  };
  EXPECT_EQ(refusal(4, timed(code)), "the plan has no rank 4");
  EXPECT_EQ(refusal(-1, timed(code)), "the plan has no rank -1");
  EXPECT_EQ(refusal(0, timed({code[0], code[1], code[1]})),
            "the report of rank 0 has 3 instructions, more than its program");
  EXPECT_EQ(refusal(1, timed({code[0], code[0]})),
            "the report of rank 1 has another instruction than its program at 1");
  EXPECT_EQ(refusal(0, timed({code[0]})), "no error");  // of a step that went no further
}

/// What each of three ranks gathers.
std::vector<std::vector<observation>> gathered_by_three(const std::vector<std::vector<observation>>& own) {
  transports::threads world{3};
  std::vector<std::vector<observation>> all(3);
  std::vector<std::jthread> ranks;
  for (std::size_t r = 0; r < 3; ++r)
    ranks.emplace_back([&, r] {
      auto endpoint = world.endpoint(static_cast<int>(r));
      all[r] = gather(endpoint, std::span<const observation>(own[r])).value();
    });
  ranks.clear();
  return all;
}

// Times that are no short decimals come to the last bit, and the rank in the middle has none.
TEST(Observations, AreGatheredInOrderOfRanksWithoutIds) {
  const observation first{pass::backward, 5, true, {{{3}, {64}, {7}}, {{4}, {0}, {2}}}, {1.0 / 3}, {0.1}};
  const observation second{pass::forward, 0, false, {{{9}, {0}, {1}}}, {1e-300}};
  observation first_told = first, second_told = second;
  for (observation* o : {&first_told, &second_told})
    for (slice& s : o->pack) s.sequence = {};
  for (const std::vector<observation>& all : gathered_by_three({{first, second}, {}, {second}}))
    EXPECT_EQ(all, (std::vector<observation>{first_told, second_told, second_told}));
}

TEST(Observations, OfNobodyAreGatheredAsNone) {
  for (const std::vector<observation>& all : gathered_by_three({{}, {}, {}})) EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace slimpack::observation_test
