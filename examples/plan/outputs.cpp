#include "outputs.hpp"

#include <iostream>
#include <sstream>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using slimpack::result;
namespace fs = std::filesystem;
using slimpack::io::detail::temporary_file;

result<void> write_stream(const fs::path& name, const std::string& content) {
  if (name != "-") return slimpack::io::write_file(name, [&](std::ostream& out) { out << content; });
  std::cout << content << std::flush;
  if (std::cout) return slimpack::success();
  return slimpack::error{slimpack::errc::unwritable, "standard output cannot be written"};
}

}  // namespace

result<void> outputs::add(const fs::path& name, const writer& write) {
  std::error_code failed;
  if (name == "-" || (fs::exists(name, failed) && !fs::is_regular_file(name, failed))) {
    std::ostringstream content;
    if (result<void> written = write(content); !written) return written;
    streams_.push_back({name, std::move(content).str()});
    return slimpack::success();
  }
  const std::lock_guard lock(mutex_);  // a signal waits until a file can be removed
  file f{name, slimpack::io::detail::target_of(name, failed), nullptr, nullptr};
  if (failed) return slimpack::io::detail::unwritable(name, ": " + failed.message());
  f.made = std::make_unique<temporary_file>(f.target);
  if (result<void> written = slimpack::io::detail::write_through(f.made->path(), name, write); !written) return written;
  files_.push_back(std::move(f));
  return slimpack::success();
}

result<void> outputs::rename_all() {
  const std::lock_guard lock(mutex_);  // a signal comes before or after all of them
  std::error_code failed;
  for (file& f : files_) {
    if (fs::exists(f.target, failed)) {
      f.old = std::make_unique<temporary_file>(f.target);
      fs::create_hard_link(f.target, f.old->path(), failed);
      if (failed) fs::copy_file(f.target, f.old->path(), failed);  // on file systems without such links
    }
    if (failed) break;
    if (failed = f.made->rename_to(f.target); failed) break;
    f.made.reset();
  }
  if (!failed) {
    files_.clear();
    return slimpack::success();
  }
  result<void> wrong = slimpack::success();
  for (file& f : files_) {
    if (f.made) {
      if (wrong) wrong = slimpack::io::detail::unwritable(f.name, ": " + failed.message());
      continue;
    }
    std::error_code ignored;  // nothing more can be done for a file that cannot be put back
    if (f.old)
      ignored = f.old->rename_to(f.target);
    else
      fs::remove(f.target, ignored);
  }
  files_.clear();
  return wrong;
}

result<void> outputs::commit() {
  for (const stream& s : streams_)
    if (result<void> written = write_stream(s.name, s.content); !written) return written;
  return rename_all();
}

void outputs::abandon() {
  mutex_.lock();  // for good
  files_.clear();
}

}  // namespace cli
