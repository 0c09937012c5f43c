#ifndef SLIMPACK_IO_FILE_HPP
#define SLIMPACK_IO_FILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/detail/open.hpp>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace slimpack::io {

namespace detail {

/// A file beside `target`, so that renaming it is atomic; gone with this object unless kept.
class temporary_file {
 public:
  explicit temporary_file(const std::filesystem::path& target) : path_(target) {
    char suffix[16];
    std::snprintf(suffix, sizeof suffix, ".%08x.tmp", static_cast<unsigned>(std::random_device{}()));
    path_ += suffix;
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    std::error_code ignored;  // nothing is left to be done about a file that cannot be removed
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  [[nodiscard]] std::error_code rename_to(const std::filesystem::path& target) {
    std::error_code failed;
    std::filesystem::rename(path_, target, failed);
    if (!failed) path_.clear();
    return failed;
  }

 private:
  std::filesystem::path path_;
};

/// The file that a name leads to over symbolic links, whether it is there yet or not.
/// Errors    `failed`: a link cannot be read, or links lead in a circle
[[nodiscard]] inline std::filesystem::path target_of(const std::filesystem::path& file, std::error_code& failed) {
  constexpr int most = 40;  // as Linux does
  std::filesystem::path at = file;
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(at, failed)); ++links) {
    if (links == most) {
      failed = std::make_error_code(std::errc::too_many_symbolic_link_levels);
      return at;
    }
    const std::filesystem::path next = std::filesystem::read_symlink(at, failed);
    if (failed) return at;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  failed.clear();  // there may be nothing yet
  return at;
}

[[nodiscard]] inline error unwritable(const std::filesystem::path& file, const std::string& reason) {
  return {errc::unwritable, file.string() + ": cannot be written" + reason};
}

/// Opens, writes, flushes and closes; the reason of a failure is the operating system's for `name`.
template <class Write>
result<void> write_through(const std::filesystem::path& file, const std::filesystem::path& name, Write&& write) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return unwritable(name, system_reason(errno));
  if constexpr (std::is_void_v<std::invoke_result_t<Write, std::ostream&>>) {
    std::forward<Write>(write)(static_cast<std::ostream&>(out));
  } else {
    result<void> written = std::forward<Write>(write)(static_cast<std::ostream&>(out));
    if (!written && out) return written;  // else the stream's failure is the cause
  }
  out.close();
  if (!out) return unwritable(name, system_reason(errno));
  return success();
}

}  // namespace detail

/// Writes a file whole or not at all: `write` fills a temporary file in the same folder, which is renamed when every
/// byte is written. On any failure, an exception of `write` included, the temporary is removed and `file` is as it was.
/// Devices and pipes, such as /dev/stdout, are written directly; symbolic links are followed, also where no file is
/// there yet.
/// write     called once with a std::ostream&; returns nothing, or a result<void> whose error is passed on
/// Errors    unwritable: the folder or file may not be written, or the disk is full
/// Complexity that of write
template <class Write>
result<void> write_file(const std::filesystem::path& file, Write&& write) {
  std::error_code failed;
  const std::filesystem::file_status there = std::filesystem::status(file, failed);
  if (std::filesystem::is_directory(there)) return detail::unwritable(file, ": is a folder");
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return detail::write_through(file, file, std::forward<Write>(write));
  const std::filesystem::path target = detail::target_of(file, failed);
  if (failed) return detail::unwritable(file, ": " + failed.message());
  detail::temporary_file temporary(target);
  if (result<void> done = detail::write_through(temporary.path(), file, std::forward<Write>(write)); !done) return done;
  if (failed = temporary.rename_to(target); failed) return detail::unwritable(file, ": " + failed.message());
  return success();
}

}  // namespace slimpack::io

#endif
