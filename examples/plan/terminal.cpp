#include "terminal.hpp"

#include <slimpack/detail/masked.hpp>

#include <algorithm>
#include <cstddef>

namespace cli {

using slimpack::detail::masked;
using slimpack::detail::shown;

std::string shown_value(std::string_view typed) { return "'" + shown(typed) + "'"; }

std::string error_line(std::string_view what) {
  constexpr std::size_t most = 1000, front = 600, back = 300;
  std::string line(what);
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (line.size() > most) return masked(line.substr(0, front)) + " ... " + masked(line.substr(line.size() - back));
  return masked(line);
}

std::streambuf::int_type report_stream::line_buffer::overflow(int_type c) {
  const char one = traits_type::to_char_type(c);
  return traits_type::eq_int_type(c, traits_type::eof()) || xsputn(&one, 1) == 1 ? traits_type::not_eof(c)
                                                                                 : traits_type::eof();
}

std::streamsize report_stream::line_buffer::xsputn(const char* text, std::streamsize size) {
  for (std::string_view rest(text, static_cast<std::size_t>(size)); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size());
    std::string visible = masked(line);
    if (!rest.empty()) visible += '\n', rest.remove_prefix(1);
    if (!to_.write(visible.data(), static_cast<std::streamsize>(visible.size()))) return 0;
  }
  return size;
}

}  // namespace cli
