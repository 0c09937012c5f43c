#ifndef SLIMPACK_TESTS_SUPPORT_PLAIN_LIST_HPP
#define SLIMPACK_TESTS_SUPPORT_PLAIN_LIST_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/memory_cap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// The event-driven rule of schedules::list in its plainest form: one event after the other, in order of time, the step
/// and its mirror image written out. Slow, and what the fast one must agree with.
namespace slimpack::tests::plain {

/// Packs that flow one way through the stages. Shapes: time, message: [pack * stages + stage].
struct flow {
  std::size_t packs{};
  std::vector<double> time;
  std::vector<double> message;
};

/// Two flows through a pipeline: `down` goes from stage 0 to the last, turns there, and `up` comes back.
/// In a step down is forward and up is backward; in its mirror image down is backward, in reversed order.
struct pipeline {
  std::size_t stages{};
  flow down;
  flow up;
  std::vector<std::uint32_t> need;   // per up pack, downs that the last stage must have run before it
  std::vector<std::uint32_t> allow;  // [stage * (up.packs + 1) + ups done], the most downs

  static pipeline of(const workload& work, const schedules::memory_cap& cap) {
    pipeline p;
    p.stages = static_cast<std::size_t>(work.shape.stages);
    const auto copy = [&](pass way) {
      flow f;
      f.packs = work.times.packs(way);
      for (const seconds s : work.times.calls[way]) f.time.push_back(s.value);
      for (const seconds s : work.times.messages[way]) f.message.push_back(s.value);
      return f;
    };
    p.down = copy(pass::forward);
    p.up = copy(pass::backward);
    for (const std::uint32_t turn : work.turn) p.need.push_back(turn + 1);
    for (std::size_t r = 0; r < p.stages; ++r)
      p.allow.insert(p.allow.end(), cap.allowed(r), cap.allowed(r) + p.up.packs + 1);
    return p;
  }

  /// Time reversed: what ended first starts last, messages run the other way, and a down pack needs the ups that
  /// used to need it.
  [[nodiscard]] pipeline mirrored() const {
    pipeline m;
    m.stages = stages;
    m.down = reversed(up, true);
    m.up = reversed(down, false);
    m.need.resize(down.packs);
    std::size_t i = 0;  // first up pack that needs down pack j
    for (std::size_t j = 0; j < down.packs; ++j) {
      while (i < up.packs && need[i] <= j) ++i;
      m.need[down.packs - 1 - j] = static_cast<std::uint32_t>(up.packs - i);
    }
    m.allow.resize(stages * (down.packs + 1));
    for (std::size_t r = 0; r < stages; ++r) {
      const std::uint32_t* here = &allow[r * (up.packs + 1)];
      std::size_t held_back = 0;  // first backwards, which the mirror image may not have run yet
      for (std::size_t remain = 0; remain <= down.packs; ++remain) {
        while (held_back < up.packs && here[held_back] < remain) ++held_back;
        m.allow[r * (down.packs + 1) + (down.packs - remain)] = static_cast<std::uint32_t>(up.packs - held_back);
      }
    }
    return m;
  }

 private:
  /// Packs in reverse order. A message that left stage r for r - 1 now leaves r - 1 for r, and the other way round.
  [[nodiscard]] flow reversed(const flow& f, bool was_up) const {
    flow m;
    m.packs = f.packs;
    m.time.resize(f.time.size());
    m.message.resize(f.message.size());
    for (std::size_t i = 0; i < f.packs; ++i) {
      const std::size_t from = i * stages;
      const std::size_t to = (f.packs - 1 - i) * stages;
      for (std::size_t r = 0; r < stages; ++r) m.time[to + r] = f.time[from + r];
      for (std::size_t r = 0; r + 1 < stages; ++r) {
        if (was_up)
          m.message[to + r] = f.message[from + r + 1];
        else
          m.message[to + r + 1] = f.message[from + r];
      }
    }
    return m;
  }
};

/// What the rule decided: one program per stage, with down packs as forward; and the end of the last.
struct run {
  std::vector<program> programs;
  double makespan{};
};

/// Runs the rule. With `prior`, a stage that may choose between a ready up and a ready down takes the one that comes
/// earlier in its program there; without, the up.
inline run schedule(const pipeline& p, const run* prior) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const std::size_t stages = p.stages;
  const std::size_t last = stages - 1;
  // When a pack's input arrives at a stage; of the first stage's downs, the start of the step.
  std::vector<double> down_at(p.down.packs * stages, never);
  std::vector<double> up_at(p.up.packs * stages, never);
  for (std::size_t i = 0; i < p.down.packs; ++i) down_at[i * stages] = 0;
  run out;
  out.programs.resize(stages);
  for (program& code : out.programs) code.reserve(p.down.packs + p.up.packs);
  struct stage_state {
    double free{};
    std::uint32_t downs{};
    std::uint32_t ups{};
    std::uint32_t prior_at{};  // first instruction of the prior program that has not run here
    bool up_next{};
  };
  std::vector<stage_state> state(stages);
  std::vector<double> next(stages, never);
  const auto prior_says_up = [&](std::size_t r) {
    stage_state& s = state[r];
    const program& code = prior->programs[r];
    while (code[s.prior_at].pack.value < (code[s.prior_at].pass() == pass::backward ? s.ups : s.downs)) ++s.prior_at;
    return code[s.prior_at].pass() == pass::backward;
  };
  const auto decide = [&](std::size_t r) {
    stage_state& s = state[r];
    double down = never;
    double up = never;
    if (s.downs < p.down.packs && s.downs < p.allow[r * (p.up.packs + 1) + s.ups])
      down = std::max(s.free, down_at[s.downs * stages + r]);
    if (s.ups < p.up.packs) {
      if (r < last)
        up = std::max(s.free, up_at[s.ups * stages + r]);
      else if (s.downs >= p.need[s.ups])
        up = s.free;
    }
    s.up_next = up < down || (up == down && (!prior || up == never || prior_says_up(r)));
    next[r] = std::min(up, down);
  };
  for (std::size_t r = 0; r < stages; ++r) decide(r);
  for (std::size_t left = (p.down.packs + p.up.packs) * stages; left > 0; --left) {
    std::size_t r = 0;
    double start = next[0];
    for (std::size_t other = 1; other < stages; ++other)
      if (next[other] < start) start = next[other], r = other;
    SLIMPACK_ASSERT(start != never, "memory_cap::check passed, so some stage can go on");
    stage_state& s = state[r];
    // A neighbour decides anew only if what now arrives is what it waits for.
    if (s.up_next) {
      const std::size_t cell = s.ups * stages + r;
      s.free = start + p.up.time[cell];
      out.programs[r].push_back({instruction_kind::backward, {s.ups}, 0});
      if (r > 0) {
        up_at[cell - 1] = s.free + p.up.message[cell];
        if (state[r - 1].ups == s.ups) decide(r - 1);
      }
      ++s.ups;
    } else {
      const std::size_t cell = s.downs * stages + r;
      s.free = start + p.down.time[cell];
      out.programs[r].push_back({instruction_kind::forward, {s.downs}, 0});
      if (r < last) {
        down_at[cell + 1] = s.free + p.down.message[cell];
        if (state[r + 1].downs == s.downs) decide(r + 1);
      }
      ++s.downs;
    }
    out.makespan = std::max(out.makespan, s.free);
    decide(r);
  }
  return out;
}

/// A run of p.mirrored() as a run of p.
inline run mirrored(const pipeline& p, const run& image) {
  run out;
  out.makespan = image.makespan;
  for (const program& code : image.programs) {
    program turned;
    turned.reserve(code.size());
    for (auto i = code.rbegin(); i != code.rend(); ++i) {
      if (i->pass() == pass::forward)
        turned.push_back({instruction_kind::backward, {static_cast<std::uint32_t>(p.up.packs) - 1 - i->pack.value}, 0});
      else
        turned.push_back(
            {instruction_kind::forward, {static_cast<std::uint32_t>(p.down.packs) - 1 - i->pack.value}, 0});
    }
    out.programs.push_back(std::move(turned));
  }
  return out;
}

/// What `passes` runs of the rule find, on the mirror image and the step by turns, the last on the step: the last of
/// the shortest. Requires passes >= 1.
inline std::vector<program> list(const workload& work, int passes) {
  const pipeline there = pipeline::of(work, schedules::memory_cap(work));
  const pipeline image = there.mirrored();
  run best;
  best.makespan = std::numeric_limits<double>::infinity();
  run prior;
  for (int left = passes; left > 0; --left) {
    const bool on_image = left % 2 == 0;
    const run here = schedule(on_image ? image : there, left == passes ? nullptr : &prior);
    prior = mirrored(on_image ? there : image, here);
    if (here.makespan <= best.makespan) best = on_image ? prior : here;
  }
  return best.programs;
}

}  // namespace slimpack::tests::plain

#endif
