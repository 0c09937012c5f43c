#ifndef SLIMPACK_EXECUTORS_DETAIL_SCRIPT_FITTED_SCRIPT_HPP
#define SLIMPACK_EXECUTORS_DETAIL_SCRIPT_FITTED_SCRIPT_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/solvers/exchange_set.hpp>

#include <optional>

namespace slimpack::detail {

/// What a compute and its transport say of themselves: what a plan must fit.
struct stage_abilities {
  int rank{};  // of the transport
  int ranks{};
  std::optional<int> chunks;  // if the compute says so
  message_format format;
  vocabulary_format vocabulary;
  bool spreads_vocabulary{};  // it offers the calls for that
  bool splits_weight_gradients{};
  backward_cuts cuts{};
  exchange_set shares;  // by which it can run sequences that replicas share
  bool joins_rows{};
  bool shares_prefixes{};  // it can run samples that share beginnings
  bool issues_in_order{};  // the transport moves memory of a device, or wants all transfers at their place in the
                           // plan's order
  std::optional<bool> waits_in_calls{};  // if the compute says so
};

/// The script of a rank, if its compute and its transport can run the plan.
/// part: that the plan is, or null; forward_only: whether a step runs no backward of the plan
/// Errors    invalid_input: a plan that does not fit, with what to plan instead; those of stage_script::of
[[nodiscard]] result<stage_script> fitted_script(const plan& p, const rank_plan* part, const stage_abilities& has,
                                                 bool forward_only);

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/fitted_script.ipp>
#endif

#endif
