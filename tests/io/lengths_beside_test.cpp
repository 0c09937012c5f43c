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

using listed_lengths::field;
using listed_lengths::lengths_options;
using listed_lengths::notes_of;
using listed_lengths::said;
using slimpack::io::lengths_format;
using slimpack::io::read_lengths_list;

TEST(Histograms, AreRefusedByTheNameOfTheirCounts) {
  for (const std::string count : {"count", "frequency", "n", "weight", "percent", "repeat", "num_samples"}) {
    const std::string why = "has each length once, with a number \"" + count +
                            "\" beside it, as a histogram has: write each length as often as it "
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
  EXPECT_NE(notes_of("id,length\na,200\nb,100\nTotal,300\n")[0].find("list:4: begins with \"Total\"" + why),
            std::string::npos);
  EXPECT_NE(notes_of(",length\ncount,5\nmean,200\nstd,7\n")[0].find("list:3: begins with \"mean\"" + why),
            std::string::npos);
  EXPECT_EQ(said("id,length\na,200\ntotally,100\n"), "200 100 ");
  EXPECT_EQ(said("length,kind\n200,total\n"), "200 ");
  EXPECT_EQ(said("author,length\nMax,200\n"), "200 ");
}

TEST(PartsOfSamples, AreNoted) {
  const auto note = [](const std::string& read, const std::string& other) {
    return std::vector<std::string>{"\"" + read + "\" alone is read; the file has \"" + other +
                                    "\", too: with the field " + read + "+" + other + " their sum is read"};
  };
  for (const std::string other : {"output_ids", "rejected_ids", "prompt_ids", "decoder_input_ids"})
    EXPECT_EQ(notes_of("{\"input_ids\": [1, 2, 3], \"" + other + "\": [4, 5]}\n{\"input_ids\": [1]}\n"),
              note("input_ids", other));
  for (const std::string other : {"response_length", "prompt_len", "completion_tokens"}) {
    EXPECT_EQ(notes_of("{\"length\": 8, \"" + other + "\": 50}\n{\"length\": 9}\n"), note("length", other));
    EXPECT_EQ(notes_of("length," + other + "\n8,50\n8,7\n"), note("length", other));
    EXPECT_TRUE(notes_of("length," + other + "\n8,50\n8,7\n", field("length+" + other)).empty());
  }
  EXPECT_TRUE(notes_of("length,prompt_len,response_len\n8,5,3\n8,7,1\n").empty());  // the length is their sum
  EXPECT_TRUE(notes_of("{\"length\": 8, \"prompt_len\": 5, \"response_len\": 3}\n{\"length\": 9}\n").empty());
  EXPECT_TRUE(notes_of("{\"input_ids\": [1, 2], \"labels\": [1, 2], \"token_type_ids\": [0, 0], \"prompt\": "
                       "\"a\"}\n{\"input_ids\": [1]}\n")
                  .empty());
}

TEST(LengthsThatRise, AreReadUnderANameOfLengths) {
  const std::vector<int> sorted{0, 37, 212, 640, 852, 1411, 2903, 5120, 8111};
  std::string csv = "id,length\n", column = "length\n", jsonl, list;
  for (const int length : sorted) {
    csv += "a," + std::to_string(length) + "\n";
    column += std::to_string(length) + "\n";
    jsonl += "{\"length\": " + std::to_string(length) + "}\n";
    list += (list.empty() ? "{\"lengths\": [" : ", ") + std::to_string(length);
  }
  for (const std::string& file : {csv, column, jsonl, list + "]}"}) {
    EXPECT_EQ(said(file), "37 212 640 852 1411 2903 5120 8111 ") << file;
    const std::vector<std::string> notes = notes_of(file);
    ASSERT_EQ(notes.size(), 2u) << file;
    EXPECT_EQ(notes[0].substr(0, 53), "1 of 9 sequences is empty and left out; the first is ");
    EXPECT_EQ(notes[1],
              "its 9 values rise from each to the next and are read as lengths; with the format cu_seqlens they are "
              "read as ends "
              "of sequences");
  }
  for (std::size_t at; (at = jsonl.find("length")) != std::string::npos;) jsonl.replace(at, 6, "cu");
  EXPECT_EQ(said(jsonl, field("cu")).substr(0, 19), "its 9 values rise f");
}

TEST(LengthsThatRise, AreNotedWhereTheyAreFewWithoutAName) {
  const std::string tail = " and are read as lengths; with the format cu_seqlens they are read as ends of sequences";
  EXPECT_EQ(notes_of("128\n300\n512\n"), std::vector<std::string>{"its 3 values rise from each to the next" + tail});
  EXPECT_EQ(notes_of("[100, 200, 300]"), std::vector<std::string>{"its values rise by 100 each" + tail});
  EXPECT_TRUE(notes_of("128\n300\n").empty());
  EXPECT_TRUE(notes_of("128\n512\n300\n").empty());
  EXPECT_TRUE(notes_of("length\n128\n300\n512\n").empty());
}

TEST(LengthsInOneColumn, HaveNamesOfLengths) {
  for (const std::string name : {"length", "\"length\"", "Length", "LENGTH", "seq_len", "num_tokens", "len", "lengths",
                                 "tokens", "promptLength"}) {
    EXPECT_EQ(said(name + "\n200\n100\n"), "200 100 ") << name;
    EXPECT_EQ(said("\n" + name + "\r\n200.0\r\n100\r\n"), "200 100 ") << name;
  }
  EXPECT_EQ(said("x\n200\n100\n"),
            "line 1: \"x\" is not a whole number, expected one decimal length a line; if it names a column of lengths, "
            "the file is read "
            "with the format csv");
  EXPECT_EQ(said("x\n200\n100\n", {lengths_format::csv, {}}), "200 100 ");
  EXPECT_EQ(said("200\nx\n"), "line 2: \"x\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(said("Length,id\n200,1\n"), "200 ");
  EXPECT_EQ(said("length,\n200,\n100,\n"), "200 100 ");
  EXPECT_EQ(said("length;\n200;\n100;\n"), "200 100 ");
}

TEST(WholeNumbers, MayHaveAFractionOfZero) {
  EXPECT_EQ(said("200.0\n100.0\n50\n"), "200 100 50 ");
  EXPECT_EQ(said("[200.0, 100]"), "200 100 ");
  EXPECT_EQ(said(R"({"lengths": [200.0, 100.0]})"), "200 100 ");
  EXPECT_EQ(said("{\"length\": 200.0}\n{\"length\": 1e2}\n"), "200 100 ");
  EXPECT_EQ(said("200.5\n").substr(0, 43), "line 1: \"200.5\" is not a whole number, expe");
  EXPECT_EQ(said("1.000\n").substr(0, 43), "line 1: \"1.000\" is not a whole number, expe");  // a thousand?
  EXPECT_EQ(said("-5.0\n").substr(0, 37), "line 1: \"-5.0\" is not a length, expec");
  EXPECT_EQ(said("[200.5]"), "[0] is 200.5, expected a length, a whole number, or an array of token ids");
  EXPECT_EQ(said("[1e300]").substr(0, 10), "[0] is 1e+");
  EXPECT_EQ(said("[4294967296.0]"), "[0] is 4294967296.0, expected a whole number from 0 to 2147483647");
}

}  // namespace
}  // namespace lengths_beside_test
