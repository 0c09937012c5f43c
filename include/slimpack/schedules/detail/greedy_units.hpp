#ifndef SLIMPACK_SCHEDULES_DETAIL_GREEDY_UNITS_HPP
#define SLIMPACK_SCHEDULES_DETAIL_GREEDY_UNITS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/first_least.hpp>
#include <slimpack/schedules/detail/greedy.hpp>
#include <slimpack/schedules/detail/interleaved_order.hpp>
#include <slimpack/schedules/memory_cap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// The event-driven rule with virtual stages: what runs is a unit, a pack on one chunk (units.hpp). Units of a pass run
/// in one order on all stages; the rule decides where forwards and backwards follow each other.
namespace slimpack::detail::greedy {

/// The units as packs of a workload without chunks, as far as memory goes: what memory_cap reads.
[[nodiscard]] inline workload memory_of_units(const workload& work, std::span<const instruction> forward,
                                              std::span<const instruction> backward,
                                              std::span<const std::size_t> need) {
  const double share = 1.0 / work.shape.chunks;
  workload units;
  units.shape = work.shape;
  units.shape.chunks = 1;
  for (memory_rates r : work.rates) {
    r.live_token *= share, r.gradient_token *= share;
    units.rates.push_back(r);
  }
  const auto follow = [&](pass p, std::span<const instruction> order) {
    const std::vector<std::int64_t>& from = work.times.before[p];
    std::vector<std::int64_t>& to = units.times.before[p];
    to.assign(1, 0);
    for (const instruction& i : order) {
      to.push_back(to.back() + from[i.pack.value + 1] - from[i.pack.value]);
      units.pairs[p].push_back(work.pairs_of(p, i.pack.value));
    }
    if (work.times.kept[p].empty()) return;
    std::vector<double>& kept = units.times.kept[p];
    for (std::size_t stage = 0; stage < work.rates.size(); ++stage) {
      kept.push_back(0);
      for (const instruction& i : order)
        kept.push_back(kept.back() + share * work.times.kept_by(p, i.pack.value, stage));
    }
  };
  follow(pass::forward, forward);
  follow(pass::backward, backward);
  std::vector<std::int64_t> open(static_cast<std::size_t>(work.shape.chunks), 0);  // accumulators, by chunk
  std::int64_t sum = 0;
  units.gradient_before.push_back(0);
  for (std::size_t k = 0; k < backward.size(); ++k) {
    const instruction& i = backward[k];
    units.turn.push_back(static_cast<std::uint32_t>(need[k] - 1));
    units.gradient_running.push_back(sum - open[i.chunk] + work.gradient_running[i.pack.value]);
    sum += work.gradient_before[i.pack.value + 1] - open[i.chunk];
    open[i.chunk] = work.gradient_before[i.pack.value + 1];
    units.gradient_before.push_back(sum);
  }
  return units;
}

/// Units that flow one way.
/// Shapes    [stage * packs + unit]
struct unit_flow {
  std::vector<double> time{};
  std::vector<double> message{};       // from a unit's end to its arrival where it goes
  std::vector<std::ptrdiff_t> next{};  // the cell of the stage and unit that it goes to; none: nowhere
  std::size_t count{};

  static constexpr std::ptrdiff_t none = -1;
  [[nodiscard]] std::size_t packs() const noexcept { return count; }

  /// With time reversed: units in reverse order, from where they went to where they came from.
  [[nodiscard]] unit_flow reversed(std::size_t stages) const {
    unit_flow m;
    m.count = count;
    m.time.resize(time.size()), m.message.resize(time.size(), 0), m.next.assign(time.size(), none);
    const auto turned = [&](std::size_t cell) { return cell / count * count + (count - 1 - cell % count); };
    for (std::size_t cell = 0; cell < stages * count; ++cell) {
      m.time[turned(cell)] = time[cell];
      if (next[cell] == none) continue;
      const std::size_t from = turned(static_cast<std::size_t>(next[cell]));
      m.next[from] = static_cast<std::ptrdiff_t>(turned(cell));
      m.message[from] = message[cell];
    }
    return m;
  }
};

/// As `pipeline`, of units.
struct unit_pipeline {
  std::size_t stages{};
  unit_flow down;
  unit_flow up;
  std::vector<std::uint32_t> need;
  std::vector<std::uint32_t> caps;
  std::vector<std::size_t> row;

  static unit_pipeline of(const workload& work, std::span<const instruction> forward,
                          std::span<const instruction> backward, std::span<const std::size_t> need,
                          const schedules::memory_cap& cap) {
    unit_pipeline p;
    p.stages = static_cast<std::size_t>(work.shape.stages);
    p.down = flow_of(work, forward);
    p.up = flow_of(work, backward);
    for (const std::size_t n : need) p.need.push_back(static_cast<std::uint32_t>(n));
    for (std::size_t r = 0; r < p.stages; ++r) {
      p.row.push_back(p.caps.size());
      p.caps.insert(p.caps.end(), cap.allowed(r), cap.allowed(r) + backward.size() + 1);
    }
    return p;
  }

  [[nodiscard]] unit_pipeline mirrored() const {
    unit_pipeline m{stages,
                    up.reversed(stages),
                    down.reversed(stages),
                    mirrored_need(need, down.count),
                    mirrored_caps(caps, down.count, up.count),
                    {}};
    for (const std::size_t at : row) m.row.push_back(at / (up.count + 1) * (down.count + 1));
    return m;
  }

 private:
  static unit_flow flow_of(const workload& work, std::span<const instruction> order) {
    const auto stages = static_cast<std::size_t>(work.shape.stages);
    const auto parts = static_cast<std::size_t>(work.shape.parts());
    const bool forward = order.empty() || order.front().pass() == pass::forward;
    const pass p = forward ? pass::forward : pass::backward;
    const std::vector<seconds>& times = work.times.calls[p];
    const std::vector<seconds>& messages = work.times.messages[p];
    std::vector<std::size_t> unit_at(times.size() / stages);  // by pack and chunk
    const auto at = [&](pack_id pack, std::size_t chunk) -> std::size_t& {
      return unit_at[pack.value * parts / stages + chunk];
    };
    for (std::size_t k = 0; k < order.size(); ++k) at(order[k].pack, order[k].chunk) = k;
    unit_flow f;
    f.count = order.size();
    for (std::size_t r = 0; r < stages; ++r)
      for (const instruction& i : order) {
        const std::size_t part = i.chunk * stages + r;
        const std::size_t cell = i.pack.value * parts + part;
        f.time.push_back(times[cell].value);
        const bool ends = part == (forward ? parts - 1 : 0);
        f.message.push_back(ends ? 0 : messages[cell].value);
        const std::size_t to = ends ? 0 : forward ? part + 1 : part - 1;
        f.next.push_back(ends ? unit_flow::none
                              : static_cast<std::ptrdiff_t>(to % stages * f.count + at(i.pack, to / stages)));
      }
    return f;
  }
};

/// The rule of `greedy::rule`, on units, in order of time.
/// Complexity O(units * stages^2), one factor a scan for the earliest stage
class unit_rule {
 public:
  /// Requires  `image`, if given, is an order of p.mirrored()
  void run(const unit_pipeline& p, const order* image, order& out) {
    const std::size_t downs = p.down.count, ups = p.up.count;
    down_at_.assign(downs * p.stages, 0);
    up_at_.assign(ups * p.stages, 0);
    for (const auto& [flow, arrival] : {std::pair{&p.down, &down_at_}, {&p.up, &up_at_}})
      for (const std::ptrdiff_t to : flow->next)
        if (to != unit_flow::none) (*arrival)[static_cast<std::size_t>(to)] = never;
    out.before.assign(ups * p.stages, 0);
    states_.assign(p.stages, {});
    start_.assign(p.stages, never);
    for (std::size_t r = 0; r < p.stages; ++r) look(p, image, r);
    for (std::size_t left = (downs + ups) * p.stages; left > 0; --left) {
      const std::size_t r = first_least(start_);
      SLIMPACK_ASSERT(start_[r] != never, "units run in one order and the cap was checked, so no stage waits for ever");
      stage_state& s = states_[r];
      const bool is_up = s.is_up;
      const unit_flow& flow = is_up ? p.up : p.down;
      const std::size_t cell = r * flow.count + (is_up ? s.ups : s.downs);
      s.free = start_[r] + flow.time[cell];
      if (is_up) out.before[r * ups + s.ups] = s.downs;
      ++(is_up ? s.ups : s.downs);
      if (flow.next[cell] != unit_flow::none) {
        const auto to = static_cast<std::size_t>(flow.next[cell]);
        (is_up ? up_at_ : down_at_)[to] = s.free + flow.message[cell];
        if (to / flow.count != r) look(p, image, to / flow.count);
      }
      look(p, image, r);
    }
    out.makespan = 0;
    for (const stage_state& s : states_) out.makespan = std::max(out.makespan, s.free);
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct stage_state {
    std::uint32_t downs{};
    std::uint32_t ups{};
    double free{};
    bool is_up{};  // what it runs next
  };

  /// Decides what a stage runs next, as far as its inputs are known.
  void look(const unit_pipeline& p, const order* image, std::size_t r) {
    const auto downs = static_cast<std::uint32_t>(p.down.count), ups = static_cast<std::uint32_t>(p.up.count);
    stage_state& s = states_[r];
    double down = never, up = never;
    if (s.downs < downs && s.downs < p.caps[p.row[r] + s.ups]) down = std::max(s.free, down_at_[r * downs + s.downs]);
    if (s.ups < ups && (r + 1 < p.stages || p.need[s.ups] <= s.downs)) up = std::max(s.free, up_at_[r * ups + s.ups]);
    start_[r] = std::min(down, up);
    s.is_up = up < down || (up == down && down != never &&
                            (image == nullptr || image->before[r * downs + (downs - 1 - s.downs)] < ups - s.ups));
  }

  std::vector<double> down_at_;  // when a unit's input arrives; never: not known yet
  std::vector<double> up_at_;
  std::vector<stage_state> states_;
  std::vector<double> start_;  // by stage, of what it runs next; never: not known yet
};

/// The programs of an order of units.
[[nodiscard]] inline std::vector<program> programs_of(std::span<const instruction> forward,
                                                      std::span<const instruction> backward, std::size_t stages,
                                                      const order& found) {
  std::vector<program> out(stages);
  for (std::size_t r = 0; r < stages; ++r) {
    out[r].reserve(forward.size() + backward.size());
    std::size_t run = 0;
    for (std::size_t k = 0; k < backward.size(); ++k) {
      for (; run < found.before[r * backward.size() + k]; ++run) out[r].push_back(forward[run]);
      out[r].push_back(backward[k]);
    }
    for (; run < forward.size(); ++run) out[r].push_back(forward[run]);
  }
  return out;
}

}  // namespace slimpack::detail::greedy

#endif
