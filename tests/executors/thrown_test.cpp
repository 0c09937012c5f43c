#include <slimpack/detail/thrown.hpp>

#include <slimpack/testing/generator.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace slimpack::thrown_test {
namespace {

using detail::one_line;

TEST(OneLine, IsTheFirstThatHasAWord) {
  EXPECT_EQ(one_line("out of memory"), "out of memory");
  EXPECT_EQ(one_line(""), "");
  EXPECT_EQ(one_line(" \n\r\n "), "");
  EXPECT_EQ(one_line("out of memory\n"), "out of memory");
  EXPECT_EQ(one_line("\n\n  out of memory \r\nframe #0: main\n"), "out of memory (and 1 line more)");
  std::string trace = "size mismatch";
  for (int frame = 0; frame < 25; ++frame) trace += "\nframe #" + std::to_string(frame);
  EXPECT_EQ(one_line(trace), "size mismatch (and 25 lines more)");
}

// Of any text: one line, not much longer than 500 bytes, whole characters of UTF-8, and no other for one that is one
// already.
TEST(OneLine, IsShortAndOfWholeCharacters) {
  constexpr std::uint64_t seed = 52;
  testing::generator random(seed);
  for (int n = 0; n < 500; ++n) {
    std::string text;
    for (auto k = random.between(0, 900); k > 0; --k)
      text += random.once_in(200) ? "\n" : random.once_in(3) ? "é" : random.once_in(3) ? "本" : "a";
    const std::string line = one_line(text);
    EXPECT_EQ(line.find('\n'), std::string::npos) << "seed " << seed << ", case " << n;
    EXPECT_LE(line.size(), 540U) << "seed " << seed << ", case " << n;
    for (std::size_t at = 0; at < line.size();) {
      const auto lead = static_cast<unsigned char>(line[at]);
      const std::size_t bytes = lead < 0x80U ? 1 : lead < 0xE0U ? 2 : 3;
      ASSERT_NE(lead & 0xC0U, 0x80U) << "seed " << seed << ", case " << n;
      ASSERT_LE(at + bytes, line.size()) << "seed " << seed << ", case " << n;
      at += bytes;
    }
    if (text.size() <= 500 && text.find('\n') == std::string::npos) {
      EXPECT_EQ(line, text);
    }
  }
}

TEST(ThrownBy, GivesWhatACallThrew) {
  EXPECT_FALSE(detail::thrown_by([] {}));
  EXPECT_THROW(std::rethrow_exception(detail::thrown_by([] { throw std::runtime_error("so"); })), std::runtime_error);
}

}  // namespace
}  // namespace slimpack::thrown_test
