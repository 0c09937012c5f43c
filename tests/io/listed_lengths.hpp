#ifndef SLIMPACK_TESTS_IO_LISTED_LENGTHS_HPP
#define SLIMPACK_TESTS_IO_LISTED_LENGTHS_HPP

#include <slimpack/io/lengths.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What is read of a list of lengths, or why it is refused, as one text.
namespace listed_lengths {

using slimpack::io::lengths_list;
using slimpack::io::lengths_options;
using values = std::vector<std::int64_t>;

inline values numbers(const lengths_list& list) {
  values all;
  for (const slimpack::tokens length : list.lengths) all.push_back(length.value);
  return all;
}

inline std::string joined(const values& all) {
  std::string text;
  for (const std::int64_t one : all) text += std::to_string(one) + ' ';
  return text;
}

/// The lengths, or what is said of the file behind its name.
inline std::string said(const slimpack::result<lengths_list>& read, const std::string& file) {
  if (read) return joined(numbers(read.value()));
  EXPECT_EQ(read.error().code, slimpack::errc::invalid_input);
  const std::string& detail = read.error().detail;
  EXPECT_EQ(detail.find(file), 0u) << detail;
  EXPECT_TRUE(std::all_of(detail.begin(), detail.end(), [](char c) { return c >= ' '; })) << detail;
  return detail.substr(std::min(detail.size(), file.size() + 2));
}
inline std::string said(std::string_view content, const lengths_options& asked = {}) {
  const scratch s;
  const auto file = s.file("list", content);
  return said(slimpack::io::read_lengths_list(file, asked), file.string());
}

/// What the reader notes, or why it refuses.
inline std::vector<std::string> notes_of(const std::string& content, const lengths_options& asked = {}) {
  const scratch s;
  const auto read = slimpack::io::read_lengths_list(s.file("list", content), asked);
  return read ? read.value().notes : std::vector<std::string>{read.error().detail};
}

inline lengths_options field(std::string name,
                             slimpack::io::lengths_format format = slimpack::io::lengths_format::automatic) {
  return {format, std::move(name)};
}

/// 13 lengths, some of them alike.
inline const values lengths13{640, 212, 1411, 5120, 37, 37, 8111, 2903, 37, 640, 2903, 37, 30011};

}  // namespace listed_lengths

#endif
