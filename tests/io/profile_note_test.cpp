#include <slimpack/io/profile_note.hpp>

#include <gtest/gtest.h>

namespace slimpack::profile_note_test {
namespace {

using io::profile_note;

TEST(ProfileNote, IsOfAGpuAndAFinding) {
  const profile_note falls{"H100", "times.csv, line 3: less time for more tokens"};
  EXPECT_EQ(falls, (profile_note{"H100", "times.csv, line 3: less time for more tokens"}));
  EXPECT_NE(falls, (profile_note{"A100", falls.text}));
  EXPECT_NE(falls, (profile_note{"H100", "times.csv, line 4: less time for more tokens"}));
}

TEST(ProfileNote, OfASkippedFileNamesNoGpu) { EXPECT_TRUE((profile_note{.text = "notes.csv: no table"}.gpu.empty())); }

}  // namespace
}  // namespace slimpack::profile_note_test
