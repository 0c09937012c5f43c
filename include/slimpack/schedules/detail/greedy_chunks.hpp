#ifndef SLIMPACK_SCHEDULES_DETAIL_GREEDY_CHUNKS_HPP
#define SLIMPACK_SCHEDULES_DETAIL_GREEDY_CHUNKS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/detail/first_least.hpp>
#include <slimpack/schedules/detail/greedy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// The event-driven rule with virtual stages where memory does not bind: a free stage runs, of all its chunks' next
/// packs, what is ready first.
namespace slimpack::detail::greedy {

/// Packs that flow one way through all parts, from the first to the last or back, or the same with time reversed.
/// Shapes    [pack * parts + part]: packs are run about in order, so that what is read next lies next
struct part_flow {
  std::vector<double> time{};
  std::vector<double> message{};  // from a pack's end on a part to its arrival at the next
  std::size_t packs{};

  /// With time reversed: packs in reverse order, messages the other way. `was_up`: it went to part 0.
  [[nodiscard]] part_flow reversed(std::size_t parts, bool was_up) const {
    part_flow m{std::vector<double>(time.size()), std::vector<double>(time.size(), 0), packs};
    for (std::size_t i = 0; i < packs; ++i)
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t cell = i * parts + part, image = (packs - 1 - i) * parts + part;
        m.time[image] = time[cell];
        // The message that came here from part + 1 (up) or part - 1 (down) now leaves here for it.
        if (was_up && part + 1 < parts) m.message[image] = message[cell + 1];
        if (!was_up && part > 0) m.message[image] = message[cell - 1];
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
    part_pipeline p{static_cast<std::size_t>(work.shape.stages),
                    static_cast<std::size_t>(work.shape.chunks),
                    flow_of(work.times, pass::forward),
                    flow_of(work.times, pass::backward),
                    {}};
    for (const std::uint32_t turn : work.turn) p.need.push_back(turn + 1);
    return p;
  }
  [[nodiscard]] std::size_t parts() const noexcept { return stages * chunks; }
  [[nodiscard]] part_pipeline mirrored() const {
    return {stages, chunks, up.reversed(parts(), true), down.reversed(parts(), false), mirrored_need(need, down.packs)};
  }

 private:
  static part_flow flow_of(const timings& times, pass p) {
    part_flow f{{}, {}, times.packs(p)};
    f.time.reserve(times.calls[p].size()), f.message.reserve(times.messages[p].size());
    for (const seconds s : times.calls[p]) f.time.push_back(s.value);
    for (const seconds s : times.messages[p]) f.message.push_back(s.value);
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

/// The rule. Of steps that are ready at the same time, the one that stands first in the order found on the mirror
/// image; without such an order ups before downs, and what has gone furthest first.
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
      for (std::size_t pack = 0; pack < flow.packs; ++pack) w.arrival[pack * parts + first] = 0;
      w.rank.clear();
    }
    if (image != nullptr) rank(p, *image);
    out.stage.assign(p.stages, {});
    free_.assign(p.stages, 0.0), start_.assign(p.stages, never), chosen_.assign(p.stages, 0);
    arrival_.assign(2 * parts, never), rank_.assign(2 * parts, 0);
    for (std::size_t r = 0; r < p.stages; ++r) {
      for (std::size_t k = 0; k < p.chunks; ++k) renew(p, r, k, false), renew(p, r, k, true);
      look(p, r);
    }
    for (std::size_t left = (p.down.packs + p.up.packs) * parts; left > 0; --left) {
      const std::size_t first = first_least(start_);
      SLIMPACK_ASSERT(start_[first] != never, "packs pass each part in one order, so no stage waits for ever");
      run_next(p, first, out);
    }
    out.makespan = *std::max_element(free_.begin(), free_.end());
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  struct way {
    std::vector<double> arrival{};      // by cell
    std::vector<std::uint32_t> next{};  // pack, by part
    std::vector<std::uint32_t> rank{};  // by cell, in the order of the mirror image; empty: there is none
  };

  void rank(const part_pipeline& p, const part_order& image) {
    for (way& w : ways_) w.rank.resize(w.arrival.size());
    for (std::size_t r = 0; r < p.stages; ++r)
      for (std::size_t at = 0; at < image.stage[r].size(); ++at) {
        const part_step& s = image.stage[r][image.stage[r].size() - 1 - at];
        const std::size_t packs = (s.is_up ? p.down : p.up).packs;  // what goes up there goes down here
        ways_[!s.is_up].rank[(packs - 1 - s.pack) * p.parts() + s.chunk * p.stages + r] =
            static_cast<std::uint32_t>(at);
      }
  }

  /// Runs what a stage has chosen.
  void run_next(const part_pipeline& p, std::size_t r, part_order& out) {
    const bool is_up = chosen_[r] < p.chunks;
    const std::size_t chunk = is_up ? chosen_[r] : 2 * p.chunks - 1 - chosen_[r], part = chunk * p.stages + r;
    const part_flow& flow = is_up ? p.up : p.down;
    way& w = ways_[is_up];
    const std::uint32_t pack = w.next[part]++;
    const std::size_t cell = pack * p.parts() + part;
    free_[r] = start_[r] + flow.time[cell];
    out.stage[r].push_back({is_up, static_cast<std::uint32_t>(chunk), pack});
    renew(p, r, chunk, is_up);
    if (!is_up && part + 1 == p.parts()) renew(p, r, chunk, true);
    if (part != (is_up ? 0 : p.parts() - 1)) {
      const std::size_t to = is_up ? part - 1 : part + 1, receiver = to % p.stages;
      w.arrival[pack * p.parts() + to] = free_[r] + flow.message[cell];
      if (w.next[to] == pack) {
        renew(p, receiver, to / p.stages, is_up);
        if (receiver != r) look(p, receiver);
      }
    }
    look(p, r);
  }

  /// Tells a stage of the next pack of its part. What it can choose lies side by side: ups by chunk, then downs from
  /// the last chunk on.
  void renew(const part_pipeline& p, std::size_t r, std::size_t chunk, bool is_up) {
    const part_flow& flow = is_up ? p.up : p.down;
    const way& w = ways_[is_up];
    const std::size_t part = chunk * p.stages + r;
    const std::uint32_t pack = w.next[part];
    const std::size_t choice = 2 * p.chunks * r + (is_up ? chunk : 2 * p.chunks - 1 - chunk);
    arrival_[choice] = never;
    if (pack == flow.packs || (is_up && part + 1 == p.parts() && ways_[0].next[part] < p.need[pack])) return;
    const std::size_t cell = pack * p.parts() + part;
    arrival_[choice] = w.arrival[cell];
    rank_[choice] = w.rank.empty() ? 0 : w.rank[cell];
  }

  /// Chooses the first by rank of what is there when the stage can go on. Without branches: which it is cannot be
  /// foretold.
  void look(const part_pipeline& p, std::size_t r) {
    const std::size_t choices = 2 * p.chunks, from = choices * r;
    double arrival = never;
    for (std::size_t c = 0; c < choices; ++c) arrival = std::min(arrival, arrival_[from + c]);
    start_[r] = std::max(free_[r], arrival);
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();  // rank, then choice
    for (std::size_t c = 0; c < choices; ++c)
      first = std::min(first, arrival_[from + c] <= start_[r] ? std::uint64_t{rank_[from + c]} << 32 | c : first);
    chosen_[r] = static_cast<std::uint32_t>(first);
  }

  way ways_[2];
  std::vector<double> arrival_;        // of the next packs: [stage * 2 * chunks + choice]
  std::vector<std::uint32_t> rank_;    // likewise
  std::vector<double> free_;           // by stage
  std::vector<double> start_;          // by stage, of what it runs next
  std::vector<std::uint32_t> chosen_;  // by stage
};

/// The programs of an order of a step.
[[nodiscard]] inline std::vector<program> programs_of(const part_order& found) {
  std::vector<program> out;
  for (const std::vector<part_step>& code : found.stage) {
    out.emplace_back().reserve(code.size());
    for (const part_step& s : code)
      out.back().push_back({s.is_up ? instruction_kind::backward : instruction_kind::forward, {s.pack}, s.chunk});
  }
  return out;
}

}  // namespace slimpack::detail::greedy

#endif
