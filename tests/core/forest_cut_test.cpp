#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/forest/uncut.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slimpack::forest_cut_test {
namespace {

// Sequence 0 has the children 1 and 2, and 3 is below 2. Sequence 2 runs on another replica, with a copy of 0 that is
// sequence 4; and 3 on a third one, with 0 and 2 before its own tokens.
forest_cut three() {
  return {{{100}, {50}, {60}, {170}, {100}},
          {no_parent, {0}, {4}, no_parent, no_parent},
          {{{3}, {2}, {160}}, {{4}, {0}, {100}}}};
}

std::string fault_of(const forest_cut& cut) {
  const result<uncut_forest> from = uncut(cut, cut.copies);
  return from ? "" : from.error().detail;
}

TEST(ForestCut, TellsItsBatch) {
  const result<uncut_forest> from = uncut(three(), three().copies);
  ASSERT_TRUE(from) << from.error().detail;
  EXPECT_EQ(from.value().lengths, (std::vector<tokens>{{100}, {50}, {60}, {10}}));
  EXPECT_EQ(from.value().parents, (std::vector<sequence_id>{no_parent, {0}, {0}, {2}}));
}

TEST(ForestCut, RefusesWhatIsCutFromNothing) {
  forest_cut cut = three();
  cut.copies[0].until = {150};
  EXPECT_EQ(fault_of(cut), "sequence 3 copies tokens up to 150, sequence 2 ends at 160");
  cut = three();
  cut.copies[0].until = {171};
  EXPECT_EQ(fault_of(cut), "sequence 3 has copied tokens up to 171, its own run from 0 to 170");
  cut = three();
  cut.copies[1].of = {4};
  EXPECT_EQ(fault_of(cut), "sequence 4 is a copy of sequence 4, which is none of the batch");
  cut = three();
  cut.copies.pop_back();  // 4 would be of the batch, and its child 2 before it
  EXPECT_EQ(fault_of(cut), "sequence 2 has the parent 4: a parent comes before its children");
  cut = three();
  cut.copies[1].until = {40};
  EXPECT_EQ(fault_of(cut), "sequence 2 has the parent 4: a parent comes before its children");
  cut = three();
  cut.parents[2] = {0};  // nothing goes on from 4, which is a copy all the same
  EXPECT_EQ(fault_of(cut), "");
  cut = three();
  cut.copies[1].of = {1};
  EXPECT_EQ(fault_of(cut), "sequence 3 copies tokens up to 160, sequence 2 ends at 210");
  cut = three();
  std::swap(cut.copies[0], cut.copies[1]);
  EXPECT_EQ(fault_of(cut), "sequence 3 has a copied path; such sequences are there, and in ascending order");
}

TEST(BatchView, SaysWhatIsNoForest) {
  const auto fault = [](std::vector<tokens> lengths, std::vector<sequence_id> parents) {
    return batch_view(lengths, parents).fault().value_or("");
  };
  const auto disorder = [](std::vector<tokens> lengths, std::vector<sequence_id> parents) {
    return batch_view(lengths, parents).disorder().value_or("");
  };
  EXPECT_EQ(fault({{1}, {0}}, {}), "sequence 1 has 0 tokens; lengths run from 1 to 2147483647");
  EXPECT_EQ(fault({{1}, {1}}, {no_parent}), "there are 1 parents for 2 sequences");
  EXPECT_EQ(fault({{1}, {1}}, {no_parent, {2}}), "sequence 1 has the parent 2; there are 2 sequences");
  EXPECT_EQ(fault({{1}, {1}}, {{1}, {0}}), "a sequence is its own ancestor: parents end at a root");
  EXPECT_EQ(fault({{1}}, {{0}}), "a sequence is its own ancestor: parents end at a root");
  EXPECT_EQ(fault({{2147483647}, {1}}, {no_parent, {0}}),
            "sequence 1 ends at token 2147483648 of its path; paths have at most 2147483647");
  EXPECT_EQ(disorder({{1}, {1}}, {{1}, no_parent}), "sequence 0 has the parent 1: a parent comes before its children");
  EXPECT_EQ(disorder({{1}, {1}, {1}}, {no_parent, no_parent, {0}}),
            "sequence 2 comes after other children than those of its parent, 0: sequences are in depth-first order, a "
            "subtree in one piece");
  EXPECT_EQ(disorder({{1}, {1}, {1}}, {no_parent, {0}, {0}}), "");
}

}  // namespace
}  // namespace slimpack::forest_cut_test
