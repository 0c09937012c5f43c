#include <slimpack/io/lengths.hpp>

#include "listed_lengths.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>

/// Lists of token ids are not taken for lists of lengths, nor these for those.
namespace token_ids_test {
namespace {

using listed_lengths::joined;
using listed_lengths::lengths13;
using listed_lengths::lengths_options;
using listed_lengths::said;
using listed_lengths::values;
using slimpack::io::lengths_format;

lengths_options as(lengths_format format) { return {format}; }

/// What numpy.save writes of integers of so many bytes.
std::string npy(const values& all, std::size_t width) {
  std::string header = "{'descr': '<" + std::string(width < 4 ? "u" : "i") + std::to_string(width) +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(all.size()) + ",), }";
  header.resize(117, ' ');
  std::string bytes = std::string("\x93NUMPY\x01\x00v\x00", 10) + header + "\n";
  for (const std::int64_t value : all)
    for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8U * i);
  return bytes;
}

const std::string as_array =
    "they are read with the format npy as lengths, with the format cu_seqlens as ends of sequences";
const std::string as_ids = "values look like token ids, not like lengths: they are read with the format ";

TEST(TokenIds, OfFewBytesOrWithZerosAreNoLengths) {
  EXPECT_EQ(said(npy({640, 212}, 2)),
            "its elements have 16 bits, as token ids are stored, so they may be token ids; " + as_array);
  EXPECT_EQ(said(npy({64, 21}, 1)),
            "its elements have 8 bits, as token ids are stored, so they may be token ids; " + as_array);
  for (const std::size_t width : {4u, 8u})
    EXPECT_EQ(said(npy({640, 0, 212}, width)),
              "element 1 of them is 0, as no length is, so they may be token ids; " + as_array);
  EXPECT_EQ(said(npy({640, 212}, 2), as(lengths_format::npy)), "640 212 ");
  EXPECT_EQ(said(npy({640, 0, 212}, 4), as(lengths_format::npy)), "640 212 ");
  EXPECT_EQ(said(npy({0, 640, 852}, 2), as(lengths_format::cu_seqlens)), "640 212 ");
}

/// The words of a text, as numbers in the order in which they come first.
values ids_of(const std::filesystem::path& text) {
  std::istringstream in(content_of(text));
  std::map<std::string, std::int64_t> known;
  values ids;
  for (std::string word; in >> word;)
    ids.push_back(known.emplace(word, static_cast<std::int64_t>(known.size()) + 1).first->second);
  return ids;
}

TEST(TokenIds, OfATextAreKnownByTheirNeighbours) {
  const values ids = ids_of(data("../../LICENSE"));
  ASSERT_GT(ids.size(), 1000u);
  const std::string count = "its " + std::to_string(ids.size()) + " ";
  EXPECT_EQ(said(npy(ids, 4)), count + as_ids + "npy as lengths");
  EXPECT_EQ(said(npy(ids, 8)), count + as_ids + "npy as lengths");
  std::string array, lines;
  for (const std::int64_t id : ids)
    array += (array.empty() ? "[" : ",") + std::to_string(id), lines += std::to_string(id) + "\n";
  EXPECT_EQ(said(array + "]"), count + as_ids + "json as lengths");
  EXPECT_EQ(said(lines), count + as_ids + "text as lengths");
  EXPECT_EQ(said(npy(ids, 4), as(lengths_format::npy)), joined(ids));
}

TEST(TokenIds, AreNotSeenInLengths) {
  constexpr unsigned seed = 7;
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) / 9007199254740992.0; };
  values drawn, again, few;
  for (int i = 0; i < 4000; ++i) {
    const double normal = std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * 3.14159265358979 * uniform());
    drawn.push_back(std::clamp<std::int64_t>(std::llround(std::exp(7 + 1.3 * normal)), 1, 32768));
    again.push_back(lengths13[static_cast<std::size_t>(i) % lengths13.size()]);
    few.push_back(100 + static_cast<std::int64_t>(random() % 50));
  }
  values sorted = drawn;
  std::sort(sorted.begin(), sorted.end());
  for (const values* all : {&drawn, &again, &few, &sorted})
    EXPECT_EQ(said(npy(*all, 4)), joined(*all)) << "seed " << seed;

  values ids;
  for (int i = 0; i < 4000; ++i) ids.push_back(1 + static_cast<std::int64_t>(random() % 50256));
  EXPECT_EQ(said(npy(ids, 4)), "its 4000 " + as_ids + "npy as lengths") << "seed " << seed;
  std::string lines;
  for (const std::int64_t id : ids) lines += std::to_string(id) + "\n";
  EXPECT_EQ(said(lines), joined(ids)) << "seed " << seed;  // lengths that were drawn for a trial
}

}  // namespace
}  // namespace token_ids_test
