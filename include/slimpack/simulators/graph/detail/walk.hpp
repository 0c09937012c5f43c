#ifndef SLIMPACK_SIMULATORS_GRAPH_DETAIL_WALK_HPP
#define SLIMPACK_SIMULATORS_GRAPH_DETAIL_WALK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// An instruction in its turn: where it runs, and whom it hears from and tells.
struct step_of_walk {
  slimpack::instruction instruction;
  std::uint32_t stage{};
  std::size_t cell{};     ///< pack * parts + part: its place in the workload's times
  bool has_input{};       ///< a message from the part before it comes first
  std::size_t feeds{};    ///< the cell that its message goes to; its own where it sends none
  bool is_followed{};     ///< by another on its stage

  [[nodiscard]] bool has_output() const noexcept { return feeds != cell; }
};

/// Checks programs (one per stage) over the packs of `work` and visits their instructions in a topological order: each
/// stage runs on until it waits for a message, then those that wait for what it has sent.
/// visit(const step_of_walk&)
/// Errors    invalid_input: a pack is missing, repeated or out of run order on a stage, or weight gradients come
///           before their backward
///           cyclic_schedule: the programs wait for each other; the detail names the instructions that are stuck
/// Complexity O(instructions)
template <class Visit>
result<void> walk(const workload& work, std::span<const program> programs, Visit&& visit) {
  const auto stages = static_cast<std::uint32_t>(work.shape.stages);
  const auto parts = static_cast<std::uint32_t>(work.shape.parts());
  const std::size_t packs[2] = {work.forward.size(), work.backward.size()};
  if (programs.size() != stages)
    return error{errc::invalid_input, std::to_string(programs.size()) + " programs for " + std::to_string(stages) + " stages"};
  const std::size_t of_stage = (packs[0] + packs[1] + work.weight.count()) * static_cast<std::size_t>(work.shape.chunks);
  for (std::size_t r = 0; r < stages; ++r)
    if (programs[r].size() != of_stage)
      return error{errc::invalid_input, "stage " + std::to_string(r) + " runs " + std::to_string(programs[r].size()) +
                                            " instructions, its packs need " + std::to_string(of_stage)};

  std::vector<std::uint32_t> next(stages, 0);  // position in its program
  // Per part: packs run, by pass, and the pack whose weight gradients are next.
  std::vector<std::uint32_t> done[2] = {std::vector<std::uint32_t>(parts, 0), std::vector<std::uint32_t>(parts, 0)};
  std::vector<std::uint32_t> weights(parts, static_cast<std::uint32_t>(work.weight.next(0)));
  std::vector<std::uint32_t> ready;
  for (std::uint32_t r = stages; r-- > 0;) ready.push_back(r);
  while (!ready.empty()) {
    const std::uint32_t stage = ready.back();
    ready.pop_back();
    const program& code = programs[stage];
    for (std::uint32_t& at = next[stage]; at < code.size(); ++at) {
      const instruction& i = code[at];
      const int p = i.pass == pass::forward ? 0 : 1;
      const std::uint32_t part = i.chunk * stages + stage;
      const std::size_t cell = std::size_t{i.pack.value} * parts + part;
      step_of_walk step{i, stage, cell, false, cell, at + 1 < code.size()};
      if (i.weights_only) {
        if (p == 0 || part >= parts || i.pack.value != weights[part] || i.pack.value >= done[1][part] ||
            !work.weight.splits(i.pack.value))
          return error{errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) +
                                                ": weight gradients must run once, in order, after their backward"};
        weights[part] = static_cast<std::uint32_t>(work.weight.next(weights[part] + 1));
        visit(step);
        continue;
      }
      if (part >= parts || i.pack.value != done[p][part] || i.pack.value >= packs[p])
        return error{errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) +
                                              ": packs must run once and in order"};
      const bool first = p == 0 ? part == 0 : part == parts - 1;
      const bool last = p == 0 ? part == parts - 1 : part == 0;
      if (first && p == 1 && done[0][part] <= work.turn[i.pack.value]) break;  // waits for its own stage: never
      if (!first && done[p][p == 0 ? part - 1 : part + 1] <= i.pack.value) break;
      const std::uint32_t to = p == 0 ? part + 1 : part - 1;
      step.has_input = !first;
      if (!last) step.feeds = cell - part + to;
      visit(step);
      ++done[p][part];
      if (last) continue;
      const std::uint32_t receiver = to % stages;
      // The receiver resumes only if this is the very message it waits for.
      if (next[receiver] < programs[receiver].size() && receiver != stage &&
          programs[receiver][next[receiver]] == instruction{i.pass, i.pack, to / stages})
        ready.push_back(receiver);
    }
  }
  for (std::size_t r = 0; r < stages; ++r) {
    if (next[r] == programs[r].size()) continue;
    std::string detail = "the programs wait for each other; stuck:";
    for (; r < stages; ++r)
      if (next[r] < programs[r].size())
        detail += " stage " + std::to_string(r) + " at " + name_of(programs[r][next[r]], work.shape.chunks) + ",";
    detail.back() = '.';
    return error{errc::cyclic_schedule, detail};
  }
  return success();
}

}  // namespace slimpack::detail

#endif
