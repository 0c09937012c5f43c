#ifndef SLIMPACK_SCHEDULES_DETAIL_GREEDY_HPP
#define SLIMPACK_SCHEDULES_DETAIL_GREEDY_HPP

#include <slimpack/core/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/schedules/memory_cap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// The event-driven rule behind schedules::list, on a step or on its mirror image.
namespace slimpack::detail::greedy {

/// Packs that flow one way through the stages, read where they lie: of a workload's pass, or of it with time reversed.
class flow {
 public:
  flow() = default;
  flow(const pass_timing& timing, std::size_t stages)
      : packs_(timing.size()), time_(timing.time.data()), message_(timing.message.data()),
        next_(static_cast<std::ptrdiff_t>(stages)) {}

  /// Packs in reverse order. A message that left stage r for r - 1 (`was_up`) now leaves r - 1 for r, or the other way.
  [[nodiscard]] flow reversed(bool was_up) const {
    flow m = *this;
    m.first_ += (static_cast<std::ptrdiff_t>(packs_) - 1) * next_;
    m.next_ = -next_;
    m.sender_ += was_up ? 1 : -1;
    return m;
  }

  [[nodiscard]] std::size_t packs() const noexcept { return packs_; }
  [[nodiscard]] double time(std::size_t pack, std::size_t stage) const noexcept { return time_[cell(pack, stage)].value; }
  /// From the pack's end on a stage to its arrival at the one it flows to.
  [[nodiscard]] double message(std::size_t pack, std::size_t stage) const noexcept {
    return message_[cell(pack, stage) + sender_].value;
  }

 private:
  [[nodiscard]] std::ptrdiff_t cell(std::size_t pack, std::size_t stage) const noexcept {
    return first_ + static_cast<std::ptrdiff_t>(pack) * next_ + static_cast<std::ptrdiff_t>(stage);
  }

  std::size_t packs_{};
  const seconds* time_{};
  const seconds* message_{};
  std::ptrdiff_t first_{};   // cell of pack 0 on stage 0
  std::ptrdiff_t next_{};    // from a pack to the next
  std::ptrdiff_t sender_{};  // from the stage that sends a message here to the one that did in the workload
};

/// Two flows through a pipeline: `down` goes from stage 0 to the last, turns there, and `up` comes back.
/// In a step down is forward and up is backward; in its mirror image down is backward, in reversed order.
/// Requires  the workload outlives it
struct pipeline {
  std::size_t stages{};
  flow down;
  flow up;
  std::vector<std::uint32_t> need;   // per up pack, downs that the last stage must have run before it
  std::vector<std::uint32_t> caps;   // rows of up.packs() + 1: per number of ups done, the most downs
  std::vector<std::size_t> row;      // per stage, in caps; stages of equal memory share one

  static pipeline of(const workload& work, const schedules::memory_cap& cap) {
    pipeline p;
    p.stages = static_cast<std::size_t>(work.shape.stages);
    p.down = {work.forward, p.stages};
    p.up = {work.backward, p.stages};
    p.need.reserve(work.turn.size());
    for (const std::uint32_t turn : work.turn) p.need.push_back(turn + 1);
    for (std::size_t r = 0; r < p.stages; ++r) {
      if (r == 0 || cap.allowed(r) != cap.allowed(r - 1))
        p.caps.insert(p.caps.end(), cap.allowed(r), cap.allowed(r) + p.up.packs() + 1);
      p.row.push_back(p.caps.size() - (p.up.packs() + 1));
    }
    return p;
  }

  /// Time reversed: what ended first starts last, messages run the other way, and a down pack needs the ups that
  /// used to need it.
  [[nodiscard]] pipeline mirrored() const {
    const std::size_t downs = down.packs();
    const std::size_t ups = up.packs();
    pipeline m;
    m.stages = stages;
    m.down = up.reversed(true);
    m.up = down.reversed(false);
    m.need.resize(downs);
    std::size_t i = 0;  // first up pack that needs down pack j
    for (std::size_t j = 0; j < downs; ++j) {
      while (i < ups && need[i] <= j) ++i;
      m.need[downs - 1 - j] = static_cast<std::uint32_t>(ups - i);
    }
    const std::size_t rows = caps.size() / (ups + 1);
    m.caps.reserve(rows * (downs + 1));
    for (std::size_t k = 0; k < rows; ++k) {
      const std::uint32_t* const here = &caps[k * (ups + 1)];
      std::size_t held_back = ups;  // first ups, which the mirror image may not have run yet
      for (std::size_t remain = downs + 1; remain-- > 0;) {
        while (held_back > 0 && here[held_back - 1] >= remain) --held_back;
        m.caps.push_back(static_cast<std::uint32_t>(ups - held_back));
      }
    }
    for (const std::size_t at : row) m.row.push_back(at / (ups + 1) * (downs + 1));
    return m;
  }
};

/// What the rule decided.
struct order {
  std::vector<std::uint32_t> before;  // [stage * up.packs() + up]: downs that run before it
  double makespan{};
};

/// The rule, and its storage: a free stage runs the next up when it is ready, else the next down when it is ready and
/// allowed, else waits for whichever comes first. Between a ready up and a ready down the order found on the mirror
/// image decides, if there is one; else the up runs.
///
/// Decisions are those of a simulation in order of time. A stage goes on past the others while that cannot matter: until
/// an input may arrive that it does not know of, which is no sooner than the earliest that another stage can start
/// anything, plus that input's own time there and its message.
/// Complexity O(packs * stages) decisions, one scan of the stages for each run of them
class rule {
 public:
  /// Requires  `image`, if given, is an order of p.mirrored()
  void run(const pipeline& p, const order* image, order& out) {
    const std::size_t last = p.stages - 1;
    const auto downs = static_cast<std::uint32_t>(p.down.packs());
    const auto ups = static_cast<std::uint32_t>(p.up.packs());
    // When a pack's input arrives at a stage; of the first stage's downs, the start of the step.
    down_at_.resize(downs * p.stages);
    up_at_.resize(ups * p.stages);
    out.before.resize(ups * p.stages);
    lanes_.assign(p.stages, {});
    next_.assign(p.stages, never);
    for (std::size_t r = 0; r < p.stages; ++r) lanes_[r].allowed = p.caps[p.row[r]];
    if (lanes_[0].allowed > 0) next_[0] = 0;
    while (true) {
      std::size_t r = 0;
      double others = never;  // no other stage starts anything sooner
      for (std::size_t other = 1; other < p.stages; ++other) {
        const bool sooner = next_[other] < next_[r];
        others = std::min(others, next_[sooner ? r : other]);
        if (sooner) r = other;
      }
      if (next_[r] == never) break;
      lane& s = lanes_[r];
      const std::uint32_t* const allowed = &p.caps[p.row[r]];
      for (bool first = true;; first = false) {
        double down = never;
        double up = never;
        double unknown = never;  // no input that matters arrives sooner
        const std::size_t down_cell = s.downs * p.stages + r;
        const std::size_t up_cell = s.ups * p.stages + r;
        if (s.downs < s.allowed) {
          if (r == 0)
            down = s.free;
          else if (lanes_[r - 1].downs > s.downs)
            down = std::max(s.free, down_at_[down_cell]);
          else
            unknown = others + p.down.time(s.downs, r - 1) + p.down.message(s.downs, r - 1);
        }
        if (s.ups < ups) {
          if (r == last)
            up = s.downs >= p.need[s.ups] ? s.free : never;
          else if (lanes_[r + 1].ups > s.ups)
            up = std::max(s.free, up_at_[up_cell]);
          else
            unknown = std::min(unknown, others + p.up.time(s.ups, r + 1) + p.up.message(s.ups, r + 1));
        }
        const double start = std::min(down, up);
        if (!first && start >= unknown) {
          next_[r] = start;
          break;
        }
        if (start == never) {
          next_[r] = never;
          break;
        }
        if (up < down || (up == down && (image == nullptr || image->before[r * downs + (downs - 1 - s.downs)] < ups - s.ups))) {
          s.free = start + p.up.time(s.ups, r);
          out.before[r * ups + s.ups] = s.downs;
          if (r > 0) {
            const double arrival = up_at_[up_cell - 1] = s.free + p.up.message(s.ups, r);
            lane& n = lanes_[r - 1];
            if (n.ups == s.ups) others = std::min(others, next_[r - 1] = std::min(next_[r - 1], std::max(n.free, arrival)));
          }
          ++s.ups;
          s.allowed = allowed[s.ups];
        } else {
          s.free = start + p.down.time(s.downs, r);
          if (r < last) {
            const double arrival = down_at_[down_cell + 1] = s.free + p.down.message(s.downs, r);
            lane& n = lanes_[r + 1];
            if (n.downs == s.downs && n.downs < n.allowed)
              others = std::min(others, next_[r + 1] = std::min(next_[r + 1], std::max(n.free, arrival)));
          }
          ++s.downs;
        }
      }
    }
    out.makespan = 0;
    for ([[maybe_unused]] const lane& s : lanes_) {
      SLIMPACK_ASSERT(s.downs == downs && s.ups == ups, "memory_cap::check passed, so no stage waits for ever");
      out.makespan = std::max(out.makespan, s.free);
    }
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// One stage as far as it has run.
  struct lane {
    double free{};
    std::uint32_t downs{};
    std::uint32_t ups{};
    std::uint32_t allowed{};  // downs
  };

  std::vector<double> down_at_;
  std::vector<double> up_at_;
  std::vector<double> next_;  // per stage, its next start, as far as its inputs are known
  std::vector<lane> lanes_;
};

/// The programs of an order of a step.
[[nodiscard]] inline std::vector<program> programs_of(const pipeline& p, const order& found) {
  std::vector<program> out(p.stages);
  const auto downs = static_cast<std::uint32_t>(p.down.packs());
  const auto ups = static_cast<std::uint32_t>(p.up.packs());
  for (std::size_t r = 0; r < p.stages; ++r) {
    out[r].reserve(downs + ups);
    std::uint32_t run = 0;
    for (std::uint32_t i = 0; i < ups; ++i) {
      for (; run < found.before[r * ups + i]; ++run) out[r].push_back({pass::forward, {run}});
      out[r].push_back({pass::backward, {i}});
    }
    for (; run < downs; ++run) out[r].push_back({pass::forward, {run}});
  }
  return out;
}

/// The same order, of a step, as an order of its mirror image.
/// Shapes    p is the image that `found` is of
[[nodiscard]] inline order mirrored(const pipeline& p, const order& found) {
  const std::size_t downs = p.down.packs();
  const std::size_t ups = p.up.packs();
  order out;
  out.makespan = found.makespan;
  out.before.resize(downs * p.stages);
  for (std::size_t r = 0; r < p.stages; ++r) {
    std::size_t i = 0;  // ups of the image before its down j
    for (std::size_t j = 0; j < downs; ++j) {
      while (i < ups && found.before[r * ups + i] <= j) ++i;
      out.before[r * downs + (downs - 1 - j)] = static_cast<std::uint32_t>(ups - i);
    }
  }
  return out;
}

}  // namespace slimpack::detail::greedy

#endif
