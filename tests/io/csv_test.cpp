#include <slimpack/io/csv.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace csv_test {
namespace {

using slimpack::errc;
using slimpack::io::csv_table;

csv_table table(const scratch& s, std::string_view content) {
  return csv_table::read(s.file("t.csv", content)).value();
}

/// What is said of a file behind its name: "LINE: ..." or " ...".
std::string refusal(const scratch& s, std::string_view content) {
  const auto file = s.file("t.csv", content);
  const auto read = csv_table::read(file);
  if (read) return "no error";
  EXPECT_EQ(read.error().code, errc::invalid_input);
  EXPECT_EQ(read.error().detail.find(file.string() + ":"), 0u) << read.error().detail;
  return read.error().detail.substr(file.string().size() + 1);
}

template <class Result>
std::string complaint_of(const csv_table& t, const Result& r) {
  if (r.has_value()) return "no error";
  EXPECT_EQ(r.error().detail.find(t.file() + ":"), 0u) << r.error().detail;
  return r.error().detail.substr(t.file().size() + 1);
}

TEST(CsvTable, GivesCellsByRowAndColumnName) {
  const scratch s;
  const csv_table t = table(s, "gpu,m,ms\nH100,128,0.5\nA100,256,1.25e-1\n");
  EXPECT_EQ(t.rows(), 2u);
  EXPECT_EQ(t.columns(), (std::vector<std::string>{"gpu", "m", "ms"}));
  EXPECT_EQ(t.text(1, "gpu").value(), "A100");
  EXPECT_EQ(t.number(0, "m").value(), 128);
  EXPECT_EQ(t.number(1, "ms").value(), 0.125);
}

TEST(CsvTable, ToleratesByteOrderMarkCarriageReturnsBlanksAndBlankLines) {
  const scratch s;
  const csv_table t = table(s, "\xef\xbb\xbf\r\n gpu , ms\t\r\n\r\n H100 ,\t2 \r\n   \nA100,3");
  EXPECT_EQ(t.rows(), 2u);
  EXPECT_EQ(t.text(0, "gpu").value(), "H100");
  EXPECT_EQ(t.number(1, "ms").value(), 3);
}

TEST(CsvTable, CountsTheLinesThatItSkips) {
  const scratch s;
  const csv_table t = table(s, "\n\na\n\n1\n\n2\n");
  EXPECT_EQ(t.where(), t.file() + ":3");
  EXPECT_EQ(t.where(0), t.file() + ":5");
  EXPECT_EQ(t.where(1), t.file() + ":7");
}

TEST(CsvTable, KeepsCommasAndBackslashesOfQuotedCells) {
  const scratch s;
  const csv_table t = table(s, "kernel,ms\n\"flash, \\n varlen\",1\n");
  EXPECT_EQ(t.text(0, "kernel").value(), "flash, \\n varlen");
  EXPECT_EQ(t.number(0, "ms").value(), 1);
}

TEST(CsvTable, TellsEmptyCellsFromNumbers) {
  const scratch s;
  const csv_table t = table(s, "a,b,c\n,\"\",3\n");
  EXPECT_TRUE(t.empty(0, "a"));
  EXPECT_TRUE(t.empty(0, "b"));
  EXPECT_FALSE(t.empty(0, "c"));
  EXPECT_TRUE(t.empty(0, "no such column"));
  EXPECT_EQ(t.text(0, "a").value(), "");
  EXPECT_EQ(complaint_of(t, t.number(0, "a")), "2: column a: is empty, expected a decimal number without a unit");
}

TEST(CsvTable, TakesNoCellForANumberThatIsNoneAsAWhole) {
  const scratch s;
  for (const char* cell : {"3.2ms", "1 2", "x", "0x10", "1e999", "nan", "inf", "--1", "1_000", "+1"}) {
    const csv_table t = table(s, std::string("m,ms\n1,2\n7,") + cell + "\n");
    EXPECT_EQ(complaint_of(t, t.number(1, "ms")),
              "3: column ms: \"" + std::string(cell) + "\" is not a number, expected a decimal number without a unit");
  }
}

TEST(CsvTable, NamesTheColumnsThereAreWhenOneIsMissing) {
  const scratch s;
  const csv_table t = table(s, "\ngpu,ms\nH100,1\n");
  EXPECT_EQ(complaint_of(t, t.text(0, "kernel")), "2: lacks the column kernel, it has gpu, ms");
  EXPECT_EQ(complaint_of(t, t.number(0, "m")), "2: lacks the column m, it has gpu, ms");
  EXPECT_TRUE(t.has("gpu"));
  EXPECT_FALSE(t.has("GPU"));
}

TEST(CsvTable, RefusesRowsOfAnotherNumberOfCells) {
  const scratch s;
  EXPECT_EQ(refusal(s, "a,b\n1,2\n1,2,3\n"), "3: has 3 cells, expected 2 as line 1 has columns");
  EXPECT_EQ(refusal(s, "\na,b\n1\n"), "3: has 1 cells, expected 2 as line 2 has columns");
}

TEST(CsvTable, RefusesColumnsWithoutNameOrNamedTwice) {
  const scratch s;
  EXPECT_EQ(refusal(s, "a,,c\n"), "1: a column has no name, expected a line of column names");
  EXPECT_EQ(refusal(s, ",,c\n"), "1: a column has no name, expected a line of column names");
  EXPECT_EQ(refusal(s, "a,b,,\n"), "1: a column has no name, expected a line of column names");
  EXPECT_EQ(refusal(s, "a,b,\n1,2,3\n"), "2: has 3 cells, expected 2 as line 1 has columns");
  EXPECT_EQ(refusal(s, "\"\"\n1\n"), "1: a column has no name, expected a line of column names");
  EXPECT_EQ(refusal(s, "a,b,a\n"), "1: has two columns a");
}

TEST(CsvTable, MayHaveASeparatorAtTheEndOfLines) {
  const scratch s;
  const csv_table table = csv_table::read(s.file("a.csv", "a,b,\n1,2,\n3,4\n")).value();
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.text(0, "b").value(), "2");
  EXPECT_EQ(table.text(1, "b").value(), "4");
}

TEST(CsvTable, RefusesQuotationMarksThatAreNotClosed) {
  const scratch s;
  EXPECT_EQ(refusal(s, "a,b\n\"x,1\n"), "2: has a quotation mark that is not closed");
  EXPECT_EQ(refusal(s, "a,b\ny,0\n\"x,1\n\n5,6\n"), "3: has a quotation mark that is not closed");
  EXPECT_EQ(refusal(s, "a,b\n\"x\"y,1\n"), "2: a cell goes on behind its closing quotation mark");
}

TEST(CsvTable, TakesLineEndsAndDoubledMarksInQuotes) {
  const scratch s;
  const csv_table t = table(s, "a,b\n\"one\n\ntwo, \"\"three\"\"\" ,1\r\n5\" pipe,2\n6\" pipe,3\n");
  ASSERT_EQ(t.rows(), 3u);
  EXPECT_EQ(t.text(0, "a").value(), "one\n\ntwo, \"three\"");
  EXPECT_EQ(t.text(1, "a").value(), "5\" pipe");
  EXPECT_EQ(t.number(2, "b").value(), 3);
  EXPECT_EQ(t.where(0), t.file() + ":2");
  EXPECT_EQ(t.where(1), t.file() + ":5");
}

TEST(CsvTable, IsSeparatedByWhatItsNamesAre) {
  const scratch s;
  const csv_table semicolons = table(s, "a;b, in words;c\n1,5;x;3\n");
  EXPECT_EQ(semicolons.columns(), (std::vector<std::string>{"a", "b, in words", "c"}));
  EXPECT_EQ(semicolons.text(0, "a").value(), "1,5");
  const csv_table tabs = table(s, "a\tb\tc\n1\t two, words \t\n \n4\t5\t6\n");
  EXPECT_EQ(tabs.rows(), 2u);
  EXPECT_EQ(tabs.text(0, "b").value(), "two, words");
  EXPECT_TRUE(tabs.empty(0, "c"));
  EXPECT_EQ(tabs.number(1, "c").value(), 6);
}

TEST(CsvTable, TakesAnIndexWithoutName) {
  const scratch s;
  const csv_table t = table(s, ",ms\n0,5\n1,6\n");
  EXPECT_EQ(t.columns(), (std::vector<std::string>{"", "ms"}));
  EXPECT_EQ(t.number(1, "ms").value(), 6);
  EXPECT_EQ(complaint_of(t, t.text(0, "gpu")), "1: lacks the column gpu, it has one without a name, ms");
}

TEST(CsvTable, QuotesNoMoreThanTheBeginningOfWhatIsWrong) {
  const scratch s;
  const std::string huge(200000, 'x');
  const auto is_short = [](const std::string& said) {
    return said.size() < 200 && said.find('\x07') == std::string::npos;
  };
  EXPECT_PRED1(is_short, refusal(s, huge + "\x07," + huge + "\x07\n"));
  const csv_table t = table(s, "a\x07," + huge + "\n\x07" + huge + ",\x07\n");
  EXPECT_PRED1(is_short, complaint_of(t, t.number(0, "a\x07")));
  EXPECT_PRED1(is_short, complaint_of(t, t.number(0, huge)));
  EXPECT_PRED1(is_short, complaint_of(t, t.text(0, "b")));
  EXPECT_PRED1(is_short, complaint_of(t, t.text(0, huge + "b")));
}

TEST(CsvTable, RefusesFilesWithoutColumnsAndThoseThatCannotBeRead) {
  const scratch s;
  EXPECT_EQ(refusal(s, ""), " is empty, expected a line of column names");
  EXPECT_EQ(refusal(s, " \r\n\n"), " is empty, expected a line of column names");
  EXPECT_EQ(complaint(csv_table::read(s.folder()), s.folder(), errc::unreadable), "is a folder, expected a file");
  EXPECT_EQ(complaint(csv_table::read(s.folder() / "none"), s.folder() / "none", errc::unreadable),
            "cannot be opened: No such file or directory");
}

TEST(CsvTable, ReadsNumbersBackExactly) {
  const scratch s;
  constexpr unsigned seed = 4;
  std::mt19937_64 random(seed);
  std::string content = "x\n";
  std::vector<double> written;
  for (int i = 0; i < 200; ++i) {
    const double value = static_cast<double>(random()) / static_cast<double>(random());
    char text[40];
    std::snprintf(text, sizeof text, "%.17g\n", value);
    content += text;
    written.push_back(value);
  }
  const csv_table t = table(s, content);
  for (std::size_t i = 0; i < written.size(); ++i) EXPECT_EQ(t.number(i, "x").value(), written[i]) << "seed " << seed;
}

}  // namespace
}  // namespace csv_test
