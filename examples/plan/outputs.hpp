#ifndef SLIMPACK_EXAMPLES_PLAN_OUTPUTS_HPP
#define SLIMPACK_EXAMPLES_PLAN_OUTPUTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/io/file.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

namespace cli {

/// What a run writes: all of it, or nothing. Files are made under temporary names beside their own, and get these when
/// all are made; standard output, pipes and devices are written just before. Whatever goes wrong, and if a signal ends
/// the program, files are as they were and no temporary is left. A kill that cannot be caught may come between two
/// renames.
class outputs {
 public:
  using writer = std::function<slimpack::result<void>(std::ostream&)>;

  /// Makes an output; "-" is standard output.
  /// Errors    unwritable, and those of the writer
  slimpack::result<void> add(const std::filesystem::path& name, const writer& write);

  /// Gives all their names.
  /// Errors    unwritable; then nothing has been replaced, but what was written to pipes cannot be taken back
  slimpack::result<void> commit();

  /// Removes what was made, waiting for what is being written or renamed; nothing is written after this.
  void abandon();

 private:
  struct file {
    std::filesystem::path name;    ///< as typed, for messages
    std::filesystem::path target;  ///< behind symbolic links
    std::unique_ptr<slimpack::io::detail::temporary_file> made;
    std::unique_ptr<slimpack::io::detail::temporary_file> old;  ///< a second name of what was there, until all are
                                                                ///< renamed
  };
  struct stream {
    std::filesystem::path name;
    std::string content;
  };

  slimpack::result<void> rename_all();

  std::mutex mutex_;
  std::vector<file> files_;
  std::vector<stream> streams_;
};

}  // namespace cli

#endif
