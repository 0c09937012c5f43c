#include <slimpack/version.hpp>

#include <gtest/gtest.h>

#include <string>

namespace slimpack::version_test {
namespace {

// CMake reads the numbers out of the header's text; a compiler must read the same.
TEST(Version, IsWhatCMakeRead) {
  const auto number = [](int n) { return std::to_string(n); };
  EXPECT_EQ(
      number(SLIMPACK_VERSION_MAJOR) + "." + number(SLIMPACK_VERSION_MINOR) + "." + number(SLIMPACK_VERSION_PATCH),
      SLIMPACK_TEST_VERSION);
}

}  // namespace
}  // namespace slimpack::version_test
