#include <slimpack/io/lengths.hpp>

#include "listed_lengths.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

/// What stands beside lengths: how often they occur, sums, and other parts of the samples.
namespace lengths_beside_test {
namespace {

using listed_lengths::lengths_options;
using listed_lengths::said;
using slimpack::io::lengths_format;
using slimpack::io::read_lengths_list;

lengths_options field(std::string name) { return {lengths_format::automatic, std::move(name)}; }

std::vector<std::string> notes_of(const std::string& content, const lengths_options& asked = {}) {
  const scratch s;
  const auto read = read_lengths_list(s.file("list", content), asked);
  return read ? read.value().notes : std::vector<std::string>{read.error().detail};
}

TEST(Histograms, AreRefusedByTheNameOfTheirCounts) {
  for (const std::string count : {"count", "frequency", "n", "weight", "percent", "repeat", "num_samples"}) {
    const std::string why = "has each length once, with a number \"" + count + "\" beside it, as a histogram has: write each length as often as it "
                            "occurs; with the field length each is read once";
    const std::string csv = "length," + count + "\n200,5\n100,7.5\n";
    EXPECT_EQ(said(csv), why);
    EXPECT_EQ(said(csv, field("length")), "200 100 ");
    EXPECT_EQ(said("{\"length\": 200, \"" + count + "\": 5}\n{\"length\": 100, \"" + count + "\": 7.5}\n"), why);
    EXPECT_EQ(said("[{\"length\": 200, \"" + count + "\": 5}, {\"length\": 100, \"" + count + "\": 7}]"), why);
  }
  EXPECT_EQ(said("length,count\n200,5\n100,7\n200,9\n"), "200 100 200 ");  // not each once
  EXPECT_EQ(said("n,length\n0,200\n1,100\n2,50\n"), "200 100 50 ");        // numbers of rows
  EXPECT_EQ(said("{\"length\": 200, \"count\": 5}\n{\"length\": 100}\n"), "200 100 ");
  EXPECT_EQ(said("{\"input_ids\": [1, 2], \"n\": 5}\n{\"input_ids\": [1], \"n\": 7}\n"), "2 1 ");
}

TEST(RowsThatSumUp, AreRefused) {
  const std::string why = ", so it sums up other rows, expected one sequence a row: leave it out";
  EXPECT_NE(notes_of("id,length\na,200\nb,100\nTotal,300\n")[0].find("list:4: begins with \"Total\"" + why), std::string::npos);
  EXPECT_NE(notes_of(",length\ncount,5\nmean,200\nstd,7\n")[0].find("list:3: begins with \"mean\"" + why), std::string::npos);
  EXPECT_EQ(said("id,length\na,200\ntotally,100\n"), "200 100 ");
  EXPECT_EQ(said("length,kind\n200,total\n"), "200 ");
}

TEST(PartsOfSamples, AreNoted) {
  const auto note = [](const std::string& read, const std::string& other) {
    return std::vector<std::string>{"\"" + read + "\" alone is read; the file has \"" + other + "\", too: with the field " + read + "+" +
                                    other + " their sum is read"};
  };
  for (const std::string other : {"output_ids", "rejected_ids", "prompt_ids", "decoder_input_ids"})
    EXPECT_EQ(notes_of("{\"input_ids\": [1, 2, 3], \"" + other + "\": [4, 5]}\n{\"input_ids\": [1]}\n"), note("input_ids", other));
  for (const std::string other : {"response_length", "prompt_len", "completion_tokens"}) {
    EXPECT_EQ(notes_of("{\"length\": 8, \"" + other + "\": 50}\n{\"length\": 9}\n"), note("length", other));
    EXPECT_EQ(notes_of("length," + other + "\n8,50\n8,7\n"), note("length", other));
    EXPECT_TRUE(notes_of("length," + other + "\n8,50\n8,7\n", field("length+" + other)).empty());
  }
  EXPECT_TRUE(notes_of("length,prompt_len,response_len\n8,5,3\n8,7,1\n").empty());  // the length is their sum
  EXPECT_TRUE(notes_of("{\"length\": 8, \"prompt_len\": 5, \"response_len\": 3}\n{\"length\": 9}\n").empty());
  EXPECT_TRUE(notes_of("{\"input_ids\": [1, 2], \"labels\": [1, 2], \"token_type_ids\": [0, 0], \"prompt\": \"a\"}\n{\"input_ids\": [1]}\n").empty());
}

}  // namespace
}  // namespace lengths_beside_test
