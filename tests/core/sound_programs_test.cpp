#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/is_sound.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::sound_programs_test {
namespace {

instruction f(std::uint32_t pack) { return {instruction_kind::forward, {pack}}; }
instruction b(std::uint32_t pack) { return {instruction_kind::backward, {pack}}; }
instruction w(std::uint32_t pack) { return {instruction_kind::weights, {pack}}; }

/// Sequences of 4 tokens, each in two packs, which each stage runs as `programs` say.
plan plan_of(std::uint32_t sequences, std::vector<program> programs) {
  plan p;
  p.shape = {.stages = static_cast<int>(programs.size()), .quantum = {1}};
  replica_plan& r = p.replicas.emplace_back();
  for (std::uint32_t s = 0; s < sequences; ++s) {
    p.lengths.push_back({4});
    r.sequences.push_back({s});
    for (const pass way : both_passes)
      for (const tokens begin : {tokens{0}, tokens{2}}) {
        micropacks& packs = r.partition.of(way);
        packs.append({{s}, way == pass::forward ? begin : tokens{2} - begin, {2}});
        packs.close();
      }
  }
  r.programs = std::move(programs);
  return p;
}

program forwards_then_backwards(std::uint32_t packs) {
  program all;
  for (std::uint32_t k = 0; k < packs; ++k) all.push_back(f(k));
  for (std::uint32_t k = 0; k < packs; ++k) all.push_back(b(k));
  return all;
}

/// In lock step 5 of forward stage r of four runs pack 5 - r; packs 3 and 5 are the second ones of their sequences.
loan lent(std::uint32_t stage, std::uint32_t helper, std::int64_t begin, std::int64_t keys) {
  const sequence_id s{(5 - stage) / 2};
  return {{stage, f(5 - stage)}, {helper, f(5 - helper)}, {s, {2}, {2}}, {s, {begin}, {keys}}};
}
plan lending_plan() {
  plan p = plan_of(3, std::vector<program>(4, forwards_then_backwards(6)));
  p.replicas[0].loans = {lent(0, 1, 0, 2), lent(2, 3, 0, 1), lent(2, 1, 1, 1)};
  return p;
}

std::string refusal(const plan& p, errc code) {
  const result<void> runs = is_sound(p);
  if (runs) return "none";
  EXPECT_EQ(runs.error().code, code) << runs.error().detail;
  return runs.error().detail;
}

TEST(SoundPrograms, TakesWhatRuns) {
  EXPECT_TRUE(is_sound(plan_of(1, {{f(0), f(1), b(0), b(1)}, {f(0), f(1), b(0), b(1)}})));
  const result<void> lends = is_sound(lending_plan());
  EXPECT_TRUE(lends) << lends.error().detail;
}

TEST(SoundPrograms, NamesAnInstructionThatStandsWhereItMayNot) {
  EXPECT_EQ(refusal(plan_of(1, {{f(1), f(0), b(0), b(1)}}), errc::out_of_order),
            "replica 0, stage 0: F1 stands where pack 0 of 2 comes next");
  EXPECT_EQ(refusal(plan_of(1, {{f(0), f(1), b(0), b(0), b(1)}}), errc::out_of_order),
            "replica 0, stage 0: B0 stands where pack 1 of 2 comes next");
  EXPECT_EQ(refusal(plan_of(1, {{f(0), f(1), b(0)}}), errc::out_of_order),
            "replica 0, stage 0: the program has 3 instructions, F and B of its packs are 4");
  plan apart = plan_of(1, {{f(0), f(1), b(0), w(0), b(1)}});
  EXPECT_EQ(refusal(apart, errc::out_of_order),
            "replica 0, stage 0: W0 is of a pack whose weight gradients do not run apart");
  apart.replicas[0].times.apart.flags = {1, 1};
  EXPECT_EQ(refusal(apart, errc::out_of_order), "replica 0, stage 0: the program ends before W1");
  apart.replicas[0].programs[0] = {f(0), f(1), b(0), w(1), b(1), w(0)};
  EXPECT_EQ(refusal(apart, errc::out_of_order), "replica 0, stage 0: W1 would run before its backward");
  apart.replicas[0].programs[0] = {f(0), f(1), b(0), w(0), b(1), w(0)};
  EXPECT_EQ(refusal(apart, errc::out_of_order), "replica 0, stage 0: W0 stands where W1 comes next");
  plan parts = plan_of(1, {{f(0), f(1), b(0), b(1)}});
  parts.replicas[0].programs[0][0].chunk = 1;
  EXPECT_EQ(refusal(parts, errc::out_of_order), "replica 0, stage 0: F0 is of a chunk that the plan has not");
  parts.replicas[0].programs[0] = {f(0), {instruction_kind::output, {0}}, f(1), b(0), b(1)};
  EXPECT_EQ(refusal(parts, errc::out_of_order),
            "replica 0, stage 0: V0 is of a vocabulary that is spread over the stages, which the plan's is not");
  EXPECT_EQ(refusal(plan_of(1, {{f(0), f(1), b(0), b(1)}, {}}), errc::out_of_order),
            "replica 0, stage 1: the program has 0 instructions, F and B of its packs are 4");
}

TEST(SoundPrograms, NamesTimesThatPacksCannotHave) {
  plan p = plan_of(1, {{f(0), f(1), b(0), b(1)}});
  p.replicas[0].times.apart.flags = {1};
  EXPECT_EQ(refusal(p, errc::invalid_input),
            "replica 0 says of 1 backward packs where their weight gradients run, it has 2");
  p.replicas[0].times.apart = {}, p.replicas[0].times.calls[pass::forward] = {{1}};
  EXPECT_EQ(refusal(p, errc::invalid_input), "replica 0 has 1 times of forward calls, its packs need 2");
}

TEST(SoundPrograms, NamesStagesThatWaitForEachOther) {
  EXPECT_EQ(refusal(plan_of(1, {{f(0), b(0), f(1), b(1)}, {f(0), f(1), b(0), b(1)}}), errc::cyclic_schedule),
            "replica 0, stage 0: B0 waits for B0 of stage 1 and waits itself: the programs wait for each other for "
            "ever; order them as one of "
            "the schedules does");
}

// Without the loan, stage 1 runs F3 whenever it comes to it. With it, not before stage 0 runs F4, behind a B0 that
// stage 1 has yet to run.
TEST(SoundPrograms, AsksThatInstructionsWhichALoanJoinsBeginTogether) {
  plan p = plan_of(3, {{f(0), f(1), f(2), f(3), b(0), f(4), f(5), b(1), b(2), b(3), b(4), b(5)},
                       {f(0), f(1), f(2), f(3), b(0), b(1), f(4), f(5), b(2), b(3), b(4), b(5)}});
  EXPECT_TRUE(is_sound(p));
  p.replicas[0].loans = {{{1, f(3)}, {0, f(4)}, {{1}, {2}, {2}}, {{1}, {0}, {1}}}};
  EXPECT_EQ(refusal(p, errc::cyclic_schedule),
            "replica 0, stage 0: B0 waits for B0 of stage 1 and waits itself: the programs wait for each other for "
            "ever; order them as one of "
            "the schedules does");
  std::swap(p.replicas[0].programs[0][4], p.replicas[0].programs[0][5]);
  EXPECT_TRUE(is_sound(p));
}

TEST(SoundPrograms, NamesWhatIsWrongWithALoan) {
  const plan p = lending_plan();
  const auto says = [&](const std::string& text, auto&& change) {
    plan changed = p;
    change(changed.replicas[0].loans);
    const std::string said = refusal(changed, errc::invalid_input);
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says("loan 0 is between instructions that are not there", [](auto& loans) { loans[0].helper.stage = 4; });
  says("instructions that are not there", [](auto& loans) { loans[0].helper.what.kind = instruction_kind::backward; });
  says("from stage 0 to itself", [](auto& loans) { loans[0].helper = loans[0].lender; });
  says("no slice of the lender's pack, F5 of stage 0", [](auto& loans) { loans[0].queries.length.value -= 1; });
  says("do not all see", [](auto& loans) { loans[0].context.length.value += 1; });
  says("do not all see", [](auto& loans) { loans[0].context.length = {}; });
  says("do not all see", [](auto& loans) { loans[0].context.sequence = {0}; });
  says("F5 of stage 0 in lock step 5 to F3 of stage 1 in lock step 4",
       [](auto& loans) { loans[0].helper.what.pack = {3}; });
  says("loan 0 begins at token 1, where the next oldest keys that F5 of stage 0 lends begin at 0",
       [](auto& loans) { loans[0] = lent(0, 1, 1, 1); });
  says("loan 2 begins at token 0, where the next oldest keys that F3 of stage 2 lends begin at 1",
       [](auto& loans) { loans[2] = lent(2, 1, 0, 1); });
  says("loan 3 is between the instructions of loan 0: join them",
       [](auto& loans) { loans[0] = lent(0, 1, 0, 1), loans.push_back(lent(0, 1, 1, 1)); });
  says("F3 of stage 2, which lends itself in loan 1", [](auto& loans) { loans[0] = lent(0, 2, 0, 2); });
  says("at most 3 loans", [](auto& loans) { loans[0] = lent(0, 1, 0, 1), loans.push_back(lent(0, 3, 1, 1)); });
}

// A compute attends to all slices of a sequence in a pack with the keys that it has kept of it.
TEST(SoundPrograms, LendsForTheOnlySliceOfASequenceInAPack) {
  plan p = lending_plan();
  micropacks& forward = p.replicas[0].partition.forward;
  micropacks cut;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    for (const slice& s : forward[i])
      for (std::int64_t t = 0; t < 2; ++t) cut.append({s.sequence, s.begin + tokens{t}, {1}});
    cut.close();
  }
  forward = cut;
  for (loan& l : p.replicas[0].loans) l.queries.length = {1};
  EXPECT_EQ(refusal(p, errc::invalid_input),
            "replica 0: loan 0 has queries of sequence 2, of which the lender's pack, F5 of stage 0, has other slices, "
            "too: join them, or lend "
            "nothing there");
}

// A sequence's last tokens go backward first, and wait for its end.
TEST(SoundPrograms, RunWhatAStageNeedsOfItself) {
  EXPECT_EQ(refusal(plan_of(1, {{f(0), b(0), f(1), b(1)}}), errc::out_of_order),
            "replica 0, stage 0: B0 would run before F1, which it needs");
}

TEST(SoundPrograms, HoldNoMoreThanTheLimit) {
  plan p = plan_of(1, {{f(0), f(1), b(0), b(1)}});
  p.shape.memory = memory_limit{memory_unit::token, 3};
  EXPECT_EQ(refusal(p, errc::invalid_input), "none") << "the plan does not say what it holds";
  p.replicas[0].peak_memory = {4};
  EXPECT_NE(refusal(p, errc::invalid_input).find("replica 0, stage 0 holds 4"), std::string::npos);
  p.shape.memory->amount = 4;
  EXPECT_EQ(refusal(p, errc::invalid_input), "none");
}

// A compute has done with a sequence when the weight gradients of its first tokens are there.
TEST(SoundPrograms, LeaveWeightGradientsApartFromSomePackOn) {
  plan p = plan_of(1, {{f(0), f(1), b(0), b(1), w(1)}});
  p.replicas[0].times.apart.flags = {0, 1};
  EXPECT_EQ(refusal(p, errc::invalid_input), "none");
  p.replicas[0].times.apart.flags = {1, 0};
  p.replicas[0].programs = {{f(0), f(1), b(0), b(1), w(0)}};
  EXPECT_EQ(
      refusal(p, errc::invalid_input),
      "replica 0: B1 holds weight gradients of sequence 0, those of a pack before it are in W: they would be done "
      "with in the wrong order");
}

}  // namespace
}  // namespace slimpack::sound_programs_test
