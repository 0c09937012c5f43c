#ifndef SLIMPACK_EXAMPLES_PLAN_LENGTHS_FILE_HPP
#define SLIMPACK_EXAMPLES_PLAN_LENGTHS_FILE_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <vector>

namespace cli {

/// The lengths in the file of --lengths, decompressed where gzip compressed it.
slimpack::result<std::vector<slimpack::tokens>> lengths_of(const options& o);

}  // namespace cli

#endif
