#ifndef SLIMPACK_IO_DETAIL_LENGTHS_LENGTH_ROWS_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_LENGTH_ROWS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::io::detail {

/// What is known of a number that a file gives for a row.
enum class told : unsigned char {
  bare,     ///< it stands there, without a name
  named,    ///< it stands there, under a name
  counted,  ///< tokens were counted
};

/// How the message ends that refuses an empty sequence: callers add how their users have them skipped.
inline constexpr std::string_view leave_empty_out = "leave empty sequences out";

/// Takes what readers find in the rows of a file, in file order, and makes the list of lengths of it. Lists that are no
/// lists of lengths are refused, unless a user said what they are: values x_0 < x_1 < ... < x_n-1 with n >= 8, or
/// 0 = x_0 <= x_1 <= ... with n >= 3, are rather ends of sequences. Where all of x_1 - x_0, x_2 - x_1, ... are the
/// same, the numbers were made for a trial: they are lengths, with a note where they may be ends of sequences of one
/// length. Numbers under a name of lengths are lengths, as are fewer that rise, with such a note, too.
class length_rows {
 public:
  length_rows(lengths_format asked, empty_sequences empty) : asked_(asked), empty_(empty) {}

  /// Whether the user has not said what the file is.
  [[nodiscard]] bool guesses() const noexcept { return asked_ == lengths_format::automatic; }
  [[nodiscard]] bool has_ends() const noexcept { return asked_ == lengths_format::cu_seqlens; }
  /// The greatest value of a row.
  [[nodiscard]] std::int64_t most() const noexcept {
    return has_ends() ? std::numeric_limits<std::int64_t>::max() : longest_supported.value;
  }

  /// The value of the next row, from 0 to most(). `place()` opens messages.
  template <class Place>
  [[nodiscard]] result<void> add(std::int64_t value, told how, const Place& place) {
    if (has_ends()) return add_end(value, place);
    if (how == told::counted)
      counted_ = true;
    else
      look_at(value);
    if (how != told::bare) bare_ = false;
    add_length(value, place);
    return success();
  }

  /// The ends that follow are of another row of tokens.
  void begin_row() noexcept {
    before_ = 0;
    values_ = 0;
  }

  /// The lengths so far, if all of them stand there without names and nobody has said that they are lengths; else none.
  [[nodiscard]] std::span<const tokens> doubtful() const noexcept {
    return guesses() && bare_ && !counted_ ? std::span<const tokens>(list_.lengths) : std::span<const tokens>{};
  }

  /// The numbers stand under a name that says that they are lengths, so they are read as such.
  void are_lengths_by_name() noexcept { by_name_ = true; }

  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }

  /// The format that the rows are read in.
  void read_as(lengths_format format) noexcept { read_as_ = format; }

  [[nodiscard]] result<lengths_list> end(const std::string& file) && {
    const auto refused = [&](const std::string& what) { return error{errc::invalid_input, file + ": " + what}; };
    const std::string as_lengths = "with the format " + std::string(name_of(read_as_)) + " as lengths";
    if (guesses() && are_ends())
      return refused("its " + std::to_string(values_) + " values " +
                     (rises_ ? "rise from each to the next" : "begin with 0 and never fall") +
                     ", as ends of sequences do (cu_seqlens): they are read with the format cu_seqlens as ends, " +
                     as_lengths);
    if (empties_ > 0 && empty_ == empty_sequences::reject)
      return error{errc::invalid_input, first_empty_ + ": the sequence is empty, expected at least 1 token: " +
                                            std::string(leave_empty_out)};
    if (list_.lengths.empty() && empties_ == 0)
      return refused(
          "holds no lengths, expected one decimal length a line, one JSON object a line, a JSON array, CSV, " +
          std::string("a NumPy array, or a Megatron-LM .idx"));
    if (list_.lengths.empty()) return refused("all of its " + std::to_string(empties_) + " sequences are empty");
    if (guesses() && may_be_ends())
      note((has_steps_ ? "its " + std::to_string(values_) + " values rise from each to the next"
                       : "its values rise by " + std::to_string(step_) + " each") +
           " and are read as lengths; with the format cu_seqlens they are read as ends of sequences");
    if (empties_ > 0)
      list_.notes.push_back(std::to_string(empties_) + " of " + std::to_string(row_) + " sequences " +
                            (empties_ == 1 ? "is" : "are") + " empty and left out; the first is " + first_empty_);
    for (std::string& each : notes_) list_.notes.push_back(std::move(each));
    return std::move(list_);
  }

 private:
  template <class Place>
  void add_length(std::int64_t length, const Place& place) {
    if (length > 0) {
      list_.lengths.push_back({length});
      list_.rows.push_back(row_);
    } else if (++empties_ == 1) {
      first_empty_ = place();
    }
    ++row_;
  }

  template <class Place>
  [[nodiscard]] result<void> add_end(std::int64_t end, const Place& place) {
    const std::int64_t begin = std::exchange(before_, end);
    if (++values_ == 1 && end == 0) return success();
    if (end < begin)
      return error{errc::invalid_input, place() + ": " + std::to_string(end) + " is less than the " +
                                            std::to_string(begin) + " before it, expected ends of sequences, in order"};
    if (end - begin > longest_supported.value)
      return error{errc::invalid_input, place() + ": the sequence that ends here has " + std::to_string(end - begin) +
                                            " tokens, expected at most " + std::to_string(longest_supported.value)};
    add_length(end - begin, place);
    return success();
  }

  void look_at(std::int64_t value) {
    if (++values_ == 1) {
      first_ = value;
    } else {
      if (value <= before_) rises_ = false;
      if (value < before_) falls_ = true;
      if (values_ > 2 && value - before_ != step_) has_steps_ = true;
      step_ = value - before_;
    }
    before_ = value;
  }

  [[nodiscard]] bool are_ends() const noexcept {
    return !counted_ && !by_name_ &&
           ((rises_ && values_ >= few && has_steps_) || (first_ == 0 && !falls_ && before_ > 0 && values_ >= 3));
  }

  /// Whether numbers that are read as lengths should have a note. A few under a name need none.
  [[nodiscard]] bool may_be_ends() const noexcept {
    return !counted_ && rises_ && values_ >= (by_name_ ? few : 3) && (has_steps_ || step_ == first_);
  }

  static constexpr std::size_t few = 8;  ///< distinct lengths that someone sorted are rarely more

  lengths_format asked_;
  lengths_format read_as_{lengths_format::text};
  empty_sequences empty_;
  lengths_list list_;
  std::vector<std::string> notes_;
  std::uint64_t row_{};
  std::size_t empties_{};
  std::string first_empty_;
  std::size_t values_{};   ///< that are told, not counted
  std::int64_t first_{};   ///< of these
  std::int64_t before_{};  ///< the last of these
  std::int64_t step_{};    ///< from the one before it to the last
  bool has_steps_{};       ///< of several sizes
  bool rises_{true}, falls_{}, counted_{}, bare_{true}, by_name_{};
};

}  // namespace slimpack::io::detail

#endif
