#ifndef SLIMPACK_EXAMPLES_PLAN_PLAN_FILE_HPP
#define SLIMPACK_EXAMPLES_PLAN_PLAN_FILE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>

#include <filesystem>

namespace cli {

/// Reads a plan file (io::read_plan), and asks besides whether its step time, its bound and its efficiency follow from
/// each other: a file that somebody changed may have a hash that fits.
/// Errors    those of io::read_plan; invalid_input: figures that disagree
slimpack::result<slimpack::plan> read_plan_file(const std::filesystem::path& file);

}  // namespace cli

#endif
