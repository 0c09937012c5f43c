#include <slimpack/io/file.hpp>

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>

namespace file_test {
namespace {

using slimpack::errc;
using slimpack::io::write_file;
namespace fs = std::filesystem;

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

const auto greeting = [](std::ostream& out) { out << "hello"; };

TEST(WriteFile, WritesTheContentAndLeavesNothingBesideIt) {
  const scratch s;
  ASSERT_TRUE(write_file(s.folder() / "a.txt", greeting));
  EXPECT_EQ(content_of(s.folder() / "a.txt"), "hello");
  EXPECT_EQ(files_in(s.folder()), 1);
}

TEST(WriteFile, ReplacesWhatWasThere) {
  const scratch s;
  const auto file = s.file("a.txt", "a longer text than before");
  ASSERT_TRUE(write_file(file, greeting));
  EXPECT_EQ(content_of(file), "hello");
}

TEST(WriteFile, KeepsTheOldFileWhenTheStreamFails) {
  const scratch s;
  const auto file = s.file("a.txt", "before");
  const auto written = write_file(file, [](std::ostream& out) { (out << "half").setstate(std::ios::badbit); });
  ASSERT_FALSE(written);
  EXPECT_EQ(complaint(written, file, errc::unwritable).substr(0, 17), "cannot be written");
  EXPECT_EQ(content_of(file), "before");
  EXPECT_EQ(files_in(s.folder()), 1);
}

TEST(WriteFile, PassesOnTheErrorOfTheWriterAndRemovesTheTemporary) {
  const scratch s;
  const auto written = write_file(s.folder() / "a.txt", [](std::ostream& out) -> slimpack::result<void> {
    out << "half";
    return slimpack::error{errc::cyclic_schedule, "nothing to show"};
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, errc::cyclic_schedule);
  EXPECT_EQ(files_in(s.folder()), 0);
}

TEST(WriteFile, LetsExceptionsPassAndRemovesTheTemporary) {
  const scratch s;
  const auto throws = [](std::ostream& out) {
    out << "half";
    throw std::domain_error("not today");
  };
  EXPECT_THROW(static_cast<void>(write_file(s.folder() / "a.txt", throws)), std::domain_error);
  EXPECT_EQ(files_in(s.folder()), 0);
}

TEST(WriteFile, RefusesAFolderThatIsNotThere) {
  const scratch s;
  const auto file = s.folder() / "missing" / "a.txt";
  const auto written = write_file(file, greeting);
  ASSERT_FALSE(written);
  EXPECT_EQ(complaint(written, file, errc::unwritable), "cannot be written: No such file or directory");
}

TEST(WriteFile, RefusesAFolderInPlaceOfAFile) {
  const scratch s;
  const auto written = write_file(s.folder(), greeting);
  ASSERT_FALSE(written);
  EXPECT_EQ(complaint(written, s.folder(), errc::unwritable), "cannot be written: is a folder");
}

TEST(WriteFile, FollowsASymbolicLink) {
  const scratch s;
  const auto file = s.file("a.txt", "before");
  fs::create_symlink("a.txt", s.folder() / "link");
  ASSERT_TRUE(write_file(s.folder() / "link", greeting));
  EXPECT_TRUE(fs::is_symlink(s.folder() / "link"));
  EXPECT_EQ(content_of(file), "hello");
}

// Renaming over a link that leads nowhere replaced the link.
TEST(WriteFile, FollowsLinksToWhereNoFileIsYet) {
  const scratch s;
  fs::create_directory(s.folder() / "inner");
  fs::create_symlink("inner/made.txt", s.folder() / "near");
  fs::create_symlink("near", s.folder() / "far");
  ASSERT_TRUE(write_file(s.folder() / "far", greeting));
  EXPECT_TRUE(fs::is_symlink(s.folder() / "far"));
  EXPECT_TRUE(fs::is_symlink(s.folder() / "near"));
  EXPECT_TRUE(fs::is_regular_file(s.folder() / "inner" / "made.txt"));
}

TEST(WriteFile, RefusesLinksThatLeadInACircle) {
  const scratch s;
  fs::create_symlink("b", s.folder() / "a");
  fs::create_symlink("a", s.folder() / "b");
  const slimpack::result<void> done = write_file(s.folder() / "a", greeting);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::unwritable);
  EXPECT_TRUE(fs::is_symlink(s.folder() / "a"));
}

TEST(WriteFile, ReportsAFullDiskAndKeepsDevicesInPlace) {
  const fs::path full = "/dev/full";  // a device on which every write fails
  if (!fs::exists(full)) GTEST_SKIP() << "no " << full;
  const auto written = write_file(full, greeting);
  ASSERT_FALSE(written);
  EXPECT_EQ(complaint(written, full, errc::unwritable), "cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_character_file(full));
}

}  // namespace
}  // namespace file_test
