#ifndef SLIMPACK_SIMULATORS_GRAPH_DETAIL_WALK_HPP
#define SLIMPACK_SIMULATORS_GRAPH_DETAIL_WALK_HPP

#include <slimpack/core/detail/flow.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// An instruction in its turn: where it runs. Who hears from it and whom it hears say each_after and each_before of its place.
struct step_of_walk {
  slimpack::instruction instruction;
  std::uint32_t stage{};
  flow_place place{};  ///< of W that of its backward
  bool is_followed{};  ///< by another on its stage
};

/// Instructions of a stage, all packs taken together.
[[nodiscard]] inline std::size_t instructions_of_stage(const workload& work) {
  std::size_t layers = work.forward.size() + work.backward.size() + work.weight.count();
  layers *= static_cast<std::size_t>(work.shape.chunks);
  return work.shape.vocabulary == vocabulary::last ? layers : layers + 3 * work.forward.size() + work.backward.size();
}

/// Checks programs (one per stage) over the packs of `work` and visits their instructions in a topological order: each
/// stage runs on until it waits for a message, then those that wait for what it has sent.
/// visit(const step_of_walk&)
/// Errors    invalid_input: a pack is missing, repeated or out of run order on a stage, or weight gradients come
///           before their backward
///           cyclic_schedule: the programs wait for each other; the detail names the instructions that are stuck
/// Complexity O(instructions)
template <class Visit>
result<void> walk(const workload& work, std::span<const program> programs, Visit&& visit) {
  const shape& on = work.shape;
  const auto stages = static_cast<std::uint32_t>(on.stages);
  const auto parts = static_cast<std::uint32_t>(on.parts());
  const auto chunks = static_cast<std::uint32_t>(on.chunks);
  const bool spread = on.vocabulary == vocabulary::spread;
  if (programs.size() != stages)
    return error{errc::invalid_input, std::to_string(programs.size()) + " programs for " + std::to_string(stages) + " stages"};
  const std::size_t of_stage = instructions_of_stage(work);
  for (std::size_t r = 0; r < stages; ++r)
    if (programs[r].size() != of_stage)
      return error{errc::invalid_input, "stage " + std::to_string(r) + " runs " + std::to_string(programs[r].size()) +
                                            " instructions, its packs need " + std::to_string(of_stage)};

  std::vector<std::uint32_t> next(stages, 0);  // position in its program
  // Packs that each place of each flow has run; per part, the pack whose weight gradients are next.
  std::array<std::vector<std::uint32_t>, flows> done;
  for (std::size_t f = 0; f < (spread ? flows : 2); ++f) done[f].assign(width_of(static_cast<flow>(f), on), 0);
  const auto ran = [&](flow_place p) -> std::uint32_t& { return done[static_cast<std::size_t>(p.flow)][p.at]; };
  std::vector<std::uint32_t> weights(parts, static_cast<std::uint32_t>(work.weight.next(0)));
  std::vector<std::uint32_t> ready;
  for (std::uint32_t r = stages; r-- > 0;) ready.push_back(r);
  while (!ready.empty()) {
    const std::uint32_t stage = ready.back();
    ready.pop_back();
    const program& code = programs[stage];
    for (std::uint32_t& at = next[stage]; at < code.size(); ++at) {
      const instruction& i = code[at];
      const flow_place place = place_of(i, stage, on);
      const bool known = is_of_layers(place.flow) ? i.chunk < chunks : spread && i.chunk == 0;
      const step_of_walk step{i, stage, place, at + 1 < code.size()};
      if (i.is_weights()) {
        if (i.pass == pass::forward || !known || i.pack.value != weights[place.at] || i.pack.value >= ran(place) ||
            !work.weight.splits(i.pack.value))
          return error{errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) +
                                                ": weight gradients must run once, in order, after their backward"};
        weights[place.at] = static_cast<std::uint32_t>(work.weight.next(weights[place.at] + 1));
        visit(step);
        continue;
      }
      if (!known || i.pack.value != ran(place) || i.pack.value >= work.of(i.pass).size())
        return error{errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) +
                                              ": packs must run once and in order"};
      bool waits = false;
      each_before(place, on, [&](flow_place from) { waits = waits || ran(from) <= i.pack.value; });
      // What runs on its own stage has run, or never does.
      if (const std::optional<flow_place> own = waits_on_stage(place, on))
        waits = waits || ran(*own) <= (place.flow == flow::backward ? work.turn[i.pack.value] : i.pack.value);
      if (waits) break;
      visit(step);
      ++ran(place);
      each_after(place, on, [&](flow_place to) {
        const std::uint32_t receiver = stage_of(to, on);
        // The receiver resumes only if this is the very message it waits for.
        if (next[receiver] < programs[receiver].size() && receiver != stage &&
            programs[receiver][next[receiver]] == instruction_at(to, i.pack, on))
          ready.push_back(receiver);
      });
    }
  }
  for (std::size_t r = 0; r < stages; ++r) {
    if (next[r] == programs[r].size()) continue;
    std::string detail = "the programs wait for each other; stuck:";
    for (; r < stages; ++r)
      if (next[r] < programs[r].size())
        detail += " stage " + std::to_string(r) + " at " + name_of(programs[r][next[r]], on.chunks) + ",";
    detail.back() = '.';
    return error{errc::cyclic_schedule, detail};
  }
  return success();
}

/// Where times and messages of an instruction are in those of its flow.
[[nodiscard]] inline std::size_t cell_of(const step_of_walk& s, const shape& on) noexcept {
  return std::size_t{s.instruction.pack.value} * width_of(s.place.flow, on) + s.place.at;
}

/// Where a message is on its way, by what it goes to: V on the last stage gets several, each from another stage.
class messages_under_way {
 public:
  explicit messages_under_way(const workload& work) : on_(&work.shape) {
    for (std::size_t f = 0; f < (on_->vocabulary == vocabulary::spread ? flows : 2); ++f)
      first_[f + 1] = first_[f] + work.of(pass_of(static_cast<flow>(f))).size() * width_of(static_cast<flow>(f), *on_);
    for (std::size_t f = 2; on_->vocabulary == vocabulary::last && f < flows; ++f) first_[f + 1] = first_[f];
    partials_ = first_[flows];
    size_ = partials_ + (on_->vocabulary == vocabulary::spread ? work.forward.size() * static_cast<std::size_t>(on_->stages) : 0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t operator()(flow_place from, flow_place to, pack_id pack) const noexcept {
    if (from.flow == flow::output && to.flow == flow::output)
      return partials_ + std::size_t{pack.value} * static_cast<std::size_t>(on_->stages) + from.at;
    return first_[static_cast<std::size_t>(to.flow)] + std::size_t{pack.value} * width_of(to.flow, *on_) + to.at;
  }

 private:
  const shape* on_;
  std::array<std::size_t, flows + 1> first_{};
  std::size_t partials_{};
  std::size_t size_{};
};

}  // namespace slimpack::detail

#endif
