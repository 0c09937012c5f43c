#ifndef SLIMPACK_EXAMPLES_PLAN_LENGTHS_FILE_HPP
#define SLIMPACK_EXAMPLES_PLAN_LENGTHS_FILE_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/io/forests/token_lines.hpp>
#include <slimpack/io/forests/tree_lines.hpp>
#include <slimpack/io/lengths/lengths_list.hpp>

namespace cli {

/// The lengths in the file of --lengths, decompressed where gzip compressed it.
slimpack::result<slimpack::io::lengths_list> lengths_of(const options& o);

/// The samples in it, with their token ids.
slimpack::result<slimpack::io::token_list> samples_of(const options& o);

/// The forest in it, a node a line.
slimpack::result<slimpack::io::forest_list> tree_of(const options& o);

}  // namespace cli

#endif
