#ifndef SLIMPACK_EXAMPLES_PLAN_OUTPUT_NAMES_HPP
#define SLIMPACK_EXAMPLES_PLAN_OUTPUT_NAMES_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>

#include <cstddef>
#include <filesystem>

namespace cli {

/// "plan.json" for the only batch, "plan-0.json", "plan-1.json" ... for several.
std::filesystem::path numbered(const std::filesystem::path& path, std::size_t batch, std::size_t batches);

/// Whether an output goes to standard output, so that what is printed goes to standard error.
bool writes_to_standard_output(const options& o);

/// Whether every output can be written, and none is an input or written twice. Said before planning, which may take
/// long.
slimpack::result<void> check_outputs(const options& o);

}  // namespace cli

#endif
