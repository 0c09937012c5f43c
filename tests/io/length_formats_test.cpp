#include <slimpack/io/lengths.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
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

std::vector<tokens> read(std::string_view content, std::string_view field = {},
                         lengths_format format = lengths_format::automatic) {
  const scratch s;
  return read_lengths(s.file("list", content), format, field).value();
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
  EXPECT_EQ(read("\xef\xbb\xbf\n [[1, 2, 3], [4]]", {}, lengths_format::json), of({3, 1}));
  EXPECT_EQ(read("[{\"length\": 7}, {\"length\": 2}]"), of({7, 2}));
  EXPECT_EQ(read("[{\"n\": 7, \"length\": 1}]", "n"), of({7}));
}

TEST(JsonArrayLengths, AreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal("[]").substr(0, 16), "holds no lengths");
  EXPECT_EQ(refusal("[1, 0]"), "[1]: the sequence is empty, expected at least 1 token: leave empty sequences out");
  EXPECT_EQ(refusal("[1, 2"), "not JSON, or cut short: syntax error at byte 6");
  EXPECT_EQ(refusal("[\"a\"]"), "[0] is \"a\", expected a length, a whole number, or an array of token ids");
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
            file.string() + ":2: the sequence is empty, expected at least 1 token: leave empty sequences out");
  EXPECT_EQ(read_lengths(file).error().detail, file.string() + ":1: lacks the column length, it has id, n" + choose);
  const auto cell = [&](const std::string& text) {
    return read_lengths(s.file("list", "id;n\na;" + text + "\n"), lengths_format::csv, "n")
        .error()
        .detail.substr(file.string().size());
  };
  const std::string expected = ", expected a whole number from 1 to 2147483647";
  EXPECT_EQ(cell("1.5"), ":2: column n: \"1.5\" is no length" + expected);
  EXPECT_EQ(cell("12.000"), ":2: column n: \"12.000\" is no length" + expected);  // twelve thousand, in some countries
  EXPECT_EQ(cell("-3"), ":2: column n: \"-3\" is no length" + expected);
  EXPECT_EQ(cell("nan"), ":2: column n: \"nan\" is no length" + expected);
  EXPECT_EQ(cell("\"[1, 2]\""), ":2: column n: \"[1, 2]\" is no length" + expected);
  EXPECT_EQ(cell("2147483648"), ":2: column n: \"2147483648\" is no length" + expected);
  EXPECT_EQ(cell(""), ":2: column n: is empty" + expected);
}

TEST(CsvLengths, OfWholeNumbersThatPandasWroteWithAFractionAreRead) {
  EXPECT_EQ(read("id,n\na,100.0\nb,2000.0\n", "n"), of({100, 2000}));
}

TEST(CsvLengths, AreSeparatedByCommasSemicolonsOrTabs) {
  for (const char separator : {',', ';', '\t'}) {
    std::string table = "id|text|length\n1|\"a,;\tb\"|100\n2||2000\n";
    std::replace(table.begin(), table.end(), '|', separator);
    EXPECT_EQ(read(table), of({100, 2000})) << table;
  }
}

TEST(CsvLengths, HaveLineEndsInQuotesAndAnIndexWithoutName) {
  EXPECT_EQ(read(",text,length\n0,\"two\nlines, and a \"\"word\"\"\",100\n1,one,2000\n"), of({100, 2000}));
  EXPECT_EQ(read(",n\n0,100\n1,2000\n"), of({100, 2000}));
}

TEST(CsvLengths, WithoutALineOfNamesAreRefused) {
  const scratch s;
  const auto file = s.file("list", "100\n2000\n");
  EXPECT_EQ(read_lengths(file, lengths_format::csv).error().detail,
            file.string() + ":1: has numbers, 100, expected a line of column names" + choose);
}

TEST(CsvLengths, AreNotSeenInNumbersOrBinaryData) {
  EXPECT_EQ(refusal("12,13\n"), "line 1: \"12,13\" is not a whole number, expected one decimal length a line");
  EXPECT_EQ(refusal("\x01,a\n").substr(0, 9), "is binary");
}

TEST(CsvLengths, MayHaveNamesOfDigitsWhereOneIsAskedFor) { EXPECT_EQ(read("0,1\n5,6\n", "1"), of({6})); }

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
  EXPECT_EQ(read(npy("<u2", "(2,)", {"\x64\0\xd0\x07", 4}), {}, lengths_format::npy), of({100, 2000}));
  EXPECT_EQ(read(npy("|u1", "(1,)", "\xff"), {}, lengths_format::npy), of({255}));
}

TEST(NumpyLengths, AreWholeFloats) {
  EXPECT_EQ(read(npy("<f4", "(2,)", {"\0\0\xc8\x42\0\0\x48\x43", 8})), of({100, 200}));
  EXPECT_EQ(read(npy(">f4", "(1,)", {"\x42\xc8\0\0", 4})), of({100}));
  EXPECT_EQ(read(npy("<f8", "(1,)", {"\0\0\0\0\0\0\x59\x40", 8})), of({100}));
  const std::string none = "element 0 is no whole number, expected a length from 1 to 2147483647";
  EXPECT_EQ(refusal(npy("<f4", "(1,)", {"\0\0\xc0\x3f", 4})), none);  // 1.5
  EXPECT_EQ(refusal(npy("<f4", "(1,)", {"\0\0\xc0\x7f", 4})), none);  // NaN
  EXPECT_EQ(refusal(npy("<f4", "(1,)", {"\0\0\x80\xbf", 4})), none);  // -1
}

TEST(NumpyLengths, MayBeARowOrAColumn) {
  const std::string_view elements("\x64\0\0\0\xd0\x07\0\0", 8);
  EXPECT_EQ(read(npy("<i4", "(2, 1)", elements)), of({100, 2000}));
  EXPECT_EQ(read(npy("<i4", "(1, 2)", elements)), of({100, 2000}));
  EXPECT_EQ(read(npy("<i4", "(1, 1)", elements.substr(0, 4))), of({100}));
  for (const char* const shape : {"(2, 2)", "(2, 1, 1)", "(1, x)", "(1, 2"})
    EXPECT_NE(refusal(npy("<i4", shape, elements)).find("not one dimension"), std::string::npos) << shape;
}

TEST(NumpyLengths, AreRefused) {
  const std::string save = "; save lengths with numpy.save, one dimension of integers";
  const std::string good = npy("<u2", "(2,)", {"\x64\0\xd0\x07", 4});
  EXPECT_EQ(refusal(npy("<f2", "(1,)", "ab")), "its elements are of the type <f2, not integers" + save);
  EXPECT_EQ(refusal(npy("|O", "(1,)", "abcd")), "its elements are of the type |O, not integers" + save);
  EXPECT_EQ(refusal(npy("|u1", "(2, 2)", "abcd")), "its shape is (2, 2), not one dimension" + save);
  EXPECT_EQ(refusal(npy("|u1", "()", "a")), "its shape is (), not one dimension" + save);
  EXPECT_EQ(refusal(npy("|u1", "(0,)", "")).substr(0, 16), "holds no lengths");
  EXPECT_EQ(refusal(npy("|i1", "(2,)", "\x05\xff"), lengths_format::npy),
            "element 1 is negative, expected a length from 1 to 2147483647");
  EXPECT_EQ(refusal(npy("|u1", "(1,)", {"\0", 1}), lengths_format::npy),
            "element 0: the sequence is empty, expected at least 1 token: leave empty sequences out");
  EXPECT_EQ(refusal(npy("<u4", "(1,)", "\xff\xff\xff\xff")),
            "element 0 is 4294967295, expected a length from 1 to 2147483647");
  EXPECT_EQ(refusal(good + "x", lengths_format::npy), "goes on behind its elements: corrupt" + save);
  EXPECT_EQ(refusal(npy("|u1", "(99999999999999999999,)", "a")),
            "its shape is (99999999999999999999,), not one dimension" + save);
  for (std::size_t size = 8; size < good.size(); ++size)
    EXPECT_EQ(refusal(good.substr(0, size), lengths_format::npy), "ends before its elements do: truncated" + save)
        << size;
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x04\x00", 8)), "version 4 of .npy is not known" + save);
  EXPECT_EQ(refusal("7\n", lengths_format::npy), "does not begin as a NumPy array does" + save);
}

/// What a message says behind the name of the format that is not read.
std::string by_pandas(const std::string& module, const std::string& table) {
  return ", which is not read here; write its lengths as text: python3 -c \"import " + module +
         "; n = lambda v: v.size if getattr(v, 'ndim', 0) == 1 and v.dtype.kind in 'iu' else v; print(*[sum(map(n, r)) "
         "for r in " +
         table + ".itertuples(index=False)], sep='\\n')\" > lengths.txt";
}

// The first bytes of what apache-arrow 21.2.0 and hyparquet-writer 0.17.0 wrote of a column of three lengths.
TEST(LengthsInOtherFormats, AreNamedWithWhatToDo) {
  const std::string parquet("PAR1\x15\x06\x15\x1c\x15\x20\x5c\x15\x06\x15\0\x15", 16);
  EXPECT_EQ(refusal(parquet),
            "is a Parquet file" + by_pandas("pandas", "pandas.read_parquet('FILE', columns=['length'])"));
  EXPECT_EQ(refusal(parquet, lengths_format::automatic, "prompt+response"),
            "is a Parquet file" + by_pandas("pandas", "pandas.read_parquet('FILE', columns=['prompt', 'response'])"));
  EXPECT_EQ(refusal(std::string("ARROW1\0\0\xff\xff\xff\xff\x88\0\0\0", 16), lengths_format::automatic, "n"),
            "is an Arrow file" + by_pandas("pyarrow", "pyarrow.ipc.open_file('FILE').read_pandas()[['n']]"));
  EXPECT_NE(refusal(std::string("\xff\xff\xff\xff\x80\0\0\0\x10\0\0\0\0\0\x0a\0", 16)).find("is an Arrow stream"),
            std::string::npos);
}

/// Of a file that begins so: what the message says it is.
std::string kind(std::string_view content) {
  const std::string said = refusal(content);
  return said.substr(0, said.find(", which is not read here; "));
}

TEST(LengthsInOtherFormats, AreKnownByTheirFirstBytes) {
  EXPECT_EQ(kind("FEA1"), "is a Feather file");
  EXPECT_EQ(kind("ORC\x08"), "is an ORC file");
  EXPECT_EQ(kind("Obj\x01"), "is an Avro file");
  EXPECT_EQ(kind("\x89HDF\r\n\x1a\n"), "is an HDF5 file");
  EXPECT_EQ(kind("SQLite format 3"), "is a data base of SQLite");
  EXPECT_EQ(kind("\x80\x04\x95"), "is a pickle of Python");
  EXPECT_EQ(kind("\xff\xfe"
                 "7\x00"),
            "is a text in UTF-16");
  EXPECT_EQ(kind("\x88\xd8\x34\x01"), "is a shard of token ids, as llm.c reads them");
  EXPECT_EQ(kind(std::string(257, 'a') + "ustar"), "is a tar archive, as the shards of WebDataset are");
  EXPECT_EQ(kind(std::string("\x14\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"I64\"}", 27)), "is a file of safetensors");
}

// What MosaicML streaming 0.13 writes: 3 samples, where they lie, the description of their columns.
TEST(LengthsInOtherFormats, AreKnownByHowTheirOffsetsGo) {
  const std::string columns = R"({"column_names": ["tokens"], "format": "mds"})";
  const auto shard = [&](unsigned first, unsigned second) {
    std::string bytes("\x03\0\0\0", 4);
    for (const unsigned offset : {first, second, 20U + 45 + 9, 20U + 45 + 12})
      for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(offset >> shift & 255U);
    return bytes + columns + std::string(12, 'x');
  };
  ASSERT_EQ(columns.size(), 45u);
  EXPECT_EQ(kind(shard(65, 70)), "is a shard of MosaicML's streaming (MDS)");
  EXPECT_EQ(kind(shard(10, 70)).substr(0, 9), "is binary");  // the first sample would lie in the offsets
  EXPECT_EQ(kind(shard(70, 65)).substr(0, 9), "is binary");
  EXPECT_EQ(kind(content_of(data("../../tests/io/lists/shard.00000.mds"))), "is a shard of MosaicML's streaming (MDS)");
}

// The header of a record of 5 bytes, as TensorFlow 2 writes it.
TEST(LengthsInOtherFormats, AreKnownByTheChecksumOfARecord) {
  EXPECT_EQ(kind(std::string("\005\0\0\0\0\0\0\0\352\262\004\076", 12) + "hello"), "is a file of TFRecords");
  EXPECT_EQ(kind(std::string("\x05\0\0\0\0\0\0\0\0\0\0\0", 12) + "hello").substr(0, 9), "is binary");
}

TEST(LengthsInOtherFormats, AreFoldersAndWhatEndsSo) {
  const scratch s;
  const auto is = [&](const char* file) {
    std::ofstream(s.folder() / file) << "{}";
    std::string said = read_lengths(s.folder()).error().detail;
    std::filesystem::remove(s.folder() / file);
    return said.substr(s.folder().string().size() + 2);
  };
  EXPECT_EQ(is("dataset_info.json").substr(0, 38), "is a data set that Hugging Face saved,");
  EXPECT_EQ(is("index.json").substr(0, 40), "is a shard of MosaicML's streaming (MDS)");
  EXPECT_EQ(is("other.json"), "is a folder, expected a file");
  std::filesystem::create_directory(s.folder() / "_versions");
  EXPECT_EQ(is("other.json").substr(0, 12), "is of Lance,");
  EXPECT_EQ(refusal("rows LANC").substr(0, 12), "is of Lance,");
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
