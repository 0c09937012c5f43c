#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_SOLUTION_CHECK_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_SOLUTION_CHECK_IPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/solvers/assembly/detail/solution_check.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace slimpack::detail {

[[nodiscard]] inline error wrong_answer(const std::string& what) {
  return {errc::invalid_input, "the solver's answer is wrong: " + what};
}

[[nodiscard]] inline result<void> solution_check(const solution& solved, std::span<const tokens> lengths,
                                                 const shape& on, std::span<const pass> passes, extent which) {
  packs_of_all all{lengths, &on, passes, solved.merges, {}};
  for (const replica_solution& r : solved.replicas) all.replicas.push_back({r.sequences, &r.partition});
  if (result<void> sound = packs_law(all)(which); !sound) return wrong_answer(sound.error().detail);
  if (result<void> sound = sound_ties(solved.replicas, on); !sound) return wrong_answer(sound.error().detail);
  for (const replica_solution& r : solved.replicas)
    if (ties_stages(r) && !solved.merges.empty())
      return wrong_answer("sequence " + std::to_string(tied_sequence(r).value) + " is one for which stages " +
                          what_ties + ", and replicas share a sequence, which has no price together: plan with " +
                          without_ties + ", or share none");
  return success();
}

SLIMPACK_DECL result<void> solution_check(const solution& solved, std::span<const tokens> lengths, const shape& on,
                                          std::span<const pass> passes) {
  return solution_check(solved, lengths, on, passes, extent::all);
}

SLIMPACK_DECL result<void> solution_check(const group_solution& group, std::span<const tokens> lengths,
                                          const shape& on) {
  if (group.replicas.empty() || !is_ascending(group.replicas) ||
      group.replicas.back() >= static_cast<std::uint32_t>(on.replicas))
    return wrong_answer("a group has replicas that there are, in ascending order");
  if (result<void> sound = solution_check(group.solved, lengths, on, both_passes, extent::listed); !sound) return sound;
  std::vector<std::uint8_t> is_of_group(lengths.size()), is_listed(lengths.size());
  for (const sequence_id id : group.sequences) {
    if (id.value >= lengths.size())
      return wrong_answer("sequence " + std::to_string(id.value) + " is planned, the batch has " +
                          std::to_string(lengths.size()));
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
