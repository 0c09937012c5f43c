#ifndef SLIMPACK_TESTS_NETS_STORED_VALUES_HPP
#define SLIMPACK_TESTS_NETS_STORED_VALUES_HPP

#include <slimpack/core/plan_hash.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// Texts of plans, of which a file has the hashes: below the name of each plan a line "  hash  text" for each of its
/// texts. Environment variables:
///   SLIMPACK_UPDATE_NETS      writes the file anew instead of comparing with it
///   SLIMPACK_NET_TEXTS=DIR    writes the texts themselves to a folder in DIR, so that two builds can be compared
class stored_values {
 public:
  explicit stored_values(std::filesystem::path file) : file_(std::move(file)) {}

  /// Requires  all texts of a plan one after the other, each with another name
  void add(const std::string& plan, const std::string& what, std::string_view text) {
    found_.push_back({plan, what, hash_text(text_hash(text)).substr(0, digits)});
    const char* const folder = std::getenv("SLIMPACK_NET_TEXTS");
    if (folder == nullptr) return;
    const std::filesystem::path texts = std::filesystem::path(folder) / file_.stem();
    std::filesystem::create_directories(texts);
    std::ofstream(texts / (plan + ", " + what)) << text;
  }

  /// Fails with the names of all values that are not those of the file; or writes the file.
  void compare() const {
    if (std::getenv("SLIMPACK_UPDATE_NETS") != nullptr) return write();
    std::map<std::string, std::string> expected = read();
    std::string differing;
    std::size_t count = 0;
    const auto compare_one = [&](const std::string& name, const std::string& stored, const std::string& found) {
      if (stored != found) ++count, differing += "  " + name + ": expected " + stored + ", found " + found + '\n';
    };
    for (const value& v : found_) {
      const auto stored = expected.find(v.name());
      compare_one(v.name(), stored == expected.end() ? "nothing" : stored->second, v.hash);
      if (stored != expected.end()) expected.erase(stored);
    }
    for (const auto& [name, hash] : expected) compare_one(name, hash, "nothing");
    EXPECT_EQ(count, 0u) << count << " of " << found_.size() << " values are not those of " << file_.string() << ":\n"
                         << differing;
  }

 private:
  static constexpr std::size_t digits = 12;  // of a hash
  struct value {
    std::string plan;
    std::string what;
    std::string hash;
    [[nodiscard]] std::string name() const { return plan + ": " + what; }
  };

  void write() const {
    std::ofstream out(file_);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (i == 0 || found_[i].plan != found_[i - 1].plan) out << found_[i].plan << '\n';
      out << "  " << found_[i].hash << "  " << found_[i].what << '\n';
    }
  }
  [[nodiscard]] std::map<std::string, std::string> read() const {
    std::map<std::string, std::string> hashes;
    std::ifstream in(file_);
    std::string plan;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("  "))
        hashes[plan + ": " + line.substr(digits + 4)] = line.substr(2, digits);
      else
        plan = line;
    }
    return hashes;
  }

  std::filesystem::path file_;
  std::vector<value> found_;
};

}  // namespace slimpack::tests

#endif
