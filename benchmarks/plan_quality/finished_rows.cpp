#include "finished_rows.hpp"

#include <slimpack/core/error.hpp>

#include <fstream>
#include <utility>

namespace slimpack::plan_quality {

finished_rows::finished_rows(std::filesystem::path path, const std::string& settings) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (std::ifstream in(path_); in) {
    std::string line;
    std::getline(in, line);
    if (line != settings)
      throw plan_error({errc::invalid_input,
                        path_.string() + " has rows of other settings: name another file. Its first line is\n  " +
                            line + "\nand would be\n  " + settings});
    while (std::getline(in, line)) {
      if (in.eof()) break;  // no end of line: the run was ended while it wrote the row
      const auto tab = line.find('\t');
      if (tab != std::string::npos) rows_[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }
  std::ofstream out(path_);  // anew, without what was cut off
  out << settings << '\n';
  for (const auto& [key, row] : rows_) out << key << '\t' << row << '\n';
  if (!out.flush()) throw plan_error({errc::invalid_input, path_.string() + " cannot be written"});
}

std::optional<std::string> finished_rows::find(const std::string& key) const {
  const auto at = rows_.find(key);
  return at == rows_.end() ? std::nullopt : std::optional(at->second);
}

void finished_rows::add(const std::string& key, const std::string& row) {
  rows_[key] = row;
  if (!path_.empty()) std::ofstream(path_, std::ios::app) << key << '\t' << row << '\n';
}

}  // namespace slimpack::plan_quality
