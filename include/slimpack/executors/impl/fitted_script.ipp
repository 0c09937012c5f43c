#ifndef SLIMPACK_EXECUTORS_IMPL_FITTED_SCRIPT_IPP
#define SLIMPACK_EXECUTORS_IMPL_FITTED_SCRIPT_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/executors/detail/script/fitted_script.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace slimpack::detail {

/// The vocabulary is where the compute has it.
[[nodiscard]] inline result<void> fits_vocabulary(const plan& p, const stage_abilities& has) {
  const auto [partial, statistics] = std::pair(has.vocabulary.partial.width, has.vocabulary.statistics.width);
  if (p.shape.vocabulary == vocabulary::last) {
    if (partial == 0) return success();
    return error{errc::invalid_input,
                 "the plan has the vocabulary in one place, the compute has it spread over the stages "
                 "(vocabulary_rows): plan with shape.vocabulary = vocabulary::spread"};
  }
  if (!has.spreads_vocabulary)
    return error{errc::invalid_input,
                 "the plan spreads the vocabulary over the stages, the compute does not offer vocabulary_rows "
                 "and the calls that go with it (executors/hooks.hpp): plan with shape.vocabulary = vocabulary::last"};
  if (partial > 0 && statistics > 0) return success();
  return error{errc::invalid_input,
               "the plan spreads the vocabulary over the stages, the compute has it in one place: its "
               "vocabulary_rows have " +
                   std::to_string(partial) + " partial elements a token, and " + std::to_string(statistics) +
                   " of statistics: plan with shape.vocabulary = vocabulary::last"};
}

/// The shape is one, of which the compute has the chunks.
[[nodiscard]] inline result<void> fits_shape(const plan& p, const stage_abilities& has) {
  if (result<void> is_one = sound_shape(p.shape); !is_one) return is_one;
  if (has.chunks.value_or(1) == p.shape.chunks) return success();
  return error{errc::invalid_input,
               "the plan has " + std::to_string(p.shape.chunks) + " chunks a stage, the compute " +
                   (has.chunks ? std::to_string(*has.chunks) : std::string("says nothing of chunks: it has 1"))};
}

/// Sequences go on where others end only if the compute can do so.
[[nodiscard]] inline result<void> fits_paths(const plan& p, const stage_abilities& has) {
  const auto child = std::find_if(p.parents.begin(), p.parents.end(), [](sequence_id s) { return s != no_parent; });
  if (child == p.parents.end() || has.shares_prefixes) return success();
  return error{errc::invalid_input, "samples of the plan share prefixes (sequence " +
                                        std::to_string(child - p.parents.begin()) + " goes on where sequence " +
                                        std::to_string(child->value) +
                                        " ends), the compute does not say shares_prefixes = true: plan it flat, each "
                                        "sample as a sequence of its own"};
}

/// The plan is for the ranks of the transport, and says what this one runs.
[[nodiscard]] inline result<void> fits_ranks(const plan& p, const rank_plan* part, const stage_abilities& has) {
  const std::int64_t ranks = std::int64_t{p.shape.stages} * p.shape.replicas;
  if (has.ranks != ranks || has.rank < 0 || has.rank >= ranks)
    return error{errc::invalid_input, "the plan is for " + std::to_string(ranks) + " ranks (" +
                                          std::to_string(p.shape.replicas) + " replicas of " +
                                          std::to_string(p.shape.stages) + " stages), this is one of " +
                                          std::to_string(has.ranks)};
  const auto replica = static_cast<std::uint32_t>(has.rank / p.shape.stages);
  if (part && !std::binary_search(part->group.begin(), part->group.end(), replica))
    return error{errc::invalid_input,
                 "the plan is a part that leaves out replica " + std::to_string(replica) + ", which this rank is of"};
  return success();
}

SLIMPACK_DECL result<stage_script> fitted_script(const plan& p, const rank_plan* part, const stage_abilities& has,
                                                 bool forward_only) {
  if (result<void> fits = fits_shape(p, has); !fits) return std::move(fits).error();
  if (result<void> fits = fits_vocabulary(p, has); !fits) return std::move(fits).error();
  if (result<void> fits = fits_ranks(p, part, has); !fits) return std::move(fits).error();
  if (result<void> fits = fits_paths(p, has); !fits) return std::move(fits).error();
  if (has.format.width < 1)
    return error{errc::invalid_input,
                 "the message format has " + std::to_string(has.format.width) + " elements per token"};
  result<stage_script> script = stage_script::of(p, has.rank, has.cuts, has.shares, part != nullptr, forward_only);
  if (script && script.value().backward.apart.count() > 0 && !has.splits_weight_gradients)
    return error{errc::invalid_input,
                 "the plan runs weight gradients apart from input gradients (W instructions), the compute "
                 "does not say splits_weight_gradients = true: plan with planner_for<its type> (planner_for.hpp)"};
  return script;
}

}  // namespace slimpack::detail

#endif
