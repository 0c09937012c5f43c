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

/// An instruction in its turn: where it runs. Who hears from it and whom it hears say each_after and each_before of its
/// place.
struct step_of_walk {
  slimpack::instruction instruction;
  std::uint32_t stage{};
  flow_place place{};  ///< of W that of its backward
  bool is_followed{};  ///< by another on its stage
};

/// Instructions of a stage, all packs taken together.
[[nodiscard]] inline std::size_t instructions_of_stage(const workload& work) {
  std::size_t layers = work.times.packs(pass::forward) + work.times.packs(pass::backward) + work.times.apart.count();
  layers *= static_cast<std::size_t>(work.shape.chunks);
  return work.shape.vocabulary == vocabulary::last
             ? layers
             : layers + 3 * work.times.packs(pass::forward) + work.times.packs(pass::backward);
}

/// Where a walk over programs is.
class walker {
 public:
  /// Requires  both outlive it
  walker(const workload& work, std::span<const program> programs)
      : work_(work),
        on_(work.shape),
        programs_(programs),
        next_(static_cast<std::size_t>(on_.stages)),
        weights_(static_cast<std::size_t>(on_.parts()), static_cast<std::uint32_t>(work.times.apart.next(0))) {
    for (std::size_t f = 0; f < (spread() ? flows : 2); ++f) done_[f].assign(width_of(static_cast<flow>(f), on_), 0);
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
      const flow_place place = place_of(i, stage, on_);
      const step_of_walk step{i, stage, place, at + 1 < code.size()};
      if (i.is_weights()) {
        if (!runs_weights(i, place))
          return wrong(stage, at, "weight gradients must run once, in order, after their backward");
        visit(step);
        continue;
      }
      if (!is_known(i, place) || i.pack.value != ran(place) || i.pack.value >= work_.times.packs(i.pass()))
        return wrong(stage, at, "packs must run once and in order");
      if (waits(i, place)) break;
      visit(step);
      ++ran(place);
      each_after(place, on_, [&](flow_place to) {
        const std::uint32_t receiver = stage_of(to, on_);
        // The receiver resumes only if this is the very message it waits for.
        if (next_[receiver] < programs_[receiver].size() && receiver != stage &&
            programs_[receiver][next_[receiver]] == instruction_at(to, i.pack, on_))
          ready.push_back(receiver);
      });
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
  [[nodiscard]] bool spread() const noexcept { return on_.vocabulary == vocabulary::spread; }
  [[nodiscard]] std::uint32_t& ran(flow_place p) { return done_[static_cast<std::size_t>(p.flow)][p.at]; }
  [[nodiscard]] bool is_known(const instruction& i, flow_place place) const {
    return is_of_layers(place.flow) ? i.chunk < static_cast<std::uint32_t>(on_.chunks) : spread() && i.chunk == 0;
  }
  /// Counts the weight gradients of a pack, if it is their turn.
  [[nodiscard]] bool runs_weights(const instruction& i, flow_place place) {
    if (i.pass() == pass::forward || !is_known(i, place) || i.pack.value != weights_[place.at] ||
        i.pack.value >= ran(place) || !work_.times.apart.splits(i.pack.value))
      return false;
    weights_[place.at] = static_cast<std::uint32_t>(work_.times.apart.next(weights_[place.at] + 1));
    return true;
  }
  [[nodiscard]] bool waits(const instruction& i, flow_place place) {
    bool any = false;
    each_before(place, on_, [&](flow_place from) { any = any || ran(from) <= i.pack.value; });
    // What runs on its own stage has run, or never does.
    if (const std::optional<flow_place> own = waits_on_stage(place, on_))
      any = any || ran(*own) <= (place.flow == flow::backward ? work_.turn[i.pack.value] : i.pack.value);
    return any;
  }
  [[nodiscard]] static error wrong(std::uint32_t stage, std::uint32_t at, const std::string& why) {
    return {errc::invalid_input, "stage " + std::to_string(stage) + ", instruction " + std::to_string(at) + ": " + why};
  }

  const workload& work_;
  const shape& on_;
  std::span<const program> programs_;
  std::vector<std::uint32_t> next_;                     // position in its program
  std::array<std::vector<std::uint32_t>, flows> done_;  // packs that each place of each flow has run
  std::vector<std::uint32_t> weights_;                  // per part, the pack whose weight gradients are next
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
  walker at(work, programs);
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

/// Where a message is on its way, by what it goes to: V on the last stage gets several, each from another stage.
class messages_under_way {
 public:
  explicit messages_under_way(const workload& work) : on_(&work.shape) {
    for (std::size_t f = 0; f < (on_->vocabulary == vocabulary::spread ? flows : 2); ++f)
      first_[f + 1] =
          first_[f] + work.times.packs(pass_of(static_cast<flow>(f))) * width_of(static_cast<flow>(f), *on_);
    for (std::size_t f = 2; on_->vocabulary == vocabulary::last && f < flows; ++f) first_[f + 1] = first_[f];
    partials_ = first_[flows];
    size_ = partials_ + (on_->vocabulary == vocabulary::spread
                             ? work.times.packs(pass::forward) * static_cast<std::size_t>(on_->stages)
                             : 0);
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
