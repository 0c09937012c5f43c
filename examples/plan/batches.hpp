#ifndef SLIMPACK_EXAMPLES_PLAN_BATCHES_HPP
#define SLIMPACK_EXAMPLES_PLAN_BATCHES_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <string>
#include <vector>

namespace cli {

/// The batches to plan, and what was done to the list on the way, a line each.
struct batches {
  std::vector<std::vector<slimpack::tokens>> lengths;
  std::vector<std::string> notes;
};

/// Reads the list, applies --over-long, shuffles with --seed, and takes --batches batches of --batch sequences.
slimpack::result<batches> load(const options& o);

}  // namespace cli

#endif
