#include <slimpack/io/forests/token_lines.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace token_lines_test {
namespace {

using slimpack::tokens;
using slimpack::forests::trained_run;
using slimpack::io::empty_sequences;
using slimpack::io::read_token_lines;
using slimpack::io::token_list;
using ids = std::vector<std::int32_t>;
using runs = std::vector<trained_run>;

token_list read(const std::string& text, std::string_view field = {}) {
  std::istringstream in(text);
  return read_token_lines(in, "samples.jsonl", field).value();
}

std::string refusal(const std::string& text, std::string_view field = {},
                    empty_sequences empty = empty_sequences::skip) {
  std::istringstream in(text);
  return complaint(read_token_lines(in, "samples.jsonl", field, empty), "samples.jsonl", slimpack::errc::invalid_input);
}

TEST(ReadTokenLines, TakesTokensFromTheUsualMembersOrANamedOne) {
  const token_list made = read("{\"input_ids\": [5, 6, 7]}\n\n{\"input_ids\": [[5, -200]]}\n");
  EXPECT_EQ(made.ids, (std::vector<ids>{{5, 6, 7}, {5, -200}}));
  EXPECT_EQ(made.list.lengths, (std::vector<tokens>{{3}, {2}}));
  EXPECT_EQ(read("{\"tokens\": [1, 2]}").ids, (std::vector<ids>{{1, 2}}));
  EXPECT_EQ(read("{\"input_ids\": [1], \"a\": {\"b\": [2]}, \"c\": [3]}", "a.b + c").ids, (std::vector<ids>{{2, 3}}));
}

TEST(ReadTokenLines, TrainsOnAllTokensButTheFirstWhereNothingElseIsSaid) {
  EXPECT_EQ(read("{\"input_ids\": [5, 6, 7]}").targets, (std::vector<runs>{{{{1}, {2}}}}));
}

TEST(ReadTokenLines, TakesTargetsFromMasksLabelsAndWeights) {
  const std::string sample = "{\"input_ids\": [5, 6, 7, 8, 9], ";
  const std::vector<runs> masked{{{{1}, {1}}, {{4}, {1}}}};
  EXPECT_EQ(read(sample + "\"loss_mask\": [1, 1, 0, 0, 1]}").targets, masked);
  EXPECT_EQ(read(sample + "\"assistant_masks\": [false, true, false, false, true]}").targets, masked);
  EXPECT_EQ(read(sample + "\"labels\": [-100, 6, -100, -100, 9]}").targets, masked);
  EXPECT_EQ(read(sample + "\"loss_weights\": [0, -0.5, -0.5, 2, 0], \"labels\": [1]}").targets,
            (std::vector<runs>{{{{1}, {2}, -.5}, {{3}, {1}, 2}}}));
}

TEST(ReadTokenLines, LeavesOutWhatIsFilledUp) {
  const token_list made = read(
      "{\"input_ids\": [0, 5, 6, 7, 0], \"attention_mask\": [0, 1, 1, 1, 0], \"labels\": [-100, 5, -100, 7, -100]}");
  EXPECT_EQ(made.ids, (std::vector<ids>{{5, 6, 7}}));
  EXPECT_EQ(made.targets, (std::vector<runs>{{{{2}, {1}}}}));
}

TEST(ReadTokenLines, LeavesOutTokensBehindTheLastTargetAndSamplesWithoutOne) {
  const token_list made = read(
      "{\"input_ids\": [5]}\n{\"input_ids\": [5, 6, 7], \"labels\": [-100, 6, -100]}\n{\"input_ids\": [5, 8], "
      "\"loss_mask\": [1, 0]}\n");
  EXPECT_EQ(made.ids, (std::vector<ids>{{5, 6}}));
  EXPECT_EQ(made.list.lengths, std::vector<tokens>{{2}});
  EXPECT_EQ(made.list.rows, std::vector<std::uint64_t>{1});
  EXPECT_EQ(made.list.notes,
            (std::vector<std::string>{"2 of 3 samples train on no token and are left out",
                                      "1 of 6 tokens are left out, since no target comes behind them"}));
  EXPECT_EQ(refusal("{\"input_ids\": [5]}"), "its samples train on no token");
}

TEST(ReadTokenLines, SkipsSamplesWithoutTokensOrRefusesThem) {
  const std::string text = "{\"input_ids\": [5, 5]}\n{\"input_ids\": []}\n{\"input_ids\": [6, 7]}\n";
  const token_list made = read(text);
  EXPECT_EQ(made.list.rows, (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(made.ids, (std::vector<ids>{{5, 5}, {6, 7}}));
  EXPECT_EQ(made.targets.size(), 2U);
  EXPECT_EQ(made.list.notes.size(), 1U);
  EXPECT_EQ(refusal(text, {}, empty_sequences::reject).find("line 2: the sequence is empty"), 0U);
}

TEST(ReadTokenLines, RefusesSamplesThatHaveNoTokens) {
  EXPECT_EQ(refusal("{\"length\": 5}"),
            "line 1: lacks the key \"input_ids\", it has length; name the field that holds the length or the tokens");
  EXPECT_EQ(refusal("{\"input_ids\": [5]}\n{\"input_ids\": [5, \"a\"]}"),
            "line 2: input_ids[1] is \"a\", expected a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(refusal("{\"input_ids\": 5}"), "line 1: input_ids is 5, expected an array");
  EXPECT_NE(refusal("{\"input_ids\": [5}"), "no error");
}

TEST(ReadTokenLines, RefusesRowsThatSeveralSequencesArePackedInto) {
  const std::string packed = "{\"input_ids\": [5, 6, 7, 8], \"position_ids\": [0, 1, 0, 1]}";
  EXPECT_NE(refusal(packed).find("position_ids"), std::string::npos) << refusal(packed);
  EXPECT_EQ(read(packed, "input_ids").ids.size(), 1U);
}

TEST(ReadTokenLines, RefusesMasksOfAnotherSize) {
  EXPECT_EQ(refusal("{\"input_ids\": [5, 6], \"loss_mask\": [0, 1, 1]}"),
            "line 1: loss_mask has 3 elements, and \"input_ids\" has 2 tokens");
  EXPECT_EQ(refusal("{\"input_ids\": [5, 6], \"attention_mask\": [0]}"),
            "line 1: attention_mask has 1 elements, and \"input_ids\" has 2 tokens");
  EXPECT_EQ(refusal("{\"input_ids\": [5], \"loss_mask\": [\"a\"]}"),
            "line 1: loss_mask[0] is \"a\", expected a number");
}

TEST(ReadTokenLines, ComparesTokensThatASampleSaysItShares) {
  const std::string first = "{\"input_ids\": [5, 6, 7]}\n";
  EXPECT_EQ(read(first + "{\"input_ids\": [5, 6, 8], \"shares\": [0, 2]}").ids.size(), 2U);
  EXPECT_EQ(refusal(first + "{\"input_ids\": [5, 6, 8], \"shares\": [0, 3]}"),
            "line 2: token 2 is 8, and 7 in row 0, with which it says that it shares 3 tokens");
  EXPECT_EQ(refusal(first + "{\"input_ids\": [5, 6, 7, 9], \"shares\": [0, 4]}"),
            "line 2: shares 4 tokens with row 0, which has 3");
  EXPECT_EQ(refusal(first + "{\"input_ids\": [5], \"shares\": [0, 4]}"),
            "line 2: shares[1] is 4, expected a whole number from 0 to 1");
  EXPECT_EQ(refusal(first + "{\"input_ids\": [5], \"shares\": [1, 1]}"),
            "line 2: shares[0] is 1, expected a whole number from 0 to 0");
  EXPECT_EQ(refusal("{\"input_ids\": [5], \"shares\": [0, 1]}"),
            "line 1: shares[0] is 0, expected an earlier row, and this is the first one: leave \"shares\" out");
}

}  // namespace
}  // namespace token_lines_test
