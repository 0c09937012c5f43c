#ifndef SLIMPACK_EXAMPLES_TRAIN_KNOWN_PROFILE_HPP
#define SLIMPACK_EXAMPLES_TRAIN_KNOWN_PROFILE_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/io/stage_profile.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace train {

/// Whether there is a profile to read: else what is measured is written there.
[[nodiscard]] inline bool has_profile(const options& o) {
  std::error_code failed;
  return o.profile && std::filesystem::exists(*o.profile, failed);
}

/// What was measured before.
/// Requires  has_profile
/// Errors    unreadable; invalid_input: it is no profile, or one of other parts
[[nodiscard]] inline slimpack::result<slimpack::profiling::stage_profile> known_profile(const options& o) {
  using slimpack::errc;
  using slimpack::error;
  const std::string file = o.profile->string();
  slimpack::result<slimpack::profiling::stage_profile> read = slimpack::io::read_stage_profile(*o.profile);
  if (!read && read.error().code != errc::invalid_input) return read;
  const std::string anew = "; remove it to measure anew";
  if (!read) {
    const std::string& why = read.error().detail;
    return error{errc::invalid_input, file + ": is no profile of slimpack-train (" + (why.starts_with(file + ": ") ? why.substr(file.size() + 2) : why) + ")" + anew};
  }
  const std::size_t parts = read.value().forward.size();
  if (parts == static_cast<std::size_t>(o.shape.parts())) return read;
  return error{errc::invalid_input, file + ": is of " + std::to_string(parts) + " parts, --pp x --vpp are " + std::to_string(o.shape.parts()) +
                                        "; give the profile of these, or" + anew.substr(1)};
}

}  // namespace train

#endif
