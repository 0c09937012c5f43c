#include <slimpack/testing/cost_model_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <sstream>

namespace slimpack::cost_model_laws_test {
namespace {

/// Obeys every law; the others below break one.
struct lawful {
  [[nodiscard]] seconds time(const slice& s, pass, int) const { return {static_cast<double>(s.length.value)}; }
};

testing::report report_of(const auto& cost) { return testing::cost_model_laws(cost, 2, {.cases = 20}); }

/// Exactly the laws given are broken.
void expect_broken(const auto& cost, std::initializer_list<int> laws) {
  const testing::report r = report_of(cost);
  for (int law = 1; law <= 5; ++law)
    EXPECT_EQ(r.broken(law) > 0, std::find(laws.begin(), laws.end(), law) != laws.end()) << "law " << law << '\n' << r;
}

TEST(CostModelLawsReport, AcceptsALawfulModel) { expect_broken(lawful{}, {}); }

struct negative {
  [[nodiscard]] seconds time(const slice& s, pass, int) const { return {static_cast<double>(s.length.value) - 1.5}; }
};
struct endless : lawful {
  [[nodiscard]] seconds overhead(pass, int) const { return {std::numeric_limits<double>::infinity()}; }
};
struct call_that_gives_back : lawful {
  [[nodiscard]] seconds call_overhead(pass, int) const { return {-1e-9}; }
};
struct early_message : lawful {
  [[nodiscard]] seconds message(tokens, pass, int) const { return {-1e-9}; }
};
struct more_collectives_than_useful : lawful {
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const { return time(s, p, part) * 0.5; }
  [[nodiscard]] seconds collectives(const slice& s, pass p, int part) const { return time(s, p, part) * 0.51; }
};

struct more_useful_than_long : lawful {
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const { return time(s, p, part) * 1.01; }
};
struct all_weights : lawful {
  [[nodiscard]] seconds weight_time(const slice& s, int part) const { return time(s, pass::backward, part) * 1.01; }
};
struct undefined_on_part_1 : lawful {
  [[nodiscard]] seconds time(const slice& s, pass p, int part) const {
    return part == 1 && s.length.value == 1 ? seconds{std::nan("")} : lawful::time(s, p, part);
  }
};

TEST(CostModelLawsReport, FindsTimesThatAreNone) {
  EXPECT_GT(report_of(negative{}).broken(1), 0);
  EXPECT_GT(report_of(undefined_on_part_1{}).broken(1), 0);
  EXPECT_GT(report_of(endless{}).broken(1), 0);
  EXPECT_GT(report_of(call_that_gives_back{}).broken(1), 0);
  expect_broken(early_message{}, {1, 3});  // twice a negative message is no larger
  expect_broken(more_useful_than_long{}, {1});
  expect_broken(more_collectives_than_useful{}, {1});
  expect_broken(all_weights{}, {1, 2, 3});  // what is left is less the longer the slice and the pack
}

struct mean_of_pack : lawful {
  using lawful::time;
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return sum * (1.0 / static_cast<double>(pack.size()));
  }
};

TEST(CostModelLawsReport, FindsPacksCheaperThanAMember) { expect_broken(mean_of_pack{}, {2}); }

struct cheaper_together : lawful {
  using lawful::time;
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds largest{};
    for (const slice& s : pack) largest = std::max(largest, time(s, p, part));
    return largest;
  }
};
struct with_its_least : cheaper_together {
  [[nodiscard]] seconds weight_time(const slice&, int) const { return {}; }
  [[nodiscard]] seconds least(const slice& s, pass, int) const { return {1e-9 * static_cast<double>(s.length.value)}; }
};

// A pack as fast as its largest member has no more least time than that. Bounds would add up what it does not take.
TEST(CostModelLawsReport, FindsPacksCheaperThanTheLeastOfTheirSlices) {
  expect_broken(cheaper_together{}, {2});
  expect_broken(with_its_least{}, {});
}

struct halves_together : with_its_least {
  [[nodiscard]] seconds weight_time(const slice& s, int part) const { return time(s, pass::backward, part) * 0.5; }
};
struct overhead_hidden : lawful {
  using lawful::time;
  [[nodiscard]] seconds overhead(pass, int) const { return {1}; }
  [[nodiscard]] seconds time(std::span<const slice> pack, pass p, int part) const {
    seconds sum{};
    for (const slice& s : pack) sum += time(s, p, part);
    return std::max(sum, overhead(p, part));
  }
};

// The least fill and drain of a pipeline are packs of one slice, and drains leave weight gradients out.
TEST(CostModelLawsReport, FindsPacksCheaperThanAMemberWithoutWeightGradients) { expect_broken(halves_together{}, {2}); }
TEST(CostModelLawsReport, FindsPacksThatHideTheirOverhead) { expect_broken(overhead_hidden{}, {2}); }

struct weights_of_long_slices : lawful {  // as much as all of it from 4096 tokens on, of which the rest falls there
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return s.length.value < 4096 ? seconds{} : time(s, pass::backward, part);
  }
};
struct weights_of_short_slices : lawful {  // what cuts take apart is more than a sequence has
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return std::min(time(s, pass::backward, part), seconds{128});
  }
};

TEST(CostModelLawsReport, FindsBackwardsThatFallWithoutWeightGradientsAsASliceGrows) {
  EXPECT_GT(report_of(weights_of_long_slices{}).broken(3), 0);
}
TEST(CostModelLawsReport, FindsWeightGradientsThatCutsHaveMoreOf) { expect_broken(weights_of_short_slices{}, {2}); }

struct faster_with_prefix {
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    return {static_cast<double>(s.length.value) / static_cast<double>(1 + s.begin.value)};
  }
};
struct cliff {  // thin slices run slowly, and a quantum more is faster: a table that was not made monotone
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    return {static_cast<double>(s.length.value) * (s.length.value < 1024 ? 8 : 1)};
  }
};
struct bulk_messages : lawful {
  [[nodiscard]] seconds message(tokens size, pass, int) const { return {1 / static_cast<double>(size.value)}; }
};

TEST(CostModelLawsReport, FindsTimesThatFallAsASliceGrows) {
  expect_broken(faster_with_prefix{}, {2, 3, 4});
  expect_broken(cliff{}, {3, 4});
  expect_broken(bulk_messages{}, {3});
}

/// Pairs of a token and those of its chunk of 1000 tokens up to itself, among the first n.
double chunk_pairs(tokens n) {
  const auto all = [](std::int64_t k) { return static_cast<double>(k) * (static_cast<double>(k) + 1) / 2; };
  return static_cast<double>(n.value / 1000) * all(1000) + all(n.value % 1000);
}
struct chunks : lawful {  // a slice right behind a border takes less than one right before it
  [[nodiscard]] bool has_borders() const { return true; }
  [[nodiscard]] seconds time(const slice& s, pass, int) const { return {chunk_pairs(s.end()) - chunk_pairs(s.begin)}; }
};
struct undeclared_chunks : chunks {
  [[nodiscard]] bool has_borders() const { return false; }
};
struct least_has_borders : lawful {
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const {
    return {chunks{}.time(s, p, part).value / 1e3};
  }
  [[nodiscard]] seconds weight_time(const slice&, int) const { return {}; }
};
struct weights_have_borders : undeclared_chunks {  // all of time is the same of each token; what is left is of chunks
  [[nodiscard]] seconds time(const slice& s, pass, int) const { return {1e3 * static_cast<double>(s.length.value)}; }
  [[nodiscard]] seconds weight_time(const slice& s, int part) const {
    return time(s, pass::backward, part) - chunks::time(s, pass::backward, part);
  }
};

TEST(CostModelLawsReport, AsksOfBordersThatTheyAreDeclared) {
  expect_broken(chunks{}, {});
  expect_broken(undeclared_chunks{}, {3});
  expect_broken(least_has_borders{}, {3});
  expect_broken(weights_have_borders{}, {3});
}

struct dear_beginning {  // the first 1000 tokens of a sequence take longer than those behind them
  [[nodiscard]] bool has_borders() const { return true; }
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    return {static_cast<double>(s.length.value + std::min(s.end(), tokens{1000}).value -
                                std::min(s.begin, tokens{1000}).value)};
  }
};
struct cliff_with_borders : cliff {
  [[nodiscard]] bool has_borders() const { return true; }
};
struct by_first_token : lawful {  // all take as long as the first, so that one with a shorter prefix takes less
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    return {static_cast<double>(s.length.value) * static_cast<double>(1 + s.begin.value)};
  }
};

// Borders excuse neither what takes less than without a prefix, nor what grows at an end.
TEST(CostModelLawsReport, FindsOtherTimesThatFallWithBorders) {
  expect_broken(dear_beginning{}, {3});
  expect_broken(cliff_with_borders{}, {3, 4});
  EXPECT_GT(report_of(by_first_token{}).broken(3), 0);
}

// Tables of measured slices need not have their fronts in order: no bound asks that of them.
TEST(CostModelLawsReport, AsksMeasuredModelsForNoGrowthAtTheFront) {
  const testing::report r = testing::cost_model_laws(by_first_token{}, 1, {.cases = 20, .analytic = false});
  EXPECT_EQ(r.broken(3), 0) << r;
}

struct launch_per_slice {
  [[nodiscard]] seconds time(const slice& s, pass, int) const { return {1000.0 + static_cast<double>(s.length.value)}; }
};

TEST(CostModelLawsReport, FindsWorkThatCuttingChanges) { expect_broken(launch_per_slice{}, {4}); }

TEST(CostModelLawsReport, AsksMeasuredModelsForNoConservation) {
  const testing::report r = testing::cost_model_laws(launch_per_slice{}, 1, {.cases = 20, .analytic = false});
  EXPECT_TRUE(r) << r;
  EXPECT_EQ(r.checks(4), 0);
}

struct warming_up {
  std::shared_ptr<int> asked = std::make_shared<int>(0);
  [[nodiscard]] seconds time(const slice& s, pass, int) const {
    return {static_cast<double>(s.length.value) * (1 + 1e-13 * static_cast<double>((*asked)++))};
  }
};

TEST(CostModelLawsReport, FindsAnswersThatChange) { expect_broken(warming_up{}, {5}); }

TEST(CostModelLawsReport, IsTheSameForTheSameSeed) {
  const testing::options o{.seed = 9, .cases = 10};
  std::ostringstream first;
  std::ostringstream again;
  first << testing::cost_model_laws(cliff{}, 1, o);
  again << testing::cost_model_laws(cliff{}, 1, o);
  EXPECT_EQ(first.str(), again.str());
  EXPECT_NE(first.str().find("(seed 9)"), std::string::npos);
}

}  // namespace
}  // namespace slimpack::cost_model_laws_test
