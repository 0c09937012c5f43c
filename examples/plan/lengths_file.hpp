#ifndef SLIMPACK_EXAMPLES_PLAN_LENGTHS_FILE_HPP
#define SLIMPACK_EXAMPLES_PLAN_LENGTHS_FILE_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>

namespace cli {

/// The lengths in the file of --lengths, decompressed where gzip compressed it.
slimpack::result<slimpack::io::lengths_list> lengths_of(const options& o);

}  // namespace cli

#endif
