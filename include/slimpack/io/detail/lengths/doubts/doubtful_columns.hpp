#ifndef SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_DOUBTFUL_COLUMNS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_DOUBTFUL_COLUMNS_HPP

#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/detail/lengths/field.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Columns that may not be what a user takes them for: tables that say how often each length occurs, rows that sum
/// others up, and fields that are one of several parts of a sample.
namespace slimpack::io::detail {

/// Names that say how often a length occurs.
inline constexpr std::initializer_list<const char*> count_fields{
    "count",  "counts",  "frequency", "freq",        "n",         "weight",        "percent",     "percentage",
    "repeat", "repeats", "samples",   "num_samples", "n_samples", "num_sequences", "occurrences", "fraction"};

/// Sees whether rows of a length and of another number are a histogram.
/// Rule      derived. A histogram has each length once; lists of lengths of training sets have some of them several
///           times. Numbers that rise by one each are numbers of rows
/// Complexity O(n log n) of n rows
class histogram_rows {
 public:
  void add(std::int64_t length, double count) {
    if (!lengths_.empty() && count != before_ + 1) numbers_rows_ = false;
    before_ = count;
    lengths_.push_back(length);
  }

  [[nodiscard]] bool is_histogram(std::size_t rows) const {
    if (rows < 2 || lengths_.size() != rows || numbers_rows_) return false;
    std::vector<std::int64_t> sorted = lengths_;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  }

 private:
  std::vector<std::int64_t> lengths_;
  double before_{};
  bool numbers_rows_{true};
};

/// Why a histogram is refused; `length` and `count` name its columns.
[[nodiscard]] inline std::string histogram_why(std::string_view length, std::string_view count) {
  return "has each " + shown(length) + " once, with a number " + in_quotes(count) +
         " beside it, as a histogram has: write each length as often as it occurs; with the field " + shown(length) +
         " each is read once";
}

/// Whether the first cell of a row says that the row sums others up, as the last one of a spreadsheet and those of
/// pandas' describe() do.
[[nodiscard]] inline bool names_summary(std::string_view cell) {
  const std::string lower = lower_case(cell);
  constexpr std::string_view known[]{"total", "totals", "sum", "grand total", "average", "mean",
                                     "std",   "25%",    "50%", "75%",         "median"};
  return std::find(std::begin(known), std::end(known), lower) != std::end(known);
}

/// Whether a name says that it has the tokens, or the length, of a part of a sample: "output_ids", "prompt_len".
[[nodiscard]] inline bool names_part(std::string_view field) {
  constexpr std::string_view parts[]{"prompt", "response", "completion", "output",
                                     "chosen", "rejected", "decoder",    "answer"};
  const std::vector<std::string> words = words_of(field);
  const bool has_tokens = names_tokens(field) || names_lengths(field) || words.back() == "tokens";
  return has_tokens && words.front() != "max" && std::any_of(words.begin(), words.end(), [&](const std::string& word) {
           return std::find(std::begin(parts), std::end(parts), word) != std::end(parts);
         });
}

/// The note that samples have other parts than the field that is read, or nothing: where the parts of the first sample
/// sum up to what is read of it, they are in it. `value_of` gives what a name says of that sample, if anything.
template <class ValueOf>
[[nodiscard]] std::optional<std::string> parts_note(const std::string& read, std::int64_t value,
                                                    const std::vector<std::string>& names, const ValueOf& value_of) {
  std::string others, sum = read;
  std::int64_t in_parts = 0;
  for (const std::string& name : names) {
    if (name == read || !names_part(name)) continue;
    const std::optional<std::int64_t> part = value_of(name);
    if (!part || *part > longest_supported.value) continue;
    in_parts += *part;
    others += (others.empty() ? "" : ", ") + in_quotes(name);
    sum += "+" + shown(name);
  }
  if (others.empty() || in_parts == value) return std::nullopt;
  return in_quotes(read) + " alone is read; the file has " + others + ", too: with the field " + sum +
         " their sum is read";
}

}  // namespace slimpack::io::detail

#endif
