#ifndef SLIMPACK_EXAMPLES_PLAN_TERMINAL_HPP
#define SLIMPACK_EXAMPLES_PLAN_TERMINAL_HPP

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

/// How reports and errors reach a terminal. Names of files, models, GPUs and sequences come from outside, and may hold
/// characters that move the cursor or change colours: none of them gets through here (slimpack/detail/masked.hpp).
namespace cli {

/// A value that was typed or stands in a file, in quotes, no longer than a message bears.
std::string shown_value(std::string_view typed);

/// What is wrong, as one line of no more than 1,000 characters: of a longer one the middle is left out.
std::string error_line(std::string_view what);

/// A stream of lines for another one, without their control characters. Where that one cannot be written, it is marked
/// as bad.
class report_stream : public std::ostream {
 public:
  /// Requires  it outlives this
  explicit report_stream(std::ostream& to) : std::ostream(nullptr), lines_(to) { rdbuf(&lines_); }

 private:
  class line_buffer : public std::streambuf {
   public:
    explicit line_buffer(std::ostream& to) : to_(to) {}

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override { return to_.flush() ? 0 : -1; }

   private:
    std::ostream& to_;
  };

  line_buffer lines_;
};

}  // namespace cli

#endif
