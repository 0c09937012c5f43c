#ifndef SLIMPACK_TESTING_NAIVE_HPP
#define SLIMPACK_TESTING_NAIVE_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// The rules of design section 6 in slow and obvious code, told of slices and not of packs' turns: what the laws hold
/// the library's quick code against. Shares nothing with the simulator but the vocabulary of core/.
namespace slimpack::testing::naive {

/// Slices of each sequence in the order in which a pass runs them.
[[nodiscard]] inline std::map<sequence_id, std::vector<slice>> by_sequence(const micropacks& packs) {
  std::map<sequence_id, std::vector<slice>> slices;
  for (const slice& s : packs.slices()) slices[s.sequence].push_back(s);
  return slices;
}

/// Why the slices of a sequence do not run through it once, front to back or back to front; nothing if they do.
[[nodiscard]] inline std::optional<std::string> gap(std::span<const slice> slices, tokens length, pass p) {
  tokens at = p == pass::forward ? tokens{0} : length;
  for (const slice& s : slices) {
    const tokens near = p == pass::forward ? s.begin : s.end();
    if (s.length <= tokens{0}) return "a slice of " + std::to_string(s.length.value) + " tokens";
    if (near != at) return "at " + std::to_string(near.value) + " instead of " + std::to_string(at.value);
    at = p == pass::forward ? s.end() : s.begin;
  }
  const tokens goal = p == pass::forward ? length : tokens{0};
  if (at != goal) return "stops at " + std::to_string(at.value) + " instead of " + std::to_string(goal.value);
  return std::nullopt;
}

/// Which backward packs have a W of their own: weight_timing::apart.
using apart_packs = std::span<const std::uint8_t>;

[[nodiscard]] inline bool is_apart(apart_packs apart, std::size_t pack) {
  return pack < apart.size() && apart[pack] != 0;
}

/// Why a stage's program does not run each pack once per chunk, in run order; nothing if it does. And each W once per
/// chunk, in run order and after its backward.
[[nodiscard]] inline std::optional<std::string> miscount(const program& code, const partition& packs, const shape& on,
                                                         apart_packs apart = {}) {
  std::map<std::pair<pass, std::uint32_t>, std::size_t> done;
  std::map<std::uint32_t, std::vector<std::size_t>> weights;  // per chunk, packs whose W has run
  for (const instruction& i : code) {
    if (i.chunk >= static_cast<std::uint32_t>(on.chunks))
      return name_of(i, 2) + " of " + std::to_string(on.chunks) + " chunks";
    if (i.weights_only) {
      if (i.pass != pass::backward || i.pack.value >= done[{pass::backward, i.chunk}])
        return name_of(i, 2) + " before its backward";
      weights[i.chunk].push_back(i.pack.value);
      continue;
    }
    std::size_t& next = done[{i.pass, i.chunk}];
    if (i.pack.value != next) return name_of(i, 2) + " where pack " + std::to_string(next) + " is next";
    ++next;
  }
  std::vector<std::size_t> wanted;
  for (std::size_t pack = 0; pack < packs.backward.size(); ++pack)
    if (is_apart(apart, pack)) wanted.push_back(pack);
  for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(on.chunks); ++c)
    if (weights[c] != wanted)
      return "W of " + std::to_string(weights[c].size()) + " packs, or in another order, where " +
             std::to_string(wanted.size()) + " packs run theirs apart";
  for (const pass p : {pass::forward, pass::backward})
    for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(on.chunks); ++c)
      if (done[{p, c}] != packs.of(p).size())
        return std::to_string(done[{p, c}]) + " of " + std::to_string(packs.of(p).size()) + " packs";
  return std::nullopt;
}

/// What happened when programs were run.
struct outcome {
  std::optional<std::string> stuck;  ///< which instruction each stage waits for, if they wait for ever
  seconds makespan;
  std::vector<seconds> busy;  ///< per stage
};

/// Runs the programs by rules 1 to 3, slice by slice: an instruction runs when its tokens have arrived from the part
/// before, its sequences' earlier (backward: later) tokens have run on its part, and, on the last part, a backward's
/// sequences have run forward to their ends. A W waits for nothing but its stage. `time` is asked (instruction, part),
/// `message` (pass, pack, part).
/// Requires  miscount finds nothing            Complexity  O(instructions * stages * slices)
template <class Time, class Message>
[[nodiscard]] outcome run(const partition& packs, std::span<const program> programs, const shape& on, const Time& time,
                          const Message& message) {
  const std::size_t parts = static_cast<std::size_t>(on.parts());
  std::map<sequence_id, tokens> length;
  for (const slice& s : packs.forward.slices()) length[s.sequence] = std::max(length[s.sequence], s.end());
  std::vector<std::map<sequence_id, tokens>> front(parts);                  // tokens [0, front) have run forward
  std::vector<std::map<sequence_id, tokens>> back(parts, length);           // tokens [back, length) have run backward
  std::map<std::tuple<pass, std::uint32_t, std::size_t>, seconds> arrival;  // of (pass, pack) at a part
  std::vector<std::size_t> next(programs.size(), 0);
  std::vector<seconds> free(programs.size());
  outcome found;
  found.busy.resize(programs.size());

  const auto try_next = [&](std::size_t r) {
    const instruction& i = programs[r][next[r]];
    const std::size_t part = i.chunk * programs.size() + r;
    if (i.weights_only) {
      const seconds duration = time(i, part);
      free[r] += duration;
      found.busy[r] += duration;
      found.makespan = std::max(found.makespan, free[r]);
      ++next[r];
      return true;
    }
    const bool forward = i.pass == pass::forward;
    const bool first = forward ? part == 0 : part == parts - 1;
    const bool last = forward ? part == parts - 1 : part == 0;
    const auto sent = arrival.find({i.pass, i.pack.value, part});
    if (!first && sent == arrival.end()) return false;
    std::map<sequence_id, tokens> border = forward ? front[part] : back[part];
    for (const slice& s : packs.of(i.pass)[i.pack.value]) {
      if (!forward && first && front[part][s.sequence] != length[s.sequence]) return false;
      tokens& at = border[s.sequence];
      if (at != (forward ? s.begin : s.end())) return false;
      at = forward ? s.end() : s.begin;
    }
    (forward ? front[part] : back[part]) = std::move(border);
    const seconds start = first ? free[r] : std::max(free[r], sent->second);
    const seconds duration = time(i, part);
    free[r] = start + duration;
    found.busy[r] += duration;
    found.makespan = std::max(found.makespan, free[r]);
    if (!last)
      arrival[{i.pass, i.pack.value, forward ? part + 1 : part - 1}] = free[r] + message(i.pass, i.pack.value, part);
    ++next[r];
    return true;
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t r = 0; r < programs.size(); ++r)
      while (next[r] < programs[r].size() && try_next(r)) progress = true;
  }
  for (std::size_t r = 0; r < programs.size(); ++r)
    if (next[r] < programs[r].size())
      found.stuck = found.stuck.value_or("") + " stage " + std::to_string(r) + " at " + name_of(programs[r][next[r]], 2);
  return found;
}

/// Runs the programs with no regard to time: do they end?
[[nodiscard]] inline outcome run(const partition& packs, std::span<const program> programs, const shape& on) {
  return run(
      packs, programs, on, [](const instruction&, std::size_t) { return seconds{}; },
      [](pass, std::uint32_t, std::size_t) { return seconds{}; });
}

/// Pieces keep nothing beside their tokens.
struct nothing_kept {
  [[nodiscard]] constexpr bytes operator()(const slice&, int /*stage*/) const noexcept { return {}; }
};

/// The most a stage holds while it runs its program: what memory_rates says, counted per sequence, and what
/// kept(piece, stage) says, counted per piece: acquired when its forward begins, released when its backward ends; its
/// tokens stay until its W ends, where it has one.
template <class Kept = nothing_kept>
[[nodiscard]] double peak_memory(const partition& packs, const program& code, const memory_rates& rates,
                                 const shape& on, int stage = 0, const Kept& kept = {},
                                 apart_packs apart = {}) {
  using place = std::pair<std::uint32_t, sequence_id>;  // chunk, sequence
  std::map<sequence_id, tokens> length;
  for (const slice& s : packs.forward.slices()) length[s.sequence] = std::max(length[s.sequence], s.end());
  std::map<place, std::int64_t> live;    // tokens forwarded and not backwarded
  std::map<place, std::int64_t> opened;  // of sequences whose backward is under way: tokens left
  std::map<sequence_id, std::set<tokens>> cuts;  // of either pass
  for (const pass p : {pass::forward, pass::backward})
    for (const slice& s : packs.of(p).slices()) cuts[s.sequence].insert({s.begin, s.end()});
  std::map<place, double> pieces;  // forwarded and not backwarded: whole bytes that they keep
  const auto whole_bytes = [&](const slice& s) {
    double sum = 0;
    for (auto at = cuts[s.sequence].find(s.begin); *at < s.end(); ++at)
      sum += std::ceil(kept(slice{s.sequence, *at, *std::next(at) - *at}, stage).value);
    return sum;
  };
  const auto beside = [&] {
    double sum = 0;
    for (const auto& [where, n] : pieces) sum += n;
    return sum / on.chunks;
  };
  const auto total = [&](const std::map<place, std::int64_t>& held) {
    std::int64_t sum = 0;
    for (const auto& [where, n] : held) sum += n;
    return static_cast<double>(sum) / on.chunks;
  };
  double peak = rates.fixed;
  for (const instruction& i : code) {
    const std::span<const slice> pack = packs.of(i.pass)[i.pack.value];
    const auto running = static_cast<double>(size_of(pack).value);  // not shared: logits belong to one chunk
    if (i.pass == pass::forward) {
      for (const slice& s : pack) live[{i.chunk, s.sequence}] += s.length.value;
      for (const slice& s : pack) pieces[{i.chunk, s.sequence}] += whole_bytes(s);
      peak = std::max(peak, rates.in_forward(total(live), total(opened), running) + beside());
      continue;
    }
    if (i.weights_only) {
      peak = std::max(peak, rates.in_backward(total(live), total(opened), 0) + beside());
      for (const slice& s : pack) live[{i.chunk, s.sequence}] -= s.length.value;
      continue;
    }
    for (const slice& s : pack)  // a sequence that runs backward in one slice needs no accumulator
      if (s.end() == length[s.sequence] && s.begin > tokens{0}) opened[{i.chunk, s.sequence}] = s.end().value;
    peak = std::max(peak, rates.in_backward(total(live), total(opened), running) + beside());
    for (const slice& s : pack) {
      pieces[{i.chunk, s.sequence}] -= whole_bytes(s);
      if (!is_apart(apart, i.pack.value)) live[{i.chunk, s.sequence}] -= s.length.value;
      if (const auto open = opened.find({i.chunk, s.sequence}); open != opened.end()) open->second = s.begin.value;
    }
  }
  return peak;
}

/// Equal up to rounding: less than a token or a byte in any memory that exists.
[[nodiscard]] inline bool at_most(double held, double limit) {
  return held <= limit * (1 + 1e-12);
}

}  // namespace slimpack::testing::naive

#endif
