#ifndef SLIMPACK_BENCHMARKS_PLAN_QUALITY_FINISHED_ROWS_HPP
#define SLIMPACK_BENCHMARKS_PLAN_QUALITY_FINISHED_ROWS_HPP

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace slimpack::plan_quality {

/// Rows of a long table, kept in a file as they are finished, so that a run that was ended goes on where it was.
class finished_rows {
 public:
  /// path      of the file, which is made where there is none; empty: nothing is kept
  /// settings  of the table, in one line, which is the first of the file
  /// Errors    plan_error: the file is of other settings, or cannot be written
  finished_rows(std::filesystem::path path, const std::string& settings);

  /// What was kept of a row.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const;
  /// Requires  neither tab nor end of line in the key, no end of line in the row
  void add(const std::string& key, const std::string& row);

 private:
  std::filesystem::path path_;
  std::map<std::string, std::string> rows_;
};

}  // namespace slimpack::plan_quality

#endif
