#ifndef SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_HISTOGRAMS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_DOUBTS_HISTOGRAMS_HPP

#include <slimpack/io/detail/lengths/field.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

/// Tables that say how often each length occurs, and rows that sum others up.
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

}  // namespace slimpack::io::detail

#endif
