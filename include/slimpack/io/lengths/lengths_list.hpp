#ifndef SLIMPACK_IO_LENGTHS_LENGTHS_LIST_HPP
#define SLIMPACK_IO_LENGTHS_LENGTHS_LIST_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io {

/// How a file lists the lengths of sequences. What is automatic is found out from the file: idx and npy by their magic
/// bytes; by the first line that is not blank json where it begins with '[', jsonl where it begins with '{', or json if
/// that object is the whole file; csv where it has a comma, a semicolon or a tab, names a column of lengths, or a field
/// is asked for, unless it begins with a digit; else text.
enum class lengths_format : unsigned char {
  automatic,
  text,        ///< one decimal length a line
  jsonl,       ///< one JSON object a line; a member is the length, or the tokens
  json,        ///< an array of lengths, of arrays of tokens, or of objects as in jsonl; or an object with such an array
  csv,         ///< columns with names, one of them of lengths (io/csv.hpp)
  npy,         ///< a NumPy array of whole numbers in one dimension, one row or one column
  idx,         ///< the index of a Megatron-LM indexed dataset: lengths of its sequences, not of its documents
  cu_seqlens,  ///< any but idx, whose numbers are where sequences end in one row of tokens; a first 0 counts as none.
               ///< In JSON each array of them is a row of its own
};

/// The formats and what users call them.
inline constexpr std::pair<std::string_view, lengths_format> lengths_formats[]{
    {"auto", lengths_format::automatic}, {"text", lengths_format::text},
    {"jsonl", lengths_format::jsonl},    {"json", lengths_format::json},
    {"csv", lengths_format::csv},        {"npy", lengths_format::npy},
    {"idx", lengths_format::idx},        {"cu_seqlens", lengths_format::cu_seqlens}};

[[nodiscard]] constexpr std::string_view name_of(lengths_format format) {
  for (const auto& [name, named] : lengths_formats)
    if (named == format) return name;
  return {};
}

/// What becomes of sequences without tokens, which no step of training runs.
enum class empty_sequences : unsigned char {
  reject,  ///< an error
  skip,    ///< they are left out; a note says how many they are
};

/// What a user says about a file.
struct lengths_options {
  lengths_format format{lengths_format::automatic};
  /// Of json, jsonl and csv: the member or column to read. "a+b" is the sum of both, "a.b" is member b of the member a;
  /// a member of exactly this name comes first. Empty: the first of "length", "tokens", "input_ids" that there is
  std::string field{};
  empty_sequences empty{empty_sequences::skip};
};

/// The lengths of a file.
/// Units     tokens, each length from 1 to longest_supported
struct lengths_list {
  std::vector<tokens> lengths;
  std::vector<std::uint64_t>
      rows;                        ///< the data row of each length (io/lengths.hpp); all of them where none is left out
  std::vector<std::string> notes;  ///< what a user should know of how the file was read, a sentence each
};

}  // namespace slimpack::io

#endif
