#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_BATCH_CHECK_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_BATCH_CHECK_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/solvers/assembly/detail/batch_check.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace slimpack::detail {

SLIMPACK_DECL result<void> batch_check(const shape& on, const batch_view& batch, const planner_abilities& has) {
  constexpr std::int64_t most = 65536;
  for (const auto& [name, degree] : {std::pair{"stages", std::int64_t{on.stages}},
                                     {"replicas", on.replicas},
                                     {"tensor", on.tensor},
                                     {"context", on.context},
                                     {"chunks", on.chunks},
                                     {"expert", on.expert},
                                     {"stages * chunks", std::int64_t{on.stages} * on.chunks},
                                     {"replicas * context", std::int64_t{on.replicas} * on.context}})
    if (degree < 1 || degree > most)
      return error{errc::invalid_input, std::string("shape.") + name + " is " + std::to_string(degree) +
                                            ", it must be from 1 to " + std::to_string(most)};
  if (on.stage_ranks() % on.expert != 0)
    return error{errc::invalid_input, "shape.expert is " + std::to_string(on.expert) + ", it must divide the " +
                                          std::to_string(on.stage_ranks()) + " ranks of a stage"};
  if (on.quantum < tokens{1} || on.quantum > longest_supported)
    return error{errc::invalid_input, "shape.quantum is " + std::to_string(on.quantum.value) +
                                          " tokens, it must be from 1 to " + std::to_string(longest_supported.value)};
  if (on.memory && !(on.memory->amount >= 0))
    return error{errc::invalid_input,
                 "shape.memory is " + std::to_string(on.memory->amount) + ", it must be at least 0"};
  if (on.vocabulary == vocabulary::spread && on.stages < 2)
    return error{errc::invalid_input,
                 "shape.vocabulary is spread, but there is one stage to spread it over: use at least 2 stages, or "
                 "vocabulary::last"};
  if (on.vocabulary == vocabulary::spread && !has.spreads_vocabulary)
    return error{errc::invalid_input,
                 "shape.vocabulary is spread, but the cost model has no vocabulary_time (costs/hooks.hpp): "
                 "use costs::transformer, profiled_of or with_vocabulary"};
  if (on.vocabulary == vocabulary::spread && !has.takes_any_cost)
    return error{errc::invalid_input,
                 "shape.vocabulary is spread, but the solver is for one cost model alone: its solve must take any, "
                 "since a search asks for a stage more than the model has"};
  if (has.parts && *has.parts != on.parts())
    return error{errc::invalid_input, "the cost model prices " + std::to_string(*has.parts) + " parts, the shape has " +
                                          std::to_string(on.parts())};
  if (batch.empty()) return error{errc::invalid_input, "the batch is empty: give at least one length"};
  if (const std::optional<std::string> fault = batch.fault()) return error{errc::invalid_input, *fault};
  if (batch.shares_prefixes() && !has.plans_prefixes)
    return error{
        errc::invalid_input,
        "samples share prefixes, and the solver does not say plans_prefixes = true (solvers/hooks.hpp), or the "
        "compute that planner_for plans for does not say shares_prefixes = true: use solvers::two_phase and "
        "such a compute, or plan them flat, each sample as a sequence of its own"};
  return success();
}

}  // namespace slimpack::detail

#endif
