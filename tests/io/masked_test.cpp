#include <slimpack/detail/masked.hpp>

#include <gtest/gtest.h>

#include <string>

namespace slimpack::masked_test {
namespace {

using detail::in_quotes;
using detail::masked;

TEST(Masked, LeavesTextsAlone) {
  for (const std::string text : {"", "plain", "Llama 3.1 8B", "gpu-\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "a\\b\"c'"})
    EXPECT_EQ(masked(text), text);
}

TEST(Masked, ShowsControlCharactersByTheirNumber) {
  EXPECT_EQ(masked("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(masked(std::string("\0\t\n\r\x7f", 5)), "\\x00\\x09\\x0a\\x0d\\x7f");
  EXPECT_EQ(masked("\xc2\x9b"
                   "2J"),
            "\\x9b2J");  // CSI of Latin-1, in UTF-8
  EXPECT_EQ(masked("\x9b"
                   "2J"),
            "\\x9b2J");                              // and as it is
  EXPECT_EQ(masked("a\xe2\x80\xaex"), "a\\u202ex");  // from right to left
  EXPECT_EQ(masked("\xff\xc3"), "\\xff\\xc3");       // no UTF-8
}

TEST(Masked, CutsLongTexts) {
  EXPECT_EQ(masked("abcdef", 6), "abcdef");
  EXPECT_EQ(masked("abcdefg", 6), "abcdef...");
  EXPECT_EQ(masked("abcd\xe4\xb8\xad", 6), "abcd...");  // no half of a character
  EXPECT_EQ(in_quotes(std::string(200000, 'x')), '"' + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace slimpack::masked_test
