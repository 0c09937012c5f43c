#ifndef SLIMPACK_IO_DETAIL_OPEN_HPP
#define SLIMPACK_IO_DETAIL_OPEN_HPP

#include <slimpack/core/error.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace slimpack::io::detail {

/// What the operating system said last, for the end of a sentence; empty when it said nothing.
[[nodiscard]] inline std::string system_reason(int number) {
  return number == 0 ? std::string{} : ": " + std::generic_category().message(number);
}

/// Whether reading may never end: a named pipe that nobody writes, a terminal, /dev/zero. What a shell opened itself,
/// by `<(command)` or `|`, has no name of its own, and a writer.
[[nodiscard]] inline bool may_never_end(const std::filesystem::path& file) {
  std::error_code nameless;
  const std::filesystem::path name = std::filesystem::canonical(file, nameless);
  if (nameless) return false;
  std::error_code ignored;
  return std::filesystem::is_other(name, ignored) && name != "/dev/null";
}

/// Opens a file to read.
/// Errors    unreadable: it does not exist, may not be read, or is a folder, a named pipe or a device
[[nodiscard]] inline result<std::ifstream> open_to_read(const std::filesystem::path& file) {
  std::error_code ignored;  // what cannot be asked for here cannot be opened either
  if (std::filesystem::is_directory(file, ignored))
    return error{errc::unreadable, file.string() + ": is a folder, expected a file"};
  if (may_never_end(file))
    return error{errc::unreadable, file.string() + ": is a named pipe or a device, expected a file"};
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return error{errc::unreadable, file.string() + ": cannot be opened" + system_reason(errno)};
  return in;
}

}  // namespace slimpack::io::detail

#endif
