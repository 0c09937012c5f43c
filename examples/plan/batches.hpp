#ifndef SLIMPACK_EXAMPLES_PLAN_BATCHES_HPP
#define SLIMPACK_EXAMPLES_PLAN_BATCHES_HPP

#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/units.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// The batches to plan, and what was done to the list on the way, a line each.
struct batches {
  std::vector<std::vector<slimpack::tokens>> lengths;
  std::vector<std::optional<slimpack::plan_data>> data;  ///< of each batch; none where the plan file of --from says
                                                         ///< none
  std::vector<std::string> notes;
  std::vector<slimpack::tokens> padding{};  ///< of each batch, as its lengths include it: 0 where nothing is padded
};

/// More sequences than steps of training usually have; where --batch is not given, such a list is rather a data set.
constexpr std::size_t many_sequences = 2048;

/// Reads the list, applies --over-long and --pad-to, shuffles with --seed, and takes --batches batches of --batch
/// sequences.
slimpack::result<batches> load(const options& o);

}  // namespace cli

#endif
