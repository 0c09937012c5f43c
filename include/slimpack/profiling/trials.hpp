#ifndef SLIMPACK_PROFILING_TRIALS_HPP
#define SLIMPACK_PROFILING_TRIALS_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::profiling {

/// Sequences of one length side by side, cut alike: forward from the first slices to the last, a pack for each, then
/// back.
struct trial {
  std::int64_t copies{1};
  std::vector<tokens> slices;
  bool apart{};  ///< weight gradients run in calls of their own

  [[nodiscard]] tokens length() const {
    tokens sum{};
    for (const tokens n : slices) sum += n;
    return sum;
  }
};

/// What is run to know what slices, packs and pairs take. Whole sequences of rising length, short ones in company as in
/// training; the longest cut into slices of all sizes, in two orders, so that each meets several prefixes; the shortest
/// alone and joined. Whole sequences again where weight gradients may run apart.
/// Shapes    longest: of a sequence; company: tokens of a pack of short ones
/// Requires  longest >= 1            Complexity  O(log longest) trials of the longest sequence
[[nodiscard]] inline std::vector<trial> trials_for(tokens longest, tokens quantum, bool apart,
                                                   tokens company = {1024}) {
  std::vector<trial> all;
  const std::int64_t most = longest.value, least = std::min<std::int64_t>(most, 16);
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = least; n < most; n *= 2) lengths.push_back(n);
  lengths.push_back(most);
  const auto copies = [&](std::int64_t n) { return std::max<std::int64_t>(company.value / n, 1); };
  for (const std::int64_t n : lengths) all.push_back({copies(n), {{n}}});
  // 1, 2, 4, ... quanta up to half of the longest, then again from 1. The last may be off the quantum.
  std::vector<tokens> mixed;
  std::int64_t n = std::min(quantum.value, most);
  for (std::int64_t at = 0; at < most; at += mixed.back().value) {
    mixed.push_back({std::min(n, most - at)});
    n = 4 * n > most ? std::min(quantum.value, most) : 2 * n;
  }
  all.push_back({1, mixed});
  std::reverse(mixed.begin(), mixed.end() - 1);
  all.push_back({1, std::move(mixed)});
  for (const std::int64_t together : {1, 8}) all.push_back({together, {{least}}});
  if (apart)
    for (const std::int64_t whole : lengths) all.push_back({copies(whole), {{whole}}, true});
  return all;
}

/// The plan of a trial: all forwards chunk after chunk, then all backwards. Each stage runs every pack on each chunk.
[[nodiscard]] inline plan plan_of(const trial& t, shape on) {
  on = with_whole_vocabulary(std::move(on));
  on.replicas = 1, on.memory.reset();
  on.quantum = {1};  // the last slice of the longest may lie before others
  plan p;
  p.shape = on;
  replica_plan& r = p.replicas.emplace_back();
  for (std::int64_t s = 0; s < t.copies; ++s) {
    p.lengths.push_back(t.length());
    r.sequences.push_back({static_cast<std::uint32_t>(s)});
  }
  tokens at{};
  std::vector<std::pair<tokens, tokens>> slices;  // begin, length
  for (const tokens n : t.slices) slices.emplace_back(at, n), at += n;
  const auto push = [&](micropacks& packs, const std::pair<tokens, tokens>& s) {
    for (const sequence_id id : r.sequences) packs.push({id, s.first, s.second});
    packs.close();
  };
  for (auto s = slices.begin(); s != slices.end(); ++s) push(r.partition.forward, *s);
  for (auto s = slices.rbegin(); s != slices.rend(); ++s) push(r.partition.backward, *s);
  const auto packs = static_cast<std::uint32_t>(slices.size()), chunks = static_cast<std::uint32_t>(on.chunks);
  program code;
  for (std::uint32_t c = 0; c < chunks; ++c)
    for (std::uint32_t i = 0; i < packs; ++i) code.push_back({instruction_kind::forward, {i}, c});
  for (std::uint32_t c = chunks; c-- > 0;)
    for (std::uint32_t i = 0; i < packs; ++i) {
      code.push_back({instruction_kind::backward, {i}, c});
      if (t.apart) code.push_back({instruction_kind::weights, {i}, c});
    }
  r.programs.assign(static_cast<std::size_t>(on.stages), code);
  if (t.apart) r.times.apart.flags.assign(packs, 1);
  return p;
}

}  // namespace slimpack::profiling

#endif
