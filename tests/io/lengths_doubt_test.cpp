#include <slimpack/io/lengths.hpp>

#include "listed_lengths.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Files whose numbers may be something else than lengths: each is read right, or refused by name.
namespace lengths_doubt_test {
namespace {

using listed_lengths::field;
using listed_lengths::joined;
using listed_lengths::lengths13;
using listed_lengths::lengths_list;
using listed_lengths::lengths_options;
using listed_lengths::numbers;
using listed_lengths::said;
using listed_lengths::values;
using slimpack::io::empty_sequences;
using slimpack::io::lengths_format;
using slimpack::io::read_lengths;
using slimpack::io::read_lengths_list;

using rows = std::vector<std::uint64_t>;

std::filesystem::path list(const std::string& name) { return data("../../tests/io/lists/" + name); }

std::string said_of(const std::string& name, const lengths_options& asked = {}) {
  return said(read_lengths_list(list(name), asked), list(name).string());
}

lengths_options as(lengths_format format) { return {format}; }

const std::string choose = "; name the field that holds the length or the tokens";
const std::string tokenize =
    "expected a token id: arrays of these are counted, nothing else; write the length, or the ids, that the model's "
    "tokenizer "
    "makes of it";

TEST(ListsOfLengths, AreReadAsTheyAreMeant) {
  for (const auto& [name, asked] :
       std::map<std::string, lengths_options>{{"dict_lengths_plural.json", {}},
                                              {"semicolon.csv", {}},
                                              {"tabs.tsv", {}},
                                              {"pandas_index.csv", {}},
                                              {"hist.jsonl", {}},
                                              {"nested_field.jsonl", field("meta.length")},
                                              {"cu_seqlens.npy", as(lengths_format::cu_seqlens)}}) {
    EXPECT_EQ(said_of(name, asked), joined(lengths13)) << name;
  }
  EXPECT_EQ(said_of("dict_lengths_plural.json", field("lengths")), joined(lengths13));
  values sums = lengths13;
  for (std::int64_t& each : sums) each += 10;
  EXPECT_EQ(said_of("azure.csv", field("ContextTokens+GeneratedTokens")), joined(sums));
  for (std::int64_t& each : sums) each += 90;
  EXPECT_EQ(said_of("rollout_len.jsonl", field("prompt_length+response_length")), joined(sums));
}

TEST(ListsOfLengths, AreRefusedByNameWhereTheyAreNone) {
  EXPECT_EQ(said_of("messages.jsonl", field("messages")), "line 1: messages[0] is an object, " + tokenize);
  EXPECT_EQ(said_of("conversations.jsonl", field("conversations")),
            "line 1: conversations[0] is an object, " + tokenize);
  EXPECT_EQ(said_of("nested_tokens.json"), "[0][0][0] is \"a\", " + tokenize);
  EXPECT_EQ(said_of("batches_of_lengths.json"),
            "[0] is an array, expected a length or an object: its numbers may be tokens or lengths; they are counted "
            "as tokens "
            "with the format json, and lengths belong into one array (jq add)");
  EXPECT_EQ(said_of("batches_of_lengths.json", as(lengths_format::json)), "4 4 5 ");
  EXPECT_EQ(said_of("rollout_nan.jsonl"),
            "line 1: holds NaN, a number that JSON does not have; write null there, or leave it out");
  EXPECT_EQ(said_of("null_one.jsonl"),
            "line 6: length is null, expected a length or an array of token ids; leave the sample out, or name the "
            "field that "
            "holds the length or the tokens");
  EXPECT_EQ(said_of("missing_one.jsonl"),
            "line 6: lacks the key \"length\", which the samples before it have, it has tokens" + choose);
  EXPECT_EQ(
      said_of("cu_seqlens.npy"),
      "its 14 values rise from each to the next, as ends of sequences do (cu_seqlens): they are read with the format "
      "cu_seqlens as ends, with the format npy as lengths");
  EXPECT_EQ(said_of("data.parquet").substr(0, 18), "is a Parquet file,");
}

TEST(ArraysOfTokens, HaveNothingButIntegers) {
  for (const char* const other : {R"("a")", "0.5", "true", "null", R"({"a": 1})", "[1]"})
    EXPECT_NE(
        said(R"({"x": [1, )" + std::string(other) + "]}\n", field("x", lengths_format::jsonl)).find("line 1: x[1] is "),
        std::string::npos)
        << other;
  EXPECT_EQ(said("{\"labels\": [-100, 5]}\n{\"labels\": [7]}\n", field("labels")), "2 1 ");
}

TEST(ArraysOfTokens, OfOneSequenceMayBeInAnotherArray) {
  EXPECT_EQ(said("{\"input_ids\": [[1, 2, 3]]}\n{\"input_ids\": [[4]]}\n"), "3 1 ");
  EXPECT_EQ(said("{\"input_ids\": [[1, 2], [3]]}\n{\"input_ids\": [[4]]}\n"),
            "line 1: input_ids is an array, expected one sequence: its 2 arrays are a batch of several, write each as "
            "a sample "
            "of its own");
  EXPECT_EQ(said("{\"input_ids\": [[[1, 2]]]}\n{\"input_ids\": [[4]]}\n"),
            "line 1: input_ids[0][0] is an array, " + tokenize);
}

TEST(ArraysOfTokens, AreNotCountedWhereTheirNameSaysThatTheyAreLengths) {
  const std::string several =
      " is an array, expected one length: by its name it has several lengths, and not the tokens of one sequence";
  for (const char* const name : {"seq_lens", "cu_seqlens", "token_count", "numTokens", "sizes", "prompt_length"})
    EXPECT_EQ(said("{\"" + std::string(name) + "\": [3, 4]}\n{}\n", field(name)),
              "line 1: " + std::string(name) + several);
  for (const char* const name : {"silence", "accounts", "ids", "x"})  // no such words
    EXPECT_EQ(said("{\"" + std::string(name) + "\": [3, 4]}\n{\"" + std::string(name) + "\": [3]}\n", field(name)),
              "2 1 ");
}

TEST(ArraysOfTokens, PackedFromSeveralSequencesAreNoSequence) {
  const std::string packed =
      " is an array, expected one sequence a sample: by its name it has those of several that are packed into one row" +
      choose;
  EXPECT_EQ(said("{\"input_ids\": [1, 2, 3], \"seq_lens\": [2, 1]}\n{}\n"), "line 1: seq_lens" + packed);
  EXPECT_EQ(said("{\"input_ids\": [1, 2, 3], \"cu_seqlens\": [0, 2, 3]}\n{}\n"), "line 1: cu_seqlens" + packed);
  EXPECT_EQ(said("{\"input_ids\": [1, 2, 3], \"cu_seqlens\": [0, 3]}\n{\"input_ids\": [1]}\n"), "3 1 ");
}

TEST(SamplesThatSayTwoLengths, AreRefusedUnlessTheUserDecides) {
  const auto both = [](const std::string& a, const std::string& b) {
    return "line 1: " + a + " tokens, and " + b + choose;
  };
  const std::string characters = "{\"length\": 9, \"input_ids\": [1, 2]}\n{\"length\": 8, \"input_ids\": [1]}\n";
  EXPECT_EQ(said(characters), both("length says 9", "input_ids says 2"));
  EXPECT_EQ(said(characters, field("length")), "9 8 ");
  EXPECT_EQ(said(characters, field("input_ids")), "2 1 ");
  EXPECT_EQ(said("{\"length\": 9, \"num_tokens\": 3}\n{}\n"), both("length says 9", "num_tokens says 3"));
  const std::string padded =
      "{\"input_ids\": [5, 6, 0], \"attention_mask\": [1, 1, 0]}\n{\"input_ids\": [5], \"attention_mask\": [1]}\n";
  EXPECT_EQ(said(padded), both("input_ids says 3", "attention_mask, which leaves out what is filled up, says 2"));
  EXPECT_EQ(said(padded, field("attention_mask")), "2 1 ");
  EXPECT_EQ(said(padded, field("input_ids")), "3 1 ");
  EXPECT_EQ(
      said("{\"attention_mask\": [[true, false, true]]}\n{\"attention_mask\": [true]}\n", field("attention_mask")),
      "2 1 ");
  EXPECT_EQ(said("{\"attention_mask\": [1, 7]}\n{}\n", field("attention_mask")),
            "line 1: attention_mask[1] is 7, expected a whole number from 0 to 1");
  EXPECT_EQ(said("length,tokens\n7,7\n9,3\n").substr(2), "length says 9 tokens, and tokens says 3" + choose);
  EXPECT_EQ(said("length,tokens\n7,7\n9,3\n", field("tokens")), "7 3 ");
}

TEST(SamplesThatSayTwoLengths, AreNotedWhereTheUserAsksForAnother) {
  const std::vector<std::string> noted{
      "\"count\" is read as lengths, as asked; the file has other numbers under \"length\", too"};
  const lengths_list read = read_lengths_list(list("hist.jsonl"), field("count")).value();
  EXPECT_EQ(read.notes, noted);
  EXPECT_EQ(numbers(read).front(), 68);
  const scratch s;
  EXPECT_EQ(read_lengths_list(s.file("a.csv", "length,count\n640,68\n"), field("count")).value().notes, noted);
  EXPECT_TRUE(read_lengths_list(list("hist.jsonl"), field("length")).value().notes.empty());
  EXPECT_TRUE(read_lengths_list(list("hist.jsonl")).value().notes.empty());
}

TEST(LengthsOfTexts, ThatCountCharactersAreRefused) {
  const std::string in_bytes = "{\"text\": \"h\xc3\xa9\", \"length\": 3}\n{\"text\": \"abcd\", \"length\": 4}\n";
  const std::string in_letters = "{\"text\": \"h\xc3\xa9\", \"length\": 2}\n{\"text\": \"abcd\", \"length\": 4}\n";
  const std::string why = "length is the number of characters of the text beside it in every ";
  const std::string instead = ": with the field length it is read as tokens";
  EXPECT_EQ(said(in_bytes), why + "sample" + instead);
  EXPECT_EQ(said(in_letters), why + "sample" + instead);
  EXPECT_EQ(said(in_letters, field("length")), "2 4 ");
  EXPECT_EQ(said("text,length\nabc,3\nabcd,4\n"), "column " + why + "row" + instead);
  EXPECT_EQ(said("{\"text\": \"abc\", \"length\": 3}\n{\"text\": \"abcd\", \"length\": 1}\n"), "3 1 ");
}

TEST(Fields, AreSumsAndWays) {
  EXPECT_EQ(said("{\"p\": [1, 2], \"r\": 5}\n{\"p\": [], \"r\": 7}\n", field("p+r")), "7 7 ");
  EXPECT_EQ(said("{\"u\": {\"v\": {\"n\": 4}}}\n{\"u\": {\"v.n\": 6}}\n", field("u.v.n")), "4 6 ");
  EXPECT_EQ(said("{\"u.n\": 3, \"u\": {\"n\": 4}}\n{\"u.n\": 5}\n", field("u.n")), "3 5 ");
  EXPECT_EQ(said("{\"p+r\": 3, \"p\": 1, \"r\": 1}\n{\"p\": 4, \"r\": 4}\n", field("p+r")), "3 8 ");
  EXPECT_EQ(said("{\"u\": {\"p\": 3}, \"r\": 1}\n{\"u\": {\"p\": 4}, \"r\": 4}\n", field("u.p + r")), "4 8 ");
  EXPECT_EQ(said("[{\"p\": 3, \"r\": 1}]", field("p+r")), "4 ");
  EXPECT_EQ(said("p,r,p+r\n3,1,9\n", field("p+r")), "9 ");
  EXPECT_EQ(said("{\"p\": 3, \"r\": null}\n{}\n", field("p+r")).substr(0, 17), "line 1: r is null");
  EXPECT_EQ(said("{\"p\": 3}\n{}\n", field("p+r")), "line 1: lacks the key \"r\", it has p" + choose);
  EXPECT_EQ(said("{\"p\": 2147483647, \"r\": 1}\n{}\n", field("p+r")), "line 1: the sum p+r is more than 2147483647");
  EXPECT_EQ(said("p,r\n2147483647,1\n", field("p+r")).substr(2), "column p+r: the sum is more than 2147483647");
}

TEST(Documents, OfOneObjectHaveAListOrAreASample) {
  EXPECT_EQ(said("{\n \"lengths\": [\n  640,\n  212\n ]\n}\n"), "640 212 ");
  EXPECT_EQ(said(R"({"id": [1, 2], "length": [640, 212]})"), "640 212 ");
  EXPECT_EQ(said(R"({"input_ids": [[1, 2, 3], [4]]})"), "3 1 ");
  EXPECT_EQ(said(R"({"input_ids": [1, 2, 3]})"), "3 ");
  EXPECT_EQ(said(R"({"length": 640})"), "640 ");
  EXPECT_EQ(said(R"({"stats": {"lengths": [640, 212]}})", field("stats.lengths")), "640 212 ");
  EXPECT_EQ(said(R"({"x": [640, 212]})", field("x")),
            "line 1: x is an array, expected lengths or tokens, and by its name it may be either: its numbers are "
            "lengths with the "
            "format json, and the tokens of one sequence with the format jsonl");
  EXPECT_EQ(said(R"({"x": [640, 212]})", field("x", lengths_format::json)), "640 212 ");
  EXPECT_EQ(said(R"({"x": [640, 212]})", field("x", lengths_format::jsonl)), "2 ");
  EXPECT_EQ(said("{\n \"length\": 5\n}\n{\n \"length\": 6\n}\n"),
            "line 1: not JSON, or cut short: syntax error at byte 2; of objects over several lines, jq -c . makes one "
            "line each");
  EXPECT_EQ(said("[1, 2]\n[3]\n").substr(0, 38), "line 1 is a JSON document of its own, ");
}

TEST(NumbersThatJsonDoesNotHave, AreNamedWithTheirPlace) {
  const std::string instead = ", a number that JSON does not have; write null there, or leave it out";
  EXPECT_EQ(said("{\"length\": 1}\n{\"length\": 2, \"x\": -Infinity}\n"), "line 2: holds -Infinity" + instead);
  EXPECT_EQ(said("[{\"length\": 1, \"x\": \"NaN\\\"\"},\n {\"x\": [1, 2], \"length\": NaN}]"),
            "element 1 holds NaN" + instead);
  EXPECT_EQ(said("{\"length\": 1, \"x\": \"NaN\"}\n{\"length\": 2, \"x\": 1,}\n"),
            "line 2: not JSON, or cut short: syntax error at byte 22");
}

TEST(EmptySequences, AreLeftOutWithTheirRowsToldOrRefused) {
  const std::string empty = ": the sequence is empty, expected at least 1 token: leave empty sequences out";
  const std::string note = "2 of 5 sequences are empty and left out; the first is ";
  const scratch s;
  const std::map<std::string, std::pair<std::string, std::string>> files{
      {"a.txt", {"5\n\n0\n7\n0\n9\n", ": line 3"}},
      {"a.jsonl",
       {"{\"length\": 5}\n{\"length\": 0}\n{\"length\": 7}\n\n{\"length\": 0}\n{\"length\": 9}\n", ": line 2"}},
      {"b.jsonl",
       {"{\"tokens\": [1,2,3,4,5]}\n{\"tokens\": []}\n{\"tokens\": 7}\n{\"tokens\": [[]]}\n{\"tokens\": 9}\n",
        ": line 2"}},
      {"a.json", {"[5, 0, 7, 0, 9]", ": [1]"}},
      {"a.csv", {"id,length\n\na,5\nb,0\nc,7\nd,0.0\ne,9\n", ":4"}}};
  for (const auto& [name, file] : files) {
    const auto path = s.file(name, file.first);
    const lengths_list read = read_lengths_list(path).value();
    EXPECT_EQ(numbers(read), (values{5, 7, 9})) << name;
    EXPECT_EQ(read.rows, (rows{0, 2, 4})) << name;
    EXPECT_EQ(read.notes, std::vector<std::string>{note + path.string() + file.second});
    EXPECT_EQ(read_lengths_list(path, {.empty = empty_sequences::reject}).error().detail,
              path.string() + file.second + empty);
    EXPECT_EQ(read_lengths(path).error().detail, path.string() + file.second + empty);
  }
  EXPECT_EQ(said("0\n0\n"), "all of its 2 sequences are empty");
}

TEST(EmptySequences, OfAMegatronIndexAreLeftOut) {
  const scratch s;
  std::string index = content_of(data("megatron/tiny.idx"));  // 12 sequences, lengths at 34, byte offsets at 82
  const lengths_list whole = read_lengths_list(data("megatron/tiny.idx")).value();
  EXPECT_EQ(whole.rows.back(), 11u);
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8U | static_cast<unsigned char>(index[at + i]);
    return value;
  };
  const std::uint32_t bytes = number(82 + 8 * 3) - number(82 + 8 * 2);  // of sequence 2, which is emptied
  for (std::size_t i = 0; i < 4; ++i) index[34 + 8 + i] = '\0';
  for (std::size_t i = 3; i < 12; ++i)
    for (std::uint32_t b = 0, value = number(82 + 8 * i) - bytes; b < 4; ++b)
      index[82 + 8 * i + b] = static_cast<char>(value >> 8U * b);
  const lengths_list read = read_lengths_list(s.file("list.idx", index)).value();
  EXPECT_EQ(read.lengths.size(), whole.lengths.size() - 1);
  EXPECT_EQ(read.rows[2], 3u);
  EXPECT_EQ(read.notes.size(), 1u);
}

TEST(EndsOfSequences, AreReadWhereTheUserSaysSo) {
  const lengths_options ends = as(lengths_format::cu_seqlens);
  for (const char* const file :
       {"0\n640\n852\n2263\n", "640\n852\n2263\n", "[0, 640, 852, 2263]", "end\n640\n852\n2263\n",
        "{\"end\": 640}\n{\"end\": 852}\n{\"end\": 2263}\n", "{\"end\": [0, 640, 852, 2263]}"}) {
    const bool is_named = std::string_view(file).find("end") != std::string_view::npos;
    const scratch s;
    const lengths_list read =
        read_lengths_list(s.file("list", file), is_named ? field("end", lengths_format::cu_seqlens) : ends).value();
    EXPECT_EQ(numbers(read), (values{640, 212, 1411})) << file;
    EXPECT_EQ(read.rows, (rows{0, 1, 2})) << file;
  }
  EXPECT_EQ(said("5000000000\n5000000001\n", ends),
            "line 1: the sequence that ends here has 5000000000 tokens, expected at most 2147483647");
  EXPECT_EQ(said("2000000000\n4000000000\n", ends), "2000000000 2000000000 ");
  EXPECT_EQ(said("640\n852\n851\n", ends),
            "line 3: 851 is less than the 852 before it, expected ends of sequences, in order");
  const scratch s;
  const lengths_list gap = read_lengths_list(s.file("list", "0\n5\n5\n9\n"), ends).value();
  EXPECT_EQ(numbers(gap), (values{5, 4}));
  EXPECT_EQ(gap.rows, (rows{0, 2}));
  EXPECT_EQ(
      read_lengths_list(data("megatron/tiny.idx"), ends).error().detail,
      data("megatron/tiny.idx").string() + ": is a Megatron-LM index, which has lengths, expected ends of sequences");
}

TEST(EndsOfSequences, AreNotSeenInNumbersOfOneStep) {
  const scratch s;
  const auto read = [&](std::int64_t first, std::int64_t step) {
    std::string text;
    for (std::int64_t i = 0; i < 40; ++i) text += std::to_string(first + step * i) + "\n";
    return read_lengths_list(s.file("list", text)).value();
  };
  EXPECT_EQ(numbers(read(700, 40)).back(), 700 + 39 * 40);
  EXPECT_TRUE(read(700, 40).notes.empty());
  EXPECT_EQ(numbers(read(100, 100)).back(), 4000);
  EXPECT_EQ(read(100, 100).notes,
            std::vector<std::string>{"its values rise by 100 each and are read as lengths; with the format "
                                     "cu_seqlens they are read as ends of sequences"});
}

TEST(EndsOfSequences, AreRefusedWhereNobodySaysSo) {
  values ends, lengths{640, 212, 1411, 5120, 37, 37, 8111, 2903};
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) ends.push_back(sum += length);
  const auto written = [](const values& all, const std::string& before, const std::string& between,
                          const std::string& after) {
    std::string text;
    for (const std::int64_t one : all) text += (text.empty() ? before : between) + std::to_string(one);
    return text + after;
  };
  const std::string rise =
      "its 8 values rise from each to the next, as ends of sequences do (cu_seqlens): they are read with the format "
      "cu_seqlens as ends, with the format ";
  EXPECT_EQ(said(written(ends, "", "\n", "\n")), rise + "text as lengths");
  EXPECT_EQ(said(written(ends, "[", ",", "]")), rise + "json as lengths");
  EXPECT_EQ(said(written(ends, "x\n", "\n", "\n"), field("x")), rise + "csv as lengths");
  EXPECT_EQ(said(written(ends, "{\"x\":", "}\n{\"x\":", "}\n"), field("x")), rise + "jsonl as lengths");
  EXPECT_EQ(said(written(ends, "", "\n", "\n"), as(lengths_format::text)), joined(ends));
  EXPECT_EQ(said(written(ends, "x\n", "\n", "\n"), field("x", lengths_format::csv)), joined(ends));
  EXPECT_EQ(said("0\n5\n5\n9\n").substr(0, 42), "its 4 values begin with 0 and never fall, ");

  EXPECT_EQ(said("100\n2000\n30000\n"), "100 2000 30000 ");  // someone sorted a few
  values sorted = lengths13;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(said(written(sorted, "", "\n", "\n")), joined(sorted));  // some are alike
  std::string arrays;
  for (int n = 1; n < 12; ++n)
    arrays += written(values(static_cast<std::size_t>(n), 7), "{\"input_ids\": [", ",", "]}\n");
  EXPECT_EQ(said(arrays), "1 2 3 4 5 6 7 8 9 10 11 ");  // counted, so they are lengths
}

TEST(WhatIsWrong, IsQuotedInFewPrintableCharacters) {
  const std::string huge(200000, 'x');
  for (const std::string& file :
       {huge, "9" + huge, std::string(200000, '9'), "{\"length\": \"" + huge + "\"}\n",
        "{\"" + huge + "\": 1, \"k\\u0007\\n" + huge + "\": 1}\n", "{\"length\": 1}\n{\"" + huge + "\": 1}\n",
        "[\"" + huge + "\"]", "{\"tokens\": [\"" + huge + "\"]}\n", "a,length\n1," + huge + "\n",
        "length\n" + huge + "\n"}) {
    const std::string why = said(file);
    EXPECT_LT(why.size(), 330u) << why;
    EXPECT_FALSE(why.empty());
  }
  std::string keys = "{\"key\": 1";
  for (int i = 0; i < 20000; ++i) keys += ", \"key" + std::to_string(i) + "\": 1";
  EXPECT_EQ(said(keys + "}\n"),
            "line 1: lacks the key \"length\", it has key, key0, key1, key2, key3, key4, key5, key6, key7, key8, key9, "
            "key10 and 19989 more" +
                choose);
}

}  // namespace
}  // namespace lengths_doubt_test
