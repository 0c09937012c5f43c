#include <slimpack/io/lengths.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace length_formats_test {
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

std::vector<tokens> read(std::string_view content, std::string_view field = {}) {
  const scratch s;
  return read_lengths(s.file("list", content), lengths_format::automatic, field).value();
}

std::string refusal(std::string_view content, lengths_format format = lengths_format::automatic,
                    std::string_view field = {}) {
  const scratch s;
  const auto file = s.file("list", content);
  std::string said = complaint(read_lengths(file, format, field), file, errc::invalid_input);
  for (std::size_t at; (at = said.find(file.string())) != std::string::npos;)
    said.replace(at, file.string().size(), "FILE");
  return said;
}

const std::string choose = "; name the field that holds the length or the tokens";

TEST(JsonArrayLengths, AreNumbersCountedTokensOrMembers) {
  EXPECT_EQ(read("[100, 2000,\n 300]"), of({100, 2000, 300}));
  EXPECT_EQ(read("\xef\xbb\xbf\n [[1, 2, 3], [4]]"), of({3, 1}));
  EXPECT_EQ(read("[{\"length\": 7}, {\"tokens\": [1, 2]}]"), of({7, 2}));
  EXPECT_EQ(read("[{\"n\": 7, \"length\": 1}]", "n"), of({7}));
}

TEST(JsonArrayLengths, AreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal("[]").substr(0, 16), "holds no lengths");
  EXPECT_EQ(refusal("[1, 0]"), "[1] is 0, expected a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal("[1, 2"), "not JSON, or cut short: syntax error at byte 6");
  EXPECT_EQ(refusal("[\"a\"]"), "[0] is \"a\", expected a whole number from 1 to 2147483647");
  EXPECT_EQ(refusal("7", lengths_format::json),
            "the document is 7, expected an array of lengths, of arrays of tokens, or of objects");
}

TEST(JsonLengths, WithoutTheFieldListThoseThatThereAre) {
  EXPECT_EQ(refusal("{\"id\": 1, \"n\": 5}\n"), "line 1: lacks the key \"length\", it has id, n" + choose);
  EXPECT_EQ(refusal("{\"id\": 1}\n", lengths_format::automatic, "n"),
            "line 1: lacks the key \"n\", it has id" + choose);
  EXPECT_EQ(refusal("{}\n"), "line 1: lacks the key \"length\", it has none" + choose);
}

TEST(CsvLengths, AreAColumn) {
  EXPECT_EQ(read("id,n\na,100\n\"b,c\", 2000\r\n", "n"), of({100, 2000}));
  EXPECT_EQ(read("id,length\na,5\n"), of({5}));
  EXPECT_EQ(read("length\n5\n6\n"), of({5, 6}));
  EXPECT_EQ(read("n\n5\n6\n", "n"), of({5, 6}));
  const scratch s;
  EXPECT_EQ(read_lengths(s.file("list", "words\n5\n"), lengths_format::csv).value(), of({5}));
}

TEST(CsvLengths, AreRefusedWithTheirLine) {
  const scratch s;
  const auto file = s.file("list", "id,n\na,0\n");
  EXPECT_EQ(read_lengths(file, lengths_format::csv, "n").error().detail,
            file.string() + ":2: column n: 0 is not a whole number from 1 to 2147483647");
  EXPECT_EQ(read_lengths(file).error().detail, file.string() + ":1: lacks the column length, it has id, n" + choose);
  EXPECT_EQ(read_lengths(s.file("list", "id,n\na,1.5\n"), lengths_format::csv, "n").error().detail,
            file.string() + ":2: column n: 1.5 is not a whole number from 1 to 2147483647");
}

TEST(CsvLengths, AreNotSeenInNumbersOrBinaryData) {
  EXPECT_EQ(refusal("12,13\n"), "line 1: \"12,13\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(refusal("\x01,a\n"), "line 1: \"\\x01,a\" is not a whole number, expected one decimal length a line");
}

TEST(CsvLengths, MayHaveNamesOfDigitsWhereOneIsAskedFor) {
  EXPECT_EQ(read("0,1\n5,6\n", "1"), of({6}));
}

TEST(LengthsWithoutFields, AreRefusedWhereOneIsAskedFor) {
  EXPECT_EQ(refusal("7\n", lengths_format::automatic, "n"),
            "is one length a line, which has no field n; leave the field out");
  EXPECT_EQ(refusal(content_of(data("megatron/tiny.idx")), lengths_format::automatic, "n"),
            "is a Megatron-LM index, which has no field n; leave the field out");
  EXPECT_EQ(refusal("\x93NUMPY", lengths_format::automatic, "n"),
            "is a NumPy array, which has no field n; leave the field out");
}

/// What numpy.save wrote: version 1, its header padded to 128 bytes.
std::string npy(const std::string& descr, const std::string& shape, std::string_view elements) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00v\x00", 10) + header + "\n" + std::string(elements);
}

TEST(NumpyLengths, AreIntegersOfAnyWidthAndOrder) {
  EXPECT_EQ(read(npy("<i8", "(2,)", {"\x64\0\0\0\0\0\0\0\xd0\x07\0\0\0\0\0\0", 16})), of({100, 2000}));
  EXPECT_EQ(read(npy(">i4", "(2,)", {"\0\0\0\x64\0\0\x07\xd0", 8})), of({100, 2000}));
  EXPECT_EQ(read(npy("<u2", "(2,)", {"\x64\0\xd0\x07", 4})), of({100, 2000}));
  EXPECT_EQ(read(npy("|u1", "(1,)", "\xff")), of({255}));
}

TEST(NumpyLengths, AreRefused) {
  const std::string save = "; save lengths with numpy.save, one dimension of integers";
  const std::string good = npy("<u2", "(2,)", {"\x64\0\xd0\x07", 4});
  EXPECT_EQ(refusal(npy("<f4", "(1,)", "abcd")), "its elements are of the type <f4, not integers" + save);
  EXPECT_EQ(refusal(npy("|O", "(1,)", "abcd")), "its elements are of the type |O, not integers" + save);
  EXPECT_EQ(refusal(npy("|u1", "(1, 1)", "a")), "its shape is (1, 1), not one dimension" + save);
  EXPECT_EQ(refusal(npy("|u1", "()", "a")), "its shape is (), not one dimension" + save);
  EXPECT_EQ(refusal(npy("|u1", "(0,)", "")).substr(0, 16), "holds no lengths");
  EXPECT_EQ(refusal(npy("|i1", "(2,)", "\x05\xff")), "element 1 is negative, expected a length from 1 to 2147483647");
  EXPECT_EQ(refusal(npy("|u1", "(1,)", {"\0", 1})), "element 0 is 0, expected a length from 1 to 2147483647");
  EXPECT_EQ(refusal(npy("<u4", "(1,)", "\xff\xff\xff\xff")),
            "element 0 is 4294967295, expected a length from 1 to 2147483647");
  EXPECT_EQ(refusal(good + "x"), "goes on behind its elements: corrupt" + save);
  EXPECT_EQ(refusal(npy("|u1", "(99999999999999999999,)", "a")),
            "its shape is (99999999999999999999,), not one dimension" + save);
  for (std::size_t size = 8; size < good.size(); ++size)
    EXPECT_EQ(refusal(good.substr(0, size)), "ends before its elements do: truncated" + save) << size;
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x04\x00", 8)), "version 4 of .npy is not known" + save);
  EXPECT_EQ(refusal("7\n", lengths_format::npy), "does not begin as a NumPy array does" + save);
}

// The first bytes of what apache-arrow 21.2.0 and hyparquet-writer 0.17.0 wrote of a column of three lengths.
TEST(LengthsInOtherFormats, AreNamedWithWhatToDo) {
  EXPECT_EQ(refusal(std::string("PAR1\x15\x06\x15\x1c\x15\x20\x5c\x15\x06\x15\0\x15", 16)),
            "is a Parquet file, which is not read here; write its column as text: python3 -c \"import pandas; "
            "pandas.read_parquet('FILE')['length'].to_csv('lengths.txt', index=False, header=False)\"");
  EXPECT_EQ(refusal(std::string("ARROW1\0\0\xff\xff\xff\xff\x88\0\0\0", 16), lengths_format::automatic, "n"),
            "is an Arrow file, which is not read here; write its column as text: python3 -c \"import pyarrow; "
            "pyarrow.ipc.open_file('FILE').read_pandas()['n'].to_csv('lengths.txt', index=False, header=False)\"");
  EXPECT_NE(refusal(std::string("\xff\xff\xff\xff\x80\0\0\0\x10\0\0\0\0\0\x0a\0", 16)).find("is an Arrow stream"),
            std::string::npos);
}

TEST(LengthsInOtherFormats, AreNamedWhenCompressed) {
  const auto is = [](const char* by, const char* command) {
    return std::string("is compressed with ") + by + ", which is not read here; decompress it first: " + command +
           " 'FILE'";
  };
  EXPECT_EQ(refusal("\x1f\x8b\x08"), is("gzip", "gzip -dk"));
  EXPECT_EQ(refusal("\x28\xb5\x2f\xfd\x04"), is("zstd", "zstd -d"));
  EXPECT_EQ(refusal(std::string("\xfd\x37zXZ\0\0\x04", 8)), is("xz", "xz -dk"));
  EXPECT_EQ(refusal("BZh91AY&SY"), is("bzip2", "bzip2 -dk"));
  EXPECT_EQ(refusal("PK\x03\x04\x14").substr(0, 16), "is a zip archive");
}

TEST(LengthsInAStream, AreReadUnderTheNameOfTheirFile) {
  std::istringstream in("5\nx\n");
  EXPECT_EQ(read_lengths(in, "a.txt.gz").error().detail,
            "a.txt.gz: line 2: \"x\" is not a whole number, expected one decimal length a line");
  std::istringstream index(content_of(data("megatron/tiny.idx")));
  EXPECT_EQ(read_lengths(index, "a.idx.gz").error().detail,
            "a.idx.gz: is a Megatron-LM index, which is read from an uncompressed file only");
}

TEST(LengthsInAStream, ThatFailsAreUnreadable) {
  struct failing : std::streambuf {
    int_type underflow() override { throw std::ios_base::failure("no"); }
  } broken;
  for (const lengths_format format :
       {lengths_format::text, lengths_format::json, lengths_format::csv, lengths_format::npy}) {
    std::istream in(&broken);
    const auto lengths = read_lengths(in, "a", format);
    EXPECT_EQ(lengths.error().code, errc::unreadable);
    EXPECT_EQ(lengths.error().detail, "a: could not be read to its end");
  }
}

}  // namespace
}  // namespace length_formats_test
