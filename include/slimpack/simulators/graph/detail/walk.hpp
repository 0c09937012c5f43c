#ifndef SLIMPACK_SIMULATORS_GRAPH_DETAIL_WALK_HPP
#define SLIMPACK_SIMULATORS_GRAPH_DETAIL_WALK_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// An instruction in its turn: where it runs. Who hears from it and whom it hears say the wires of its place.
struct step_of_walk {
  slimpack::instruction instruction;
  std::uint32_t stage{};
  pack_place place{};
  bool is_followed{};  ///< by another on its stage
};

/// Instructions of a stage, all packs taken together.
[[nodiscard]] inline std::size_t instructions_of_stage(const workload& work) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < instruction_kinds.size(); ++k) {
    const auto kind = static_cast<instruction_kind>(k);
    const std::size_t packs =
        kind == instruction_kind::weights ? work.times.apart.count() : work.times.packs(facts_of(kind).pass);
    if (has(work.shape, kind))
      count += packs * (facts_of(kind).each == places::parts ? static_cast<std::size_t>(work.shape.chunks) : 1);
  }
  return count;
}

/// Where a walk over programs is.
class walker {
 public:
  /// wires: of the workload's shape            Requires  all outlive it
  walker(const wiring& wires, const workload& work, std::span<const program> programs)
      : wires_(wires),
        work_(work),
        on_(work.shape),
        programs_(programs),
        next_(static_cast<std::size_t>(on_.stages)),
        packs_(wires.size()) {
    for (std::uint32_t part = 0; part < wires.places(instruction_kind::weights); ++part)
      next_at({instruction_kind::weights, part}) = static_cast<std::uint32_t>(work.times.apart.next(0));
  }

  /// Programs of as many stages, and of as many instructions, as there are.
  [[nodiscard]] result<void> check_sizes() const {
    if (programs_.size() != next_.size())
      return error{errc::invalid_input,
                   std::to_string(programs_.size()) + " programs for " + std::to_string(next_.size()) + " stages"};
    const std::size_t of_stage = instructions_of_stage(work_);
    for (std::size_t r = 0; r < programs_.size(); ++r)
      if (programs_[r].size() != of_stage)
        return error{errc::invalid_input, "stage " + std::to_string(r) + " runs " +
                                              std::to_string(programs_[r].size()) + " instructions, its packs need " +
                                              std::to_string(of_stage)};
    return success();
  }

  /// Runs a stage on until it waits for a message or ends. Stages that may go on then are added to `ready`.
  template <class Visit>
  [[nodiscard]] result<void> run(std::uint32_t stage, std::vector<std::uint32_t>& ready, Visit& visit) {
    const program& code = programs_[stage];
    for (std::uint32_t& at = next_[stage]; at < code.size(); ++at) {
      const instruction& i = code[at];
      const pack_place place = place_of(i, stage, on_);
      const step_of_walk step{i, stage, place, at + 1 < code.size()};
      if (i.is_weights()) {
        if (!runs_weights(i, place))
          return wrong(stage, at, "weight gradients must run once, in order, after their backward");
        visit(step);
        continue;
      }
      if (!has(on_, i) || i.pack.value != next_at(place) || i.pack.value >= work_.times.packs(i.pass()))
        return wrong(stage, at, "packs must run once and in order");
      if (waits(i, place)) break;
      visit(step);
      ++next_at(place);
      for (const wire& w : wires_.after(place)) {
        // The receiver resumes only if this is the very message it waits for.
        if (next_[w.receiver] < programs_[w.receiver].size() && w.receiver != stage &&
            programs_[w.receiver][next_[w.receiver]] == instruction_at(w.to, i.pack, on_))
          ready.push_back(w.receiver);
      }
    }
    return success();
  }

  /// That all stages have ended.
  [[nodiscard]] result<void> check_ends() const {
    std::string stuck;
    for (std::size_t r = 0; r < next_.size(); ++r)
      if (next_[r] < programs_[r].size())
        stuck += " stage " + std::to_string(r) + " at " + name_of(programs_[r][next_[r]], on_.chunks) + ",";
    if (stuck.empty()) return success();
    stuck.back() = '.';
    return error{errc::cyclic_schedule, "the programs wait for each other; stuck:" + stuck};
  }

 private:
  [[nodiscard]] std::uint32_t& next_at(pack_place p) { return packs_[wires_.number_of(p)]; }
  /// Counts the weight gradients of a pack, if it is their turn.
  [[nodiscard]] bool runs_weights(const instruction& i, pack_place place) {
    if (!has(on_, i) || i.pack.value != next_at(place) || waits(i, place) || !work_.times.apart.splits(i.pack.value))
      return false;
    next_at(place) = static_cast<std::uint32_t>(work_.times.apart.next(next_at(place) + 1));
    return true;
  }
  [[nodiscard]] bool waits(const instruction& i, pack_place place) {
    for (const wire& w : wires_.before(place))
      if (next_at(w.from) <= i.pack.value) return true;
    // What runs on its own stage has run, or never does.
    const std::optional<pack_place>& own = wires_.awaited_by(place);
    return own && next_at(*own) <= (facts_of(own->kind).pass == i.pass() ? i.pack.value : work_.turn[i.pack.value]);
  }
  [[nodiscard]] static error wrong(std::uint32_t stage, std::uint32_t at, const std::string& why) {
    return {errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) + ": " + why};
  }

  const wiring& wires_;
  const workload& work_;
  const shape& on_;
  std::span<const program> programs_;
  std::vector<std::uint32_t> next_;   // position in its program
  std::vector<std::uint32_t> packs_;  // per place, the pack that is next
};

/// Checks programs (one per stage) over the packs of `work` and visits their instructions in a topological order: each
/// stage runs on until it waits for a message, then those that wait for what it has sent.
/// wires: of the workload's shape; visit(const step_of_walk&)
/// Errors    invalid_input: a pack is missing, repeated or out of run order on a stage, or weight gradients come
///           before their backward
///           cyclic_schedule: the programs wait for each other; the detail names the instructions that are stuck
/// Complexity O(instructions)
template <class Visit>
result<void> walk(const wiring& wires, const workload& work, std::span<const program> programs, Visit&& visit) {
  walker at(wires, work, programs);
  if (result<void> fit = at.check_sizes(); !fit) return fit;
  std::vector<std::uint32_t> ready;
  for (auto r = static_cast<std::uint32_t>(programs.size()); r-- > 0;) ready.push_back(r);
  while (!ready.empty()) {
    const std::uint32_t stage = ready.back();
    ready.pop_back();
    if (result<void> ran = at.run(stage, ready, visit); !ran) return ran;
  }
  return at.check_ends();
}

/// The messages of all packs of a workload, numbered.
class messages_under_way {
 public:
  /// wires: of the workload's shape
  messages_under_way(const wiring& wires, const workload& work)
      : wires_{wires.wires(pass::forward), wires.wires(pass::backward)},
        backward_(work.times.packs(pass::forward) * wires_[0]),
        size_(backward_ + work.times.packs(pass::backward) * wires_[1]) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t operator()(const wire& w, pack_id pack) const noexcept {
    const bool is_backward = facts_of(w.carries).pass == pass::backward;
    return (is_backward ? backward_ : 0) + std::size_t{pack.value} * wires_[is_backward ? 1 : 0] + w.number;
  }

 private:
  std::array<std::size_t, 2> wires_;  // that carry packs of a pass
  std::size_t backward_;              // the first of the backward pass
  std::size_t size_;
};

}  // namespace slimpack::detail

#endif
