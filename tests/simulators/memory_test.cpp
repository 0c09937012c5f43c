#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/testing/random_replica.hpp>

#include "../laws/cases.hpp"
#include "workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace slimpack::memory_test {
namespace {

/// Token by token: every token is put into a set and taken out of it.
double peak_of_tokens(const partition& packs, const program& code, const memory_rates& rates, int chunks) {
  using token = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // chunk, sequence, position
  std::map<std::uint32_t, std::int64_t> length;
  for (const slice& s : packs.forward.slices())
    length[s.sequence.value] = std::max(length[s.sequence.value], s.end().value);
  std::set<token> live;
  std::set<token> gradients;
  double peak = rates.fixed;
  for (const instruction& i : code) {
    const std::span<const slice> pack = packs.of(i.pass())[i.pack.value];
    std::int64_t running = 0, pairs = 0;
    for (const slice& s : pack)
      for (std::int64_t query = s.begin.value; query < s.end().value; ++query)
        for (std::int64_t key = 0; key < s.end().value; ++key) ++pairs;
    for (const slice& s : pack)
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t, ++running)
        if (i.pass() == pass::forward) live.insert({i.chunk, s.sequence.value, t});
    if (i.pass() == pass::backward)  // the last slice of a sequence opens accumulators for it and its prefix
      for (const slice& s : pack)
        if (s.end().value == length[s.sequence.value] && s.begin.value > 0)
          for (std::int64_t t = 0; t < s.end().value; ++t) gradients.insert({i.chunk, s.sequence.value, t});
    const auto share = [&](std::size_t n) { return static_cast<double>(n) / chunks; };
    peak = std::max(
        peak,
        rates.fixed + rates.live_token * share(live.size()) + rates.gradient_token * share(gradients.size()) +
            (i.pass() == pass::forward ? rates.forward_token : rates.backward_token) * static_cast<double>(running) +
            (i.pass() == pass::forward ? rates.forward_pair : rates.backward_pair) * static_cast<double>(pairs));
    if (i.pass() == pass::forward) continue;
    for (const slice& s : pack)
      for (std::int64_t t = s.begin.value; t < s.end().value; ++t) {
        live.erase({i.chunk, s.sequence.value, t});
        gradients.erase({i.chunk, s.sequence.value, t});
      }
  }
  return peak;
}

TEST(PeakMemory, EqualsACountTokenByToken) {
  testing::generator random(31);
  for (int i = tests::cases(40); i > 0; --i) {
    testing::random_replica made = testing::any_replica({.longest = {96}, .quantum = {4}, .chunks = 2}, random);
    if (random.once_in(2)) testing::hold_pairs(made, random);
    const std::vector<program> programs = schedules::one_f_one_b{}.programs(made.work).value();
    const std::vector<double> peak = simulators::peak_memory(made.work, programs);
    for (std::size_t r = 0; r < programs.size(); ++r)
      EXPECT_EQ(peak[r], peak_of_tokens(made.packs, programs[r], made.work.rates[r], made.work.shape.chunks))
          << "seed 31";
  }
}

// The tokens of the first a_r(i) forwards less those of the first i backwards, at their largest over i.
TEST(PeakMemory, IsOfForwardsBeforeLessBackwards) {
  testing::generator random(32);
  for (int i = tests::cases(40); i > 0; --i) {
    workload work = testing::any_replica({.longest = {16384}}, random).work;
    for (memory_rates& r : work.rates) r = {};
    const std::vector<program> programs = schedules::one_f_one_b{}.programs(work).value();
    const std::vector<double> peak = simulators::peak_memory(work, programs);
    for (std::size_t r = 0; r < programs.size(); ++r) {
      std::size_t forwards = 0;  // a_r(b), once backward b is reached
      std::int64_t most = 0;
      for (const instruction& k : programs[r]) {
        if (k.pass() == pass::forward)
          ++forwards;
        else
          most = std::max(most, work.times.before.forward[forwards] - work.times.before.backward[k.pack.value]);
      }
      EXPECT_EQ(peak[r], static_cast<double>(most)) << "seed 32";
    }
  }
}

// The n slices of the sequence that turns and lead (p-1-r) beyond it are in flight on stage r.
TEST(PeakMemory, OfUniformSlicesIsTheirClosedForm) {
  for (const int p : {1, 2, 4, 8})
    for (const int n : {1, 4, 16})
      for (const int lead : {1, 2}) {
        const workload work = tests::sliced_work(p, 20, n, {});
        const std::vector<double> peak =
            simulators::peak_memory(work, schedules::one_f_one_b{.lead = lead}.programs(work).value());
        for (int r = 0; r < p; ++r)
          EXPECT_EQ(peak[static_cast<std::size_t>(r)], 128.0 * (n + lead * (p - 1 - r))) << "p " << p << " n " << n;
      }
}

// One sequence in slices of 2 x 128 tokens, run backward from the end; per token 10 live, 3 of dK and dV, 1 while a
// forward runs, 5 while a backward runs; 1000 fixed.
//   F0  1000 + 10 x 128                + 128     = 2408
//   F1  1000 + 10 x 256                + 128     = 3688
//   B0  1000 + 10 x 256 + 3 x 256 + 5 x 128      = 4968   accumulators for both slices
//   B1  1000 + 10 x 128 + 3 x 128 + 5 x 128      = 3304   those of the second are gone
TEST(PeakMemory, CountsEveryRate) {
  workload work = tests::sliced_work(1, 1, 2, {});
  work.rates = {{.fixed = 1000, .live_token = 10, .gradient_token = 3, .forward_token = 1, .backward_token = 5}};
  const std::vector<program> programs = schedules::one_f_one_b{}.programs(work).value();
  std::vector<double> held;
  simulators::follow_memory(work, programs[0], 0, [&](const instruction&, double h) { held.push_back(h); });
  EXPECT_EQ(held, (std::vector<double>{2408, 3688, 4968, 3304}));
  EXPECT_EQ(simulators::peak_memory(work, programs), std::vector<double>{4968});
}

TEST(PeakMemory, OpensNoAccumulatorForASequenceInOneSlice) {
  workload work = tests::uniform_work(1, 2, {});
  work.rates = {{.live_token = 0, .gradient_token = 1}};
  EXPECT_EQ(simulators::peak_memory(work, schedules::one_f_one_b{}.programs(work).value()), std::vector<double>{0});
}

// p = 2, chunks = 2, lead 2: stage 0 runs 2 (p-1) + (chunks-1) p + 1 = 5 units before its first backward, half a pack's
// tokens each; stage 1 runs 3.
TEST(PeakMemory, CountsATokenOfAChunkAsItsShare) {
  const workload work = tests::uniform_work(2, 8, {}, 2);
  EXPECT_EQ(simulators::peak_memory(work, schedules::one_f_one_b{}.programs(work).value()),
            (std::vector<double>{5 * 64, 3 * 64}));
}

// One pack of 128 tokens through two chunks of one stage, 3 a token while it runs forward and 5 backward, 1 live:
// 64 + 3 x 128, 128 + 3 x 128, 128 + 5 x 128, 64 + 5 x 128. Half of 3 and 5 would be half of the logits.
TEST(PeakMemory, CountsARunningTokenWholeOnEveryChunk) {
  workload work = tests::uniform_work(1, 1, {}, 2);
  work.rates = {{.live_token = 1, .forward_token = 3, .backward_token = 5}};
  std::vector<double> held;
  simulators::follow_memory(work, schedules::one_f_one_b{}.programs(work).value()[0], 0,
                            [&](const instruction&, double h) { held.push_back(h); });
  EXPECT_EQ(held, (std::vector<double>{64 + 384, 128 + 384, 128 + 640, 64 + 640}));
}

}  // namespace
}  // namespace slimpack::memory_test
