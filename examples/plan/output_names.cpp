#include "output_names.hpp"

#include <slimpack/io/file.hpp>

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace cli {
namespace {

using namespace slimpack;

std::initializer_list<std::optional<std::filesystem::path> options::*> all_outputs() {
  static constexpr std::initializer_list<std::optional<std::filesystem::path> options::*> all{
      &options::json, &options::trace, &options::timeline, &options::graph};
  return all;
}

/// Under --summary there is one page.
std::size_t files_of(const options& o, std::optional<std::filesystem::path> options::*output) {
  return o.summary && output == &options::timeline ? 1 : o.batches;
}

/// Writing itself is checked again.
result<void> check_writable(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path target = io::detail::target_of(path, failed);
  if (failed) return error{errc::unwritable, path.string() + ": cannot be written: " + failed.message()};
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const char* why = path.empty()                                     ? "its name is empty"
                    : std::filesystem::is_directory(path, failed)    ? "it is a folder"
                    : !std::filesystem::is_directory(folder, failed) ? "its folder does not exist"
                    : access(folder.c_str(), W_OK) != 0              ? "its folder is not writable"
                                                                     : nullptr;
  if (!why) return slimpack::success();
  return error{errc::unwritable, path.string() + ": cannot be written: " + why};
}

/// Files that are read.
std::set<std::filesystem::path> inputs_of(const options& o) {
  std::vector<std::filesystem::path> read{o.lengths};
  if (o.from) read.push_back(o.from->file);
  if (o.model) read.push_back(*o.model);
  if (o.gpu) read.emplace_back(*o.gpu);
  for (const auto& file : {o.profile, o.memory_table, o.imbalances, o.config})
    if (file) read.push_back(*file);
  std::error_code failed;
  std::set<std::filesystem::path> whole;
  for (const std::filesystem::path& path : read)
    whole.insert(std::filesystem::weakly_canonical(std::filesystem::absolute(path), failed));
  return whole;
}

/// One output at most, of one batch.
result<void> check_standard_output(const options& o) {
  const auto count =
      std::count_if(all_outputs().begin(), all_outputs().end(), [&](auto output) { return o.*output == "-"; });
  if (count > 1)
    return error{errc::unwritable, "standard output cannot be written: two outputs are -; give one a file name"};
  if (count == 1 && o.batches > 1)
    return error{errc::unwritable, "standard output cannot be written: - takes one batch, and --batches has " +
                                       std::to_string(o.batches) + "; give a file name"};
  return slimpack::success();
}

}  // namespace

std::filesystem::path numbered(const std::filesystem::path& path, std::size_t batch, std::size_t batches) {
  if (batches == 1) return path;
  std::filesystem::path name = path.stem();
  name += "-" + std::to_string(batch);
  name += path.extension();
  return path.parent_path() / name;
}

bool writes_to_standard_output(const options& o) {
  return std::any_of(all_outputs().begin(), all_outputs().end(), [&](auto output) { return o.*output == "-"; });
}

result<void> check_outputs(const options& o) {
  if (result<void> fine = check_standard_output(o); !fine) return fine;
  std::set<std::filesystem::path> taken = inputs_of(o);
  std::error_code failed;
  for (const auto output : all_outputs())
    for (std::size_t b = 0; o.*output && o.*output != "-" && b < files_of(o, output); ++b) {
      const std::filesystem::path name = numbered(*(o.*output), b, files_of(o, output));
      if (result<void> writable = check_writable(name); !writable) return writable;
      const std::filesystem::path whole =
          std::filesystem::weakly_canonical(std::filesystem::absolute(io::detail::target_of(name, failed)), failed);
      if (std::filesystem::exists(whole, failed) && !std::filesystem::is_regular_file(whole, failed))
        continue;  // a pipe or device
      if (!taken.insert(whole).second)
        return error{errc::unwritable, name.string() + ": cannot be written: it is an input, or another output"};
    }
  return slimpack::success();
}

}  // namespace cli
