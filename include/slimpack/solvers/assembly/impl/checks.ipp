#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_CHECKS_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_CHECKS_IPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/solvers/assembly/detail/checks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
  if (const char* const fault = on.words.empty() ? nullptr : fault_of(on))
    return error{errc::invalid_input, std::string("the shape has ") + fault +
                                          "; give shape.words a count of at least 1 for each stage, or none for even "
                                          "shares"};
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
  if (const std::optional<std::string> fault = batch.disorder()) return error{errc::invalid_input, *fault};
  if (batch.shares_prefixes() && !has.plans_prefixes)
    return error{
        errc::invalid_input,
        "samples share prefixes, and the solver does not say plans_prefixes = true (solvers/hooks.hpp), or the "
        "compute that planner_for plans for does not say shares_prefixes = true: use solvers::two_phase and "
        "such a compute, or plan them flat, each sample as a sequence of its own"};
  return success();
}

[[nodiscard]] inline error wrong_answer(const std::string& what) {
  return {errc::invalid_input, "the solver's answer is wrong: " + what};
}

[[nodiscard]] inline result<void> solution_check(const solution& solved, const batch_view& batch, const shape& on,
                                                 std::span<const pass> passes, extent which) {
  packs_of_all all{batch, &on, passes, solved.merges, {}};
  for (const replica_solution& r : solved.replicas) all.replicas.push_back({r.sequences, &r.partition});
  if (result<void> sound = packs_law(all)(which); !sound) return wrong_answer(sound.error().detail);
  if (result<void> sound = sound_ties(solved.replicas, batch, on); !sound) return wrong_answer(sound.error().detail);
  for (const replica_solution& r : solved.replicas)
    if (ties_stages(r) && !solved.merges.empty())
      return wrong_answer("sequence " + std::to_string(tied_sequence(r).value) + " is one for which stages " +
                          what_ties + ", and replicas share a sequence, which has no price together: plan with " +
                          without_ties + ", or share none");
  return success();
}

SLIMPACK_DECL result<void> solution_check(const solution& solved, const batch_view& batch, const shape& on,
                                          std::span<const pass> passes) {
  return solution_check(solved, batch, on, passes, extent::all);
}

SLIMPACK_DECL result<void> solution_check(const group_solution& group, const batch_view& batch, const shape& on) {
  if (group.replicas.empty() || !is_ascending(group.replicas) ||
      group.replicas.back() >= static_cast<std::uint32_t>(on.replicas))
    return wrong_answer("a group has replicas that there are, in ascending order");
  if (result<void> sound = solution_check(group.solved, batch, on, both_passes, extent::listed); !sound) return sound;
  std::vector<std::uint8_t> is_of_group(batch.size()), is_listed(batch.size());
  for (const sequence_id id : group.sequences) {
    if (id.value >= batch.size())
      return wrong_answer("sequence " + std::to_string(id.value) + " is planned, the batch has " +
                          std::to_string(batch.size()));
    is_of_group[id.value] = 1;
  }
  for (std::uint32_t r = 0; r < group.solved.replicas.size(); ++r) {
    const bool runs = std::binary_search(group.replicas.begin(), group.replicas.end(), r);
    for (const sequence_id id : group.solved.replicas[r].sequences) {
      is_listed[id.value] = 1;
      if (!runs || is_of_group[id.value] == 0)
        return wrong_answer("sequence " + std::to_string(id.value) + " is on replica " + std::to_string(r) +
                            (runs ? ", whose group does not run it" : ", which is not of the group"));
    }
  }
  for (const sequence_id id : group.sequences)
    if (is_listed[id.value] == 0)
      return wrong_answer("sequence " + std::to_string(id.value) + " is on no replica of its group");
  return success();
}

}  // namespace slimpack::detail

#endif
