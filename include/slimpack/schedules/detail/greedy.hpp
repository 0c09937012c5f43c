#ifndef SLIMPACK_SCHEDULES_DETAIL_GREEDY_HPP
#define SLIMPACK_SCHEDULES_DETAIL_GREEDY_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/memory_cap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// The event-driven rule behind schedules::list, on a step or on its mirror image.
namespace slimpack::detail::greedy {

/// Packs that flow one way through the stages: those of one pass of a workload, or the same with time reversed. It
/// copies nothing: both directions read the workload's own numbers.
class flow {
 public:
  flow() = default;
  flow(const timings& times, pass p, std::size_t stages)
      : packs_(times.packs(p)),
        time_(times.calls[p].data()),
        message_(times.messages[p].data()),
        next_(static_cast<std::ptrdiff_t>(stages)) {}

  /// The packs in reverse order. With `was_up`, a message that went from stage r to r - 1 now goes from r - 1 to r;
  /// without, a message that went from r - 1 to r now goes from r to r - 1.
  [[nodiscard]] flow reversed(bool was_up) const {
    flow m = *this;
    m.first_ += (static_cast<std::ptrdiff_t>(packs_) - 1) * next_;
    m.next_ = -next_;
    m.sender_ += was_up ? 1 : -1;
    return m;
  }

  [[nodiscard]] std::size_t packs() const noexcept { return packs_; }
  /// Where a pack's times on a stage are; `next` leads to the next pack, 1 to the next stage.
  [[nodiscard]] std::ptrdiff_t cell(std::size_t pack, std::size_t stage) const noexcept {
    return first_ + static_cast<std::ptrdiff_t>(pack) * next_ + static_cast<std::ptrdiff_t>(stage);
  }
  [[nodiscard]] std::ptrdiff_t next() const noexcept { return next_; }
  [[nodiscard]] double time(std::ptrdiff_t cell) const noexcept { return time_[cell].value; }
  /// From the pack's end on a stage to its arrival at the one it flows to.
  [[nodiscard]] double message(std::ptrdiff_t cell) const noexcept { return message_[cell + sender_].value; }

 private:
  std::size_t packs_{};
  const seconds* time_{};
  const seconds* message_{};
  std::ptrdiff_t first_{};   // cell of pack 0 on stage 0
  std::ptrdiff_t next_{};    // from a pack to the next
  std::ptrdiff_t sender_{};  // from the stage that sends a message here to the one that did in the workload
};

/// Per down of the mirror image of a step, which is an up there, how many of its downs must have run before it.
[[nodiscard]] inline std::vector<std::uint32_t> mirrored_need(std::span<const std::uint32_t> need, std::size_t downs) {
  std::vector<std::uint32_t> image(downs);
  const std::size_t ups = need.size();
  std::size_t i = 0;  // first up that needs down j
  for (std::size_t j = 0; j < downs; ++j) {
    while (i < ups && need[i] <= j) ++i;
    image[downs - 1 - j] = static_cast<std::uint32_t>(ups - i);
  }
  return image;
}

/// Rows of ups + 1 caps on downs, as rows of downs + 1 caps on the mirror image's downs.
[[nodiscard]] inline std::vector<std::uint32_t> mirrored_caps(std::span<const std::uint32_t> caps, std::size_t downs,
                                                              std::size_t ups) {
  std::vector<std::uint32_t> image;
  const std::size_t rows = caps.size() / (ups + 1);
  image.reserve(rows * (downs + 1));
  for (std::size_t k = 0; k < rows; ++k) {
    const std::span<const std::uint32_t> here = caps.subspan(k * (ups + 1), ups + 1);
    std::size_t held_back = ups;  // first ups, which the mirror image may not have run yet
    for (std::size_t remain = downs + 1; remain-- > 0;) {
      while (held_back > 0 && here[held_back - 1] >= remain) --held_back;
      image.push_back(static_cast<std::uint32_t>(ups - held_back));
    }
  }
  return image;
}

/// Two flows through a pipeline: `down` goes from stage 0 to the last, turns there, and `up` comes back.
/// In a step down is forward and up is backward; in its mirror image down is backward, in reversed order.
/// Requires  the workload outlives it
struct pipeline {
  std::size_t stages{};
  flow down;
  flow up;
  std::vector<std::uint32_t> need;  // per up pack, downs that the last stage must have run before it
  std::vector<std::uint32_t> caps;  // rows of up.packs() + 1: per number of ups done, the most downs
  std::vector<std::size_t> row;     // per stage, in caps; stages of equal memory share one

  static pipeline of(const workload& work, const schedules::memory_cap& cap) {
    pipeline p;
    p.stages = static_cast<std::size_t>(work.shape.stages);
    p.down = {work.times, pass::forward, p.stages};
    p.up = {work.times, pass::backward, p.stages};
    p.need.reserve(work.turn.size());
    for (const std::uint32_t turn : work.turn) p.need.push_back(turn + 1);
    for (std::size_t r = 0; r < p.stages; ++r) {
      if (r == 0 || cap.allowed(r) != cap.allowed(r - 1))
        p.caps.insert(p.caps.end(), cap.allowed(r), cap.allowed(r) + p.up.packs() + 1);
      p.row.push_back(p.caps.size() - (p.up.packs() + 1));
    }
    return p;
  }

  /// The step with time reversed. What ended first starts last, messages go the other way, and a pack waits for those
  /// that waited for it before: a down pack for ups.
  [[nodiscard]] pipeline mirrored() const {
    const std::size_t downs = down.packs();
    const std::size_t ups = up.packs();
    pipeline m;
    m.stages = stages;
    m.down = up.reversed(true);
    m.up = down.reversed(false);
    m.need = mirrored_need(need, downs);
    m.caps = mirrored_caps(caps, downs, ups);
    for (const std::size_t at : row) m.row.push_back(at / (ups + 1) * (downs + 1));
    return m;
  }
};

/// What the rule decided.
struct order {
  std::vector<std::uint32_t> before;  // [stage * up.packs() + up]: downs that run before it
  double makespan{};
};

/// The rule, and its storage. A stage that is free runs the next up if that is ready; otherwise the next down if that
/// is ready and allowed; otherwise it waits for the one that comes first. Where an up and a down are both ready, the
/// order that was found on the mirror image decides; without such an order the up runs.
///
/// Decisions are the same as in a simulation that goes in order of time. To be faster, each stage goes on alone as long
/// as nothing that it does not know yet can matter: a pack that has not left its neighbour arrives no sooner than a
/// bound that the neighbour gives. Where no stage can go on in this way, the stage with the earliest start goes on, as
/// it would in order of time.
/// Source    conservative simulation with bounds as null messages (K. M. Chandy and J. Misra, 1979)
/// Complexity O(packs * stages) decisions, a few to a visit of a stage
class rule {
 public:
  /// Requires  `image`, if given, is an order of p.mirrored()
  void run(const pipeline& p, const order* image, order& out) {
    down_at_.resize(p.down.packs() * p.stages);
    up_at_.resize(p.up.packs() * p.stages);
    out.before.resize(p.up.packs() * p.stages);
    states_.clear();
    for (std::size_t r = 0; r < p.stages; ++r)
      states_.push_back({.down_cell = p.down.cell(0, r), .up_cell = p.up.cell(0, r), .allowed = p.caps[p.row[r]]});
    std::size_t from = 0;
    for (std::size_t left = (p.down.packs() + p.up.packs()) * p.stages; left > 0;) {
      std::size_t run = 0;
      for (std::size_t r = from; r + 1 < p.stages; ++r) run += visit(p, image, out, r, false);
      for (std::size_t r = p.stages; r-- > 0;) run += visit(p, image, out, r, false);
      from = 1;  // nothing has changed since the visit of stage 0
      if (run == 0) {
        const auto sooner = [](const stage_state& a, const stage_state& b) { return a.start < b.start; };
        const auto first = std::min_element(states_.begin(), states_.end(), sooner);
        SLIMPACK_ASSERT(first->start != never, "memory_cap::check passed, so no stage waits for ever");
        run = visit(p, image, out, static_cast<std::size_t>(first - states_.begin()), true);
        from = 0;
      }
      left -= run;
    }
    out.makespan = 0;
    for (const stage_state& s : states_) out.makespan = std::max(out.makespan, s.free);
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// One stage as far as it has run.
  struct stage_state {
    std::ptrdiff_t down_cell{};  // of its next down
    std::ptrdiff_t up_cell{};
    std::uint32_t downs{};
    std::uint32_t ups{};
    std::uint32_t allowed{};  // downs
    double free{};
    double start{};         // of what it runs next, as far as it knows its inputs
    double down_arrival{};  // its next down arrives at the stage that it flows to no sooner
    double up_arrival{};
  };

  /// Runs a stage as far as it can decide, and at least once if `first` of all. Returns how much it has run.
  std::size_t visit(const pipeline& p, const order* image, order& out, std::size_t r, bool first) {
    const bool is_last = r + 1 == p.stages;
    const auto downs = static_cast<std::uint32_t>(p.down.packs());
    const auto ups = static_cast<std::uint32_t>(p.up.packs());
    const std::uint32_t* const allowed = &p.caps[p.row[r]];
    const std::uint32_t* const preferred = image == nullptr ? nullptr : &image->before[r * downs];
    std::uint32_t* const before = out.before.data() + r * ups;
    double* const down_at = down_at_.data();
    double* const up_at = up_at_.data();
    stage_state s = states_[r];
    const std::uint32_t ran = s.downs + s.ups;
    // What has arrived, and when what comes next may. The first stage has all downs; the last turns those it has run.
    const std::uint32_t downs_here = r == 0 ? downs : states_[r - 1].downs;
    const double down_bound = r == 0 ? 0 : states_[r - 1].down_arrival;
    const std::uint32_t ups_here = is_last ? s.ups : states_[r + 1].ups;
    const double up_bound = is_last ? 0 : states_[r + 1].up_arrival;
    while (true) {
      double down = never;
      double up = never;
      double unknown = never;  // nothing that matters arrives sooner, beside what has arrived
      if (s.downs < s.allowed) {
        if (s.downs < downs_here)
          down = r == 0 ? s.free : std::max(s.free, down_at[s.down_cell]);
        else
          unknown = down_bound;
      }
      if (is_last) {
        if (s.ups < ups && p.need[s.ups] <= s.downs) up = s.free;
      } else if (s.ups < ups_here) {
        up = std::max(s.free, up_at[s.up_cell]);
      } else if (s.ups < ups) {
        unknown = std::min(unknown, up_bound);
      }
      s.start = std::min(down, up);
      if (s.start == never || (s.start >= unknown && !first)) break;
      first = false;
      if (up < down || (up == down && (preferred == nullptr || preferred[downs - 1 - s.downs] < ups - s.ups))) {
        s.free = s.start + p.up.time(s.up_cell);
        if (r > 0) up_at[s.up_cell - 1] = s.free + p.up.message(s.up_cell);
        before[s.ups] = s.downs;
        s.up_cell += p.up.next();
        s.allowed = allowed[++s.ups];
      } else {
        s.free = s.start + p.down.time(s.down_cell);
        if (!is_last) down_at[s.down_cell + 1] = s.free + p.down.message(s.down_cell);
        s.down_cell += p.down.next();
        ++s.downs;
      }
    }
    // What is not allowed or not turned yet waits for one more of the other way.
    double down = std::max(s.free, s.downs < downs_here && r > 0 ? down_at[s.down_cell] : down_bound);
    double up = std::max(s.free, s.ups < ups_here && !is_last ? up_at[s.up_cell] : up_bound);
    if (s.ups < ups && s.downs >= s.allowed) down = up + p.up.time(s.up_cell);
    if (is_last && s.ups < ups && p.need[s.ups] > s.downs) up = down + p.down.time(s.down_cell);
    if (s.downs < downs && !is_last) s.down_arrival = down + p.down.time(s.down_cell) + p.down.message(s.down_cell);
    if (s.ups < ups && r > 0) s.up_arrival = up + p.up.time(s.up_cell) + p.up.message(s.up_cell);
    states_[r] = s;
    return s.downs + s.ups - ran;
  }

  std::vector<double> down_at_;  // per cell, when a pack's input arrives; not of the first stage's downs
  std::vector<double> up_at_;    // not of the last stage's ups
  std::vector<stage_state> states_;
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
      for (; run < found.before[r * ups + i]; ++run) out[r].push_back({instruction_kind::forward, {run}});
      out[r].push_back({instruction_kind::backward, {i}});
    }
    for (; run < downs; ++run) out[r].push_back({instruction_kind::forward, {run}});
  }
  return out;
}

/// The same order, of a mirror image with so many downs and ups, as an order of the step itself.
[[nodiscard]] inline order mirrored(const order& found, std::size_t stages, std::size_t downs, std::size_t ups) {
  order out;
  out.makespan = found.makespan;
  out.before.resize(downs * stages);
  for (std::size_t r = 0; r < stages; ++r) {
    std::size_t i = 0;  // ups of the image before its down j
    for (std::size_t j = 0; j < downs; ++j) {
      while (i < ups && found.before[r * ups + i] <= j) ++i;
      out.before[r * downs + (downs - 1 - j)] = static_cast<std::uint32_t>(ups - i);
    }
  }
  return out;
}

/// An order, and whether it is of the step or of its mirror image.
template <class Order>
struct found_order {
  Order best{};
  bool of_image{};
};

/// Runs a rule on a step and on its mirror image by turns, the last run on the step, each with the order found the time
/// before; the shortest order.
/// Requires  passes >= 1; `image` is read where passes > 1
template <class Order, class Rule, class Pipeline>
[[nodiscard]] found_order<Order> by_turns(Rule&& rule, const Pipeline& step, const Pipeline& image, int passes) {
  Order found[2];  // the last on the step, and on its image
  found_order<Order> result;
  for (int left = passes; left > 0; --left) {
    const bool on_image = left % 2 == 0;
    Order& here = found[on_image];
    rule.run(on_image ? image : step, left == passes ? nullptr : &found[!on_image], here);
    if (left == passes || here.makespan <= result.best.makespan) result.best = here, result.of_image = on_image;
  }
  return result;
}

}  // namespace slimpack::detail::greedy

#endif
