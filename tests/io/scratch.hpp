#ifndef SLIMPACK_TESTS_IO_SCRATCH_HPP
#define SLIMPACK_TESTS_IO_SCRATCH_HPP

#include <slimpack/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

/// A folder of one test's own, gone after it.
class scratch {
 public:
  scratch() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("slimpack.") + test->test_suite_name() + "." + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  [[nodiscard]] std::filesystem::path file(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_;
};

inline std::filesystem::path data(const std::string& name) { return std::filesystem::path(SLIMPACK_TEST_DATA) / name; }

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The message of an error behind the name of the file, which it must begin with. One line.
template <class Result>
std::string complaint(const Result& r, const std::filesystem::path& file, slimpack::errc code) {
  if (r.has_value()) return "no error";
  EXPECT_EQ(r.error().code, code);
  EXPECT_EQ(r.error().detail.find(file.string() + ": "), 0u) << r.error().detail;
  EXPECT_EQ(r.error().detail.find('\n'), std::string::npos) << r.error().detail;
  return r.error().detail.substr(std::min(r.error().detail.size(), file.string().size() + 2));
}

#endif
