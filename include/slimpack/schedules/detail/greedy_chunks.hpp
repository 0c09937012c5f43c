#ifndef SLIMPACK_SCHEDULES_DETAIL_GREEDY_CHUNKS_HPP
#define SLIMPACK_SCHEDULES_DETAIL_GREEDY_CHUNKS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/greedy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// The event-driven rule with virtual stages where memory does not bind: a free stage runs, of all its chunks' next packs,
/// what is ready first.
namespace slimpack::detail::greedy {

/// Packs that flow one way through all parts, from the first to the last or back, or the same with time reversed.
/// Shapes    [part * packs + pack]
struct part_flow {
  std::vector<double> time{};
  std::vector<double> message{};  // from a pack's end on a part to its arrival at the next
  std::size_t packs{};

  /// With time reversed: packs in reverse order, messages the other way. `was_up`: it went to part 0.
  [[nodiscard]] part_flow reversed(std::size_t parts, bool was_up) const {
    part_flow m{std::vector<double>(time.size()), std::vector<double>(time.size(), 0), packs};
    for (std::size_t part = 0; part < parts; ++part)
      for (std::size_t i = 0; i < packs; ++i) {
        const std::size_t cell = part * packs + i, image = part * packs + (packs - 1 - i);
        m.time[image] = time[cell];
        // The message that came here from part + 1 (up) or part - 1 (down) now leaves here for it.
        if (was_up && part + 1 < parts) m.message[image] = message[cell + packs];
        if (!was_up && part > 0) m.message[image] = message[cell - packs];
      }
    return m;
  }
};

/// `down` goes through the parts, turns on the last, and `up` comes back: forward and backward, or the mirror image.
struct part_pipeline {
  std::size_t stages{};
  std::size_t chunks{};
  part_flow down;
  part_flow up;
  std::vector<std::uint32_t> need;  // per up pack, downs that the last part must have run before it

  static part_pipeline of(const workload& work) {
    part_pipeline p{static_cast<std::size_t>(work.shape.stages), static_cast<std::size_t>(work.shape.chunks),
                    flow_of(work.forward, static_cast<std::size_t>(work.shape.parts())),
                    flow_of(work.backward, static_cast<std::size_t>(work.shape.parts())), {}};
    for (const std::uint32_t turn : work.turn) p.need.push_back(turn + 1);
    return p;
  }
  [[nodiscard]] std::size_t parts() const noexcept { return stages * chunks; }
  [[nodiscard]] part_pipeline mirrored() const {
    return {stages, chunks, up.reversed(parts(), true), down.reversed(parts(), false), mirrored_need(need, down.packs)};
  }

 private:
  static part_flow flow_of(const pass_timing& timing, std::size_t parts) {
    part_flow f{std::vector<double>(timing.size() * parts), std::vector<double>(timing.size() * parts), timing.size()};
    for (std::size_t i = 0; i < f.packs; ++i)
      for (std::size_t part = 0; part < parts; ++part) {
        f.time[part * f.packs + i] = timing.time[i * parts + part].value;
        f.message[part * f.packs + i] = timing.message[i * parts + part].value;
      }
    return f;
  }
};

/// A pack of a way on a chunk.
struct part_step {
  bool is_up{};
  std::uint32_t chunk{};
  std::uint32_t pack{};
};

/// What each stage runs, in order.
struct part_order {
  std::vector<std::vector<part_step>> stage{};
  double makespan{};

  /// Of a mirror image, as an order of the step itself.
  [[nodiscard]] part_order mirrored(const part_pipeline& image) const {
    part_order out = *this;
    for (std::vector<part_step>& code : out.stage) {
      std::reverse(code.begin(), code.end());
      for (part_step& s : code) {
        s.pack = static_cast<std::uint32_t>((s.is_up ? image.up : image.down).packs - 1 - s.pack);
        s.is_up = !s.is_up;
      }
    }
    return out;
  }
};

/// The rule. Of steps that are ready at the same time, the one that stands first in the order found on the mirror image;
/// without such an order ups before downs, and what has gone furthest first.
/// Complexity O(steps (stages + chunks))
class part_rule {
 public:
  void run(const part_pipeline& p, const part_order* image, part_order& out) {
    const std::size_t parts = p.parts();
    for (const bool is_up : {false, true}) {
      const part_flow& flow = is_up ? p.up : p.down;
      way& w = ways_[is_up];
      w.arrival.assign(parts * flow.packs, never);
      w.next.assign(parts, 0);
      const std::size_t first = is_up ? parts - 1 : 0;
      std::fill_n(w.arrival.begin() + static_cast<std::ptrdiff_t>(first * flow.packs), flow.packs, 0.0);
      w.rank.clear();
    }
    if (image != nullptr) rank(p, *image);
    out.stage.assign(p.stages, {});
    states_.assign(p.stages, {});
    for (std::size_t r = 0; r < p.stages; ++r) look(p, r);
    for (std::size_t left = (p.down.packs + p.up.packs) * parts; left > 0; --left) {
      const auto first = std::min_element(states_.begin(), states_.end(),
                                          [](const stage_state& a, const stage_state& b) { return a.start < b.start; });
      SLIMPACK_ASSERT(first->start != never, "packs pass each part in one order, so no stage waits for ever");
      const auto r = static_cast<std::size_t>(first - states_.begin());
      const part_step s = first->step;
      const part_flow& flow = s.is_up ? p.up : p.down;
      way& w = ways_[s.is_up];
      const std::size_t part = s.chunk * p.stages + r, cell = part * flow.packs + s.pack;
      first->free = first->start + flow.time[cell];
      out.stage[r].push_back(s);
      ++w.next[part];
      if (part != (s.is_up ? 0 : parts - 1)) {
        const std::size_t to = s.is_up ? part - 1 : part + 1;
        w.arrival[to * flow.packs + s.pack] = first->free + flow.message[cell];
        if (to % p.stages != r) look(p, to % p.stages);
      }
      look(p, r);
    }
    out.makespan = 0;
    for (const stage_state& s : states_) out.makespan = std::max(out.makespan, s.free);
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct way {
    std::vector<double> arrival{};     // by cell
    std::vector<std::uint32_t> next{};  // pack, by part
    std::vector<std::uint32_t> rank{};  // by cell, in the order of the mirror image; empty: there is none
  };
  struct stage_state {
    double free{};
    double start{};
    part_step step{};
  };

  void rank(const part_pipeline& p, const part_order& image) {
    for (way& w : ways_) w.rank.resize(w.arrival.size());
    for (std::size_t r = 0; r < p.stages; ++r)
      for (std::size_t at = 0; at < image.stage[r].size(); ++at) {
        const part_step& s = image.stage[r][image.stage[r].size() - 1 - at];
        const std::size_t packs = (s.is_up ? p.down : p.up).packs;  // what goes up there goes down here
        ways_[!s.is_up].rank[(s.chunk * p.stages + r) * packs + (packs - 1 - s.pack)] = static_cast<std::uint32_t>(at);
      }
  }

  void look(const part_pipeline& p, std::size_t r) {
    stage_state& s = states_[r];
    s.start = never;
    std::uint32_t first = 0;  // rank of what is chosen
    for (const bool is_up : {true, false}) {
      const part_flow& flow = is_up ? p.up : p.down;
      const way& w = ways_[is_up];
      for (std::size_t k = 0; k < p.chunks; ++k) {
        const std::size_t chunk = is_up ? k : p.chunks - 1 - k, part = chunk * p.stages + r;
        const std::uint32_t pack = w.next[part];
        if (pack == flow.packs) continue;
        if (is_up && part + 1 == p.parts() && ways_[0].next[part] < p.need[pack]) continue;
        const std::size_t cell = part * flow.packs + pack;
        const double start = std::max(s.free, w.arrival[cell]);
        const std::uint32_t rank = w.rank.empty() ? 0 : w.rank[cell];
        if (start < s.start || (start == s.start && start != never && rank < first))
          s.start = start, s.step = {is_up, static_cast<std::uint32_t>(chunk), pack}, first = rank;
      }
    }
  }

  way ways_[2];
  std::vector<stage_state> states_;
};

/// The programs of an order of a step.
[[nodiscard]] inline std::vector<program> programs_of(const part_order& found) {
  std::vector<program> out;
  for (const std::vector<part_step>& code : found.stage) {
    out.emplace_back().reserve(code.size());
    for (const part_step& s : code) out.back().push_back({s.is_up ? pass::backward : pass::forward, {s.pack}, s.chunk});
  }
  return out;
}

}  // namespace slimpack::detail::greedy

#endif
