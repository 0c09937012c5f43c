#include <slimpack/core/lending/loans_of.hpp>

#include <slimpack/core/lending/detail/loan_fault.hpp>
#include <slimpack/core/slice.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::loans_test {
namespace {

/// Rows of one sequence each, n slices of T tokens.
partition whole_rows(int rows, int n, std::int64_t T) {
  partition packs;
  for (int row = 0; row < rows; ++row)
    for (const pass p : both_passes)
      for (int i = 0; i < n; ++i) {
        packs.of(p).append({{static_cast<std::uint32_t>(row)}, {T * nth_place(p, i, n)}, {T}});
        packs.of(p).close();
      }
  return packs;
}

shape on(int stages, int chunks = 1) { return {.stages = stages, .chunks = chunks, .quantum = {1}}; }

/// The loads of the stages in each full lock step of a pass, as loans leave them; their sum does not change.
std::vector<std::vector<double>> loads(const partition& packs, const shape& at, pass p, std::span<const loan> loans) {
  const detail::lock_steps steps(packs.forward.size(), at);
  std::vector<std::vector<double>> all;
  for (std::size_t k = steps.first_full(); k < steps.end_full(); ++k)
    for (std::size_t r = 0; r < steps.stages(); ++r) {
      if (r == 0) all.emplace_back();
      double load = 0;
      for (const slice& s : packs.of(p)[steps.unit(p, k, r).pack.value]) load += s.pairs();
      all.back().push_back(load);
    }
  for (const loan& l : loans) {
    if (l.pass() != p) continue;
    std::vector<double>& at_step = all[steps.step_of(l.lender.what, l.lender.stage) - steps.first_full()];
    at_step[l.lender.stage] -= l.pairs(), at_step[l.helper.stage] += l.pairs();
  }
  return all;
}

double most(const std::vector<double>& load) { return *std::max_element(load.begin(), load.end()); }
double mean(const std::vector<double>& load) {
  double sum = 0;
  for (const double one : load) sum += one;
  return sum / static_cast<double>(load.size());
}

//  p = 4, slices of 2 tokens, in lock step 3 forward: stages 0, 1, 2, 3 run slices 3, 2, 1, 0 of a row, whose pairs are
//  2 (2 b + 3) / 2 = 15, 11, 7, 3. Stage 0 lends stage 3 (15 - 3) / 2 = 6 pairs, which are 3 keys of 2 queries: 1 whole
//  slice. Stage 1 lends stage 2 (11 - 7) / 2 = 2 pairs, 1 key: no whole slice.
TEST(LoansOf, PairsTheFirstWithTheLast) {
  const partition packs = whole_rows(1, 4, 2);
  const std::vector<loan> loans = loans_of(packs, on(4), attention_lending::pairs, 4).value();
  ASSERT_EQ(loans.size(), 2);  // one full step in each pass
  EXPECT_EQ(loans[0], (loan{{0, {instruction_kind::forward, {3}}},
                            {3, {instruction_kind::forward, {0}}},
                            {{0}, {6}, {2}},
                            {{0}, {0}, {2}}}));
  //  backward: stage 3 runs backward pack 3, slice 0; stage 0 runs backward pack 0, slice 3
  EXPECT_EQ(loans[1], (loan{{0, {instruction_kind::backward, {0}}},
                            {3, {instruction_kind::backward, {3}}},
                            {{0}, {6}, {2}},
                            {{0}, {0}, {2}}}));
}

//  The same: the mean is 9. Stage 0 has 6 too many, 3 keys; stage 3 has room for 6: all of them. Stage 1 has 2 too
//  many, 1 key, and stage 2 has room for it.
TEST(LoansOf, LevelsToTheMean) {
  const partition packs = whole_rows(1, 4, 2);
  const std::vector<loan> loans = loans_of(packs, on(4), attention_lending::level, 4).value();
  ASSERT_EQ(loans.size(), 4);
  EXPECT_EQ(loans[0], (loan{{0, {instruction_kind::forward, {3}}},
                            {3, {instruction_kind::forward, {0}}},
                            {{0}, {6}, {2}},
                            {{0}, {0}, {3}}}));
  EXPECT_EQ(loans[1], (loan{{1, {instruction_kind::forward, {2}}},
                            {2, {instruction_kind::forward, {1}}},
                            {{0}, {4}, {2}},
                            {{0}, {0}, {1}}}));
  for (const pass p : both_passes)
    for (const std::vector<double>& load : loads(packs, on(4), p, loans))
      EXPECT_EQ(load, (std::vector<double>{9, 9, 9, 9}));
}

/// A window that lies in one row: 1 for p odd, 1 + 1 / (2 a + p) for p even, where a slice's own tokens count half (T
/// large).
TEST(LoansOf, LeavesTheClosedFormOfPairs) {
  constexpr std::int64_t T = std::int64_t{1} << 42;
  for (int p = 2; p <= 9; ++p) {
    const int n = 4 * p;
    const partition packs = whole_rows(1, n, T);
    const std::vector<loan> loans = loans_of(packs, on(p), attention_lending::pairs, n).value();
    for (const pass direction : both_passes) {
      const std::vector<std::vector<double>> all = loads(packs, on(p), direction, loans);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(n - p + 1));
      for (int k = 0; k <= n - p; ++k) {
        const int a = direction == pass::forward ? k : n - p - k;
        const std::vector<double>& load = all[static_cast<std::size_t>(k)];
        EXPECT_NEAR(most(load) / mean(load), p % 2 == 1 ? 1 : 1 + 1.0 / (2 * a + p), 1e-12)
            << p << " stages, from slice " << a;
      }
    }
  }
}

/// Max over mean of a period, whose windows wrap around to the next row.
double over_a_period(const partition& packs, const shape& at, int n, std::span<const loan> loans) {
  double all_most = 0, all_mean = 0;
  const std::vector<std::vector<double>> all = loads(packs, at, pass::forward, loans);
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) all_most += most(all[k]), all_mean += mean(all[k]);
  return all_most / all_mean;
}

//  benchmarks/README.md has these beside what SlimPipe's rule gives.
TEST(LoansOf, GivesTheTableOfWindowsThatWrapAround) {
  constexpr std::int64_t T = 1024;
  struct line {
    int p, n;
    double pairs, none;
  };
  for (const line& l : {line{4, 4, 1.250, 1.750},
                        {4, 16, 1.109, 1.328},
                        {8, 8, 1.125, 1.875},
                        {8, 16, 1.156, 1.656},
                        {8, 32, 1.102, 1.383},
                        {16, 16, 1.063, 1.938},
                        {16, 32, 1.141, 1.703},
                        {16, 64, 1.098, 1.410}}) {
    const partition packs = whole_rows(3, l.n, T);
    const auto lent = [&](attention_lending how) {
      return over_a_period(packs, on(l.p), l.n, loans_of(packs, on(l.p), how, l.n).value());
    };
    const double pairs = lent(attention_lending::pairs), level = lent(attention_lending::level);
    std::printf("p %2d, n %2d: pairs %.4f, level %.5f, none %.4f\n", l.p, l.n, pairs, level,
                lent(attention_lending::none));
    EXPECT_NEAR(pairs, l.pairs, .006);
    EXPECT_NEAR(lent(attention_lending::none), l.none, .006);
    EXPECT_NEAR(level, 1, 1.0 / T);
  }
}

TEST(LoansOf, LendsKeysThatTheQueriesSeeInStepsThatAllStagesShare) {
  std::map<std::string, std::size_t> share;
  for (const attention_lending how : {attention_lending::pairs, attention_lending::level})
    for (const int p : {2, 3, 4})
      for (const int chunks : {1, 2}) {
        const int n = 2 * p;
        // Row 0 has a sequence that begins inside a slice; row 1 has three; row 2 one.
        partition packs;
        const std::vector<std::vector<std::int64_t>> rows{
            {100, 64 * n - 100}, {64 * n / 2, 30, 64 * n - 64 * n / 2 - 30}, {64 * n}};
        for (const pass direction : both_passes) {
          std::uint32_t first = 0;
          for (const std::vector<std::int64_t>& row : rows) {
            for (int i = 0; i < n; ++i) {
              const std::int64_t from = 64 * nth_place(direction, i, n);
              std::int64_t at = 0;
              for (std::uint32_t s = 0; s < row.size(); at += row[s++]) {
                const std::int64_t begin = std::max(from, at), end = std::min(from + 64, at + row[s]);
                if (begin < end) packs.of(direction).append({{first + s}, {begin - at}, {end - begin}});
              }
              packs.of(direction).close();
            }
            first += static_cast<std::uint32_t>(row.size());
          }
        }
        const shape at = on(p, chunks);
        const std::vector<loan> loans = loans_of(packs, at, how, n).value();
        const detail::lock_steps steps(packs.forward.size(), at);
        std::map<std::pair<pass, std::size_t>, int> of_step;
        std::map<std::pair<std::uint32_t, std::size_t>, tokens> lent;
        for (const loan& l : loans) {
          EXPECT_EQ(l.queries.sequence, l.context.sequence);
          EXPECT_LE(l.context.end(), l.queries.begin);
          const std::span<const slice> pack = packs.of(l.pass())[l.lender.what.pack.value];
          EXPECT_EQ(std::count(pack.begin(), pack.end(), l.queries), 1);
          EXPECT_EQ(l.lender.what.pass(), l.helper.what.pass());
          const std::size_t step = steps.step_of(l.lender.what, l.lender.stage);
          EXPECT_EQ(step, steps.step_of(l.helper.what, l.helper.stage));
          EXPECT_NE(l.lender.stage, l.helper.stage);
          ++of_step[{l.pass(), step}];
          tokens& before = lent[{l.lender.stage, step + (l.pass() == pass::backward ? steps.size() : 0)}];
          EXPECT_EQ(l.context.begin, before);  // the oldest first, each once
          before = l.context.end();
        }
        for (const auto& [step, count] : of_step) EXPECT_LE(count, p - 1);
        for (const pass direction : both_passes) {
          const auto before = loads(packs, at, direction, {}), after = loads(packs, at, direction, loans);
          for (std::size_t k = 0; k < after.size(); ++k) EXPECT_LE(most(after[k]), most(before[k]));
        }
        share[std::string(name_of(how)) + ", " + std::to_string(p) + " stages, " + std::to_string(chunks) + " chunks"] =
            100 * of_step.size() / (2 * steps.size());
      }
  for (const auto& [what, percent] : share) std::printf("%s: %zu %% of the lock steps lend\n", what.c_str(), percent);
}

std::string refusal(const partition& packs, const shape& at, int slices) {
  return loans_of(packs, at, attention_lending::pairs, slices).error().detail;
}

TEST(LoansOf, RefusesWhatItCannotLendIn) {
  EXPECT_EQ(refusal(whole_rows(1, 4, 8), on(1), 4),
            "lending pairs needs 2 stages or more, and there is 1: choose more stages, or lending none");
  EXPECT_EQ(refusal(whole_rows(1, 6, 8), on(4), 6),
            "lending pairs needs rows of slices that are a multiple of the 4 stages, got 6: choose 4 or 8 slices, or "
            "lending none");
  EXPECT_EQ(refusal(whole_rows(1, 6, 8), on(4), 4),
            "lending pairs needs rows of 4 slices in both passes, got 6 forward and 6 backward packs: choose uniform "
            "slices, or lending none");
  partition uneven = whole_rows(1, 2, 8);
  uneven.forward.append({{1}, {0}, {3}}), uneven.forward.close(), uneven.forward.append({{1}, {3}, {9}}),
      uneven.forward.close();
  uneven.backward.append({{1}, {3}, {9}}), uneven.backward.close(), uneven.backward.append({{1}, {0}, {3}}),
      uneven.backward.close();
  EXPECT_EQ(refusal(uneven, on(2), 2),
            "lending pairs needs slices of a row that are uniform, and forward packs 2 and 3 have 3 and 9 tokens: "
            "choose uniform slices, or lending none");
  partition other = whole_rows(1, 2, 8);
  std::swap(other.backward, other.forward);
  EXPECT_EQ(refusal(partition{other.forward, other.forward}, on(2), 2),
            "lending pairs needs backward packs that are a row's forward packs in reverse, and those of forward pack 0 "
            "differ: choose uniform slices, "
            "or lending none");
  EXPECT_TRUE(loans_of(whole_rows(1, 3, 8), on(1), attention_lending::none, 4).value().empty());
}

}  // namespace
}  // namespace slimpack::loans_test
