#include <slimpack/io/lengths.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace lengths_test {
namespace {

using slimpack::errc;
using slimpack::tokens;
using slimpack::io::lengths_format;
using slimpack::io::read_lengths;

std::vector<tokens> of(std::initializer_list<std::int64_t> values) {
  std::vector<tokens> lengths;
  for (const std::int64_t v : values) lengths.push_back({v});
  return lengths;
}

std::string refusal(const scratch& s, std::string_view content, lengths_format format = lengths_format::automatic,
                    std::string_view field = {}) {
  const auto file = s.file("list", content);
  return complaint(read_lengths(file, format, field), file, errc::invalid_input);
}

/// Text with the bytes from `at` on replaced.
std::string patched(std::string text, std::size_t at, std::string_view bytes) {
  return text.replace(at, bytes.size(), bytes);
}

std::string tiny() { return content_of(data("megatron/tiny.idx")); }

TEST(TextLengths, AreReadInFileOrder) {
  const scratch s;
  EXPECT_EQ(read_lengths(s.file("list", "7\n300\n1\n")).value(), of({7, 300, 1}));
}

TEST(TextLengths, TolerateBlanksCarriageReturnsByteOrderMarkAndNoLastNewline) {
  const scratch s;
  EXPECT_EQ(read_lengths(s.file("list", "\xef\xbb\xbf\r\n 7\t\r\n\n300  \r\n   \n1")).value(), of({7, 300, 1}));
}

TEST(TextLengths, OfEveryShippedListAddUpToThePublishedTotals) {
  const auto total = [](const char* name) {
    const std::vector<tokens> lengths = read_lengths(data(name)).value();
    return std::accumulate(lengths.begin(), lengths.end(), tokens{}).value;
  };
  EXPECT_EQ(total("lengths/gsm8k_sft.txt"), 1'157'152);
  EXPECT_EQ(total("lengths/azure_chat_2023.txt"), 26'450'535);
  EXPECT_EQ(total("lengths/azure_code_2023.txt"), 18'305'870);
  EXPECT_EQ(total("lengths/mooncake_conversation.txt"), 148'915'871);
  EXPECT_EQ(total("lengths/linux_source.txt"), 305'767'880);
  EXPECT_EQ(total("lengths/narrativeqa_stories.txt"), 129'035'974);
}

TEST(TextLengths, AcceptTheLongestSupportedAndNoLonger) {
  const scratch s;
  EXPECT_EQ(read_lengths(s.file("list", "2147483647\n")).value(), of({2147483647}));
  EXPECT_EQ(refusal(s, "2147483648\n"),
            "line 1: \"2147483648\" is beyond the longest supported length, 2147483647 tokens");
}

TEST(TextLengths, AreRefusedWithTheirLineNumber) {
  const scratch s;
  EXPECT_EQ(refusal(s, "5\n\nabc\n"), "line 3: \"abc\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(refusal(s, "5\n0\n"),
            "line 2: the sequence is empty, expected at least 1 token: leave empty sequences out");
  EXPECT_EQ(refusal(s, "-4\n"), "line 1: \"-4\" is not a length, expected at least 1");
  EXPECT_EQ(refusal(s, "1.5\n"), "line 1: \"1.5\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(refusal(s, "12 13\n"), "line 1: \"12 13\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(refusal(s, "99999999999999999999\n"),
            "line 1: \"99999999999999999999\" is beyond the longest supported length, 2147483647 tokens");
  EXPECT_EQ(refusal(s, "-99999999999999999999\n"),
            "line 1: \"-99999999999999999999\" is not a length, expected at least 1");
}

TEST(TextLengths, OfBinaryDataAreRefusedInPrintableText) {
  const scratch s;
  EXPECT_EQ(refusal(s, std::string(3, '\x01'), lengths_format::text),
            "line 1: \"\\x01\\x01\\x01\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(refusal(s, std::string("7\n\0", 3)),
            "is binary, and of no format that is known here; write its lengths as text, one a line");
}

TEST(TextLengths, OfAnEmptyFileAreRefused) {
  const scratch s;
  EXPECT_EQ(refusal(s, "").substr(0, 16), "holds no lengths");
  EXPECT_EQ(refusal(s, "\n \r\n").substr(0, 16), "holds no lengths");
}

TEST(TextLengths, OfAMissingFileOrAFolderAreUnreadable) {
  const scratch s;
  const auto missing = s.folder() / "missing.txt";
  EXPECT_EQ(complaint(read_lengths(missing), missing, errc::unreadable), "cannot be opened: No such file or directory");
  EXPECT_EQ(complaint(read_lengths(s.folder()), s.folder(), errc::unreadable), "is a folder, expected a file");
}

TEST(JsonLengths, AreNumbersOrCountedTokens) {
  const scratch s;
  const auto file = s.file("list", "{\"n\": 12}\r\n\n{\"n\": [5, 6, 7], \"other\": null}\n");
  EXPECT_EQ(read_lengths(file, lengths_format::jsonl, "n").value(), of({12, 3}));
}

TEST(JsonLengths, WithoutAFieldPreferLengthThenTokensThenInputIds) {
  const scratch s;
  EXPECT_EQ(read_lengths(s.file("a", "{\"input_ids\": [1, 2], \"tokens\": [1, 2], \"length\": 2}\n{\"length\": 5}\n"))
                .value(),
            of({2, 5}));
  EXPECT_EQ(read_lengths(s.file("b", "{\"input_ids\": [1, 2], \"tokens\": [1, 2]}\n{\"tokens\": [1]}\n")).value(),
            of({2, 1}));
  EXPECT_EQ(read_lengths(s.file("c", "{\"input_ids\": [1]}\n{\"input_ids\": [1, 2]}\n")).value(), of({1, 2}));
}

TEST(JsonLengths, AreRecognisedByTheirFirstCharacterThatIsNoBlank) {
  const scratch s;
  EXPECT_EQ(read_lengths(s.file("list", "\n\n  {\"length\": 9}\n")).value(), of({9}));
}

TEST(JsonLengths, AreRefusedWithTheirLineNumber) {
  const scratch s;
  EXPECT_EQ(refusal(s, "{\"length\": 1}\n{\"len\": 1}\n"),
            "line 2: lacks the key \"length\", which the samples before it have, it has len; name the field that holds "
            "the length or the tokens");
  EXPECT_EQ(refusal(s, "{\"length\": 1}\n", lengths_format::jsonl, "n"),
            "line 1: lacks the key \"n\", it has length; name the field that holds the length or the tokens");
  EXPECT_EQ(refusal(s, "{\"length\": 0}\n"),
            "line 1: the sequence is empty, expected at least 1 token: leave empty sequences out");
  EXPECT_EQ(refusal(s, "{\"length\": -2}\n"), "line 1: length is -2, expected a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal(s, "{\"length\": \"7\"}\n"),
            "line 1: length is \"7\", expected a length, a whole number, or an array of token ids");
  EXPECT_EQ(refusal(s, "{\"length\": 2.5}\n"),
            "line 1: length is 2.5, expected a length, a whole number, or an array of token ids");
  EXPECT_EQ(refusal(s, "{\"length\": 18446744073709551615}\n"),
            "line 1: length is 18446744073709551615, expected a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal(s, "{\"tokens\": []}\n"),
            "line 1: the sequence is empty, expected at least 1 token: leave empty sequences out");
  EXPECT_EQ(refusal(s, "{\"length\": 1}\n{\"length\": \n"), "line 2: not JSON, or cut short: syntax error at byte 11");
  EXPECT_EQ(refusal(s, "[1, 2]\n", lengths_format::jsonl), "line 1: the document is an array, expected an object");
}

TEST(IndexLengths, AreThoseThatMegatronWrote) {
  for (const std::string name : {"megatron/tiny", "megatron/tiny_multimodal"})
    EXPECT_EQ(read_lengths(data(name + ".idx")).value(), read_lengths(data(name + ".lengths.txt")).value()) << name;
}

TEST(IndexLengths, OfARealDatasetEqualItsTextList) {
  EXPECT_EQ(read_lengths(data("megatron/mooncake_conversation.idx"), lengths_format::idx).value(),
            read_lengths(data("lengths/mooncake_conversation.txt"), lengths_format::text).value());
}

TEST(IndexLengths, OfAFileCutShortAnywhereAreRefused) {
  const scratch s;
  const std::string whole = tiny();
  ASSERT_EQ(whole.size(), 226u);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_lengths(s.file("list", whole.substr(0, size)), lengths_format::idx)) << size;
}

TEST(IndexLengths, AreRefusedWithTheByteOffset) {
  const scratch s;
  const std::string good = tiny();  // 12 sequences, lengths at 34, byte offsets at 82, 6 document entries at 178
  const auto refused = [&](std::size_t at, std::string_view bytes) {
    return refusal(s, patched(good, at, bytes), lengths_format::idx);
  };
  EXPECT_EQ(refused(0, "X"), "offset 0: does not begin with MMIDIDX: not a Megatron-LM index");
  EXPECT_EQ(refused(9, "\x02"), "offset 9: version 2, expected 1");
  EXPECT_EQ(refused(17, "\x09"), "offset 17: token type 9, expected 1 to 8");
  EXPECT_EQ(refused(18, "\x0d"),
            "offset 18: 13 sequences and 6 document entries do not make a file of 226 bytes: "
            "truncated or corrupt");
  EXPECT_EQ(refused(34, "\xff\xff\xff\xff"), "offset 34: sequence 0 has length -1, expected at least 0");
  EXPECT_EQ(refused(82, "\x04"),
            "offset 82: sequence 0 lies at byte 4 of the token file, the lengths before it say 0: "
            "corrupt");
  EXPECT_EQ(refused(17, "\x04").substr(0, 29), "offset 90: sequence 1 lies at");  // int32 tokens, offsets of uint16
  EXPECT_EQ(refused(178, "\x01"), "offset 178: document entry 0 is 1, expected 0: corrupt");
  EXPECT_EQ(refused(194, "\x01"), "offset 194: document entry 2 is 1, less than the one before it: corrupt");
  EXPECT_EQ(refused(218, "\x0b"),
            "offset 218: document entry 5 is 11, expected the number of sequences, 12: the dataset "
            "was not finished, end its last document and write it again");
}

TEST(IndexLengths, OfCountsThatOverflowAreRefusedBeforeAllocating) {
  const scratch s;
  // 12 S + 8 D of these counts is the real size again modulo 2^64.
  const std::string counts{"\x0c\0\0\0\0\0\0\x40\x06\0\0\0\0\0\0\xa0", 16};
  EXPECT_EQ(refusal(s, patched(tiny(), 18, counts), lengths_format::idx).substr(0, 10), "offset 18:");
  const std::string huge(8, '\xff');
  EXPECT_EQ(refusal(s, patched(tiny(), 18, huge), lengths_format::idx).substr(0, 10), "offset 18:");
  EXPECT_EQ(refusal(s, patched(tiny(), 26, huge), lengths_format::idx).substr(0, 10), "offset 18:");
}

TEST(IndexLengths, OfADatasetWithoutSequencesAreRefused) {
  const scratch s;
  const std::string none = patched(tiny().substr(0, 34), 18, std::string("\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(refusal(s, none + std::string(8, '\0'), lengths_format::idx), "offset 18: holds no sequences");
}

TEST(IndexLengths, AreRecognisedByTheirMagicBytesOnly) {
  const scratch s;
  EXPECT_EQ(refusal(s, "MMAP of lengths\n").substr(0, 25), "line 1: \"MMAP of lengths\"");
}

}  // namespace
}  // namespace lengths_test
