#ifndef SLIMPACK_EXAMPLES_TRAIN_INPUTS_HPP
#define SLIMPACK_EXAMPLES_TRAIN_INPUTS_HPP

#include "account.hpp"
#include "corpus.hpp"
#include "options.hpp"
#include "sample_tree.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/profiling/stage_profile.hpp>

#include <optional>
#include <vector>

namespace train {

/// What a rank has read from files.
struct inputs {
  corpus texts;
  std::optional<sample_tree> samples{};                         ///< that share beginnings, and the texts are put into
  std::optional<corpus> held_out{};                             ///< what the trained model is evaluated on
  std::optional<slimpack::profiling::stage_profile> profile{};  ///< what was measured before
};

/// Reads the files that the options name.
/// Errors    unreadable; invalid_input: what a file holds, or fewer documents than a batch
[[nodiscard]] slimpack::result<inputs> read_inputs(const options& o);

/// What all ranks must have read alike, wherever each has its files.
[[nodiscard]] std::vector<fact> facts_of(const inputs& in);

}  // namespace train

#endif
