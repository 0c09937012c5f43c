#ifndef SLIMPACK_IO_PROFILE_NOTE_HPP
#define SLIMPACK_IO_PROFILE_NOTE_HPP

#include <string>

namespace slimpack::io {

/// What a reader of measurements saw and went on from.
struct profile_note {
  std::string gpu{};   ///< whose measurements; empty: a file that was skipped
  std::string text{};  ///< one line: file, line, what
  friend bool operator==(const profile_note&, const profile_note&) = default;
};

}  // namespace slimpack::io

#endif
