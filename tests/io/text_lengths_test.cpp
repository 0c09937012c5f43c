#include <slimpack/io/lengths.hpp>
#include <slimpack/io/text_lengths.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace text_lengths_test {
namespace {

using slimpack::errc;
using slimpack::tokens;
using slimpack::io::read_text_lengths;

std::string refusal(const scratch& s, std::string_view content) {
  const auto file = s.file("list", content);
  return complaint(read_text_lengths(file), file, errc::invalid_input);
}

TEST(ReadTextLengths, AreThoseOfTheReaderOfAllFormats) {
  const auto file = data("lengths/gsm8k_sft.txt");
  const std::vector<tokens> lengths = read_text_lengths(file).value();
  EXPECT_GT(lengths.size(), 1000u);
  EXPECT_EQ(lengths, slimpack::io::read_lengths(file).value());
  const scratch s;
  EXPECT_EQ(read_text_lengths(s.file("list", " 7\r\n\n12 \n")).value(), (std::vector<tokens>{{7}, {12}}));
}

TEST(ReadTextLengths, RefuseWhatIsNone) {
  const scratch s;
  EXPECT_NE(refusal(s, "").find("holds no lengths"), std::string::npos);
  EXPECT_NE(refusal(s, "12\n0\n").find("line 2"), std::string::npos);
  EXPECT_NE(refusal(s, "{\"length\": 3}\n").find("is not a whole number"), std::string::npos);
  EXPECT_EQ(read_text_lengths(s.folder() / "absent").error().code, errc::unreadable);
}

}  // namespace
}  // namespace text_lengths_test
