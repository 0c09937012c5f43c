#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace slimpack::forest_test {
namespace {

/// A prompt of 512 tokens and answers of 90 and 70.
forest two_answers() {
  return {.lengths = {{512}, {90}, {70}},
          .parents = {no_parent, {0}, {0}},
          .samples = {{{1}, {602}}, {{2}, {582}}},
          .targets = {{{1}, {512}, {90}}, {{2}, {512}, {70}}}};
}

std::string fault_of(const forest& f) { return batch_view(f).fault().value_or("none"); }

TEST(Forest, HasNoFaultWhereSamplesAndTargetsAreTokensOfItsSequences) {
  EXPECT_EQ(fault_of(two_answers()), "none");
  EXPECT_EQ(fault_of({.lengths = {{3}, {4}}}), "none");
  EXPECT_EQ(fault_of({.lengths = {{3}}, .samples = {{{0}, {2}, 2}, {{0}, {3}}}, .targets = {{{0}, {1}, {2}, 3, -.5}}}),
            "none");
}

TEST(Forest, TellsWhatIsWrongWithItsSequencesFirst) {
  forest f = two_answers();
  f.lengths[1] = {0};
  f.targets[0].length = {0};
  EXPECT_EQ(fault_of(f), "sequence 1 has 0 tokens; lengths run from 1 to 2147483647");
}

TEST(Forest, TellsOfEndsOfSamplesThatAreNoTokensOfTheirSequence) {
  forest f = two_answers();
  f.samples[1].at = {512};
  EXPECT_EQ(fault_of(f), "sample 1 is of tokens [511, 512) of sequence 2, which has [512, 582)");
  f.samples[1].at = {583};
  EXPECT_EQ(fault_of(f), "sample 1 is of tokens [582, 583) of sequence 2, which has [512, 582)");
  f.samples[1] = {{3}, {1}};
  EXPECT_EQ(fault_of(f), "sample 1 is of sequence 3, which is not there");
  f.samples[1] = {{2}, {582}, 0};
  EXPECT_EQ(fault_of(f), "sample 1 stands for none: its count is at least 1");
  f.samples[1] = f.samples[0];
  EXPECT_EQ(fault_of(f),
            "sample 1 comes after one of a later place: samples and targets ascend, and targets do not overlap");
}

TEST(Forest, TellsOfTargetsThatAreNoTokensOfTheirSequenceOrOverlap) {
  forest f = two_answers();
  f.targets[1].begin = {513};
  EXPECT_EQ(fault_of(f), "target 1 is of tokens [513, 583) of sequence 2, which has [512, 582)");
  f.targets[1] = {{2}, {512}, {0}};
  EXPECT_EQ(fault_of(f), "target 1 is of tokens [512, 512) of sequence 2, which has [512, 582)");
  f.targets[1] = {{1}, {601}, {1}};
  EXPECT_EQ(fault_of(f),
            "target 1 comes after one of a later place: samples and targets ascend, and targets do not overlap");
  f.targets[1] = {{2}, {512}, {70}, 0};
  EXPECT_EQ(fault_of(f), "target 1 needs a count of at least 1, and a weight that is a finite number");
  f.targets[1] = {{2}, {512}, {70}, 1, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(fault_of(f), "target 1 needs a count of at least 1, and a weight that is a finite number");
  f.targets = {{{0}, {0}, {2}}};
  EXPECT_EQ(fault_of(f), "target 0 has the first token of a root, which nothing predicts");
}

}  // namespace
}  // namespace slimpack::forest_test
