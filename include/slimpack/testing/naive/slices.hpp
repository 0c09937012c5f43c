#ifndef SLIMPACK_TESTING_NAIVE_SLICES_HPP
#define SLIMPACK_TESTING_NAIVE_SLICES_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::testing::naive {

/// Slices of each sequence in the order in which a pass runs them.
[[nodiscard]] inline std::map<sequence_id, std::vector<slice>> by_sequence(const micropacks& packs) {
  std::map<sequence_id, std::vector<slice>> slices;
  for (const slice& s : packs.slices()) slices[s.sequence].push_back(s);
  return slices;
}

/// Why the slices of a sequence do not run through it once, front to back or back to front; nothing if they do.
/// begin: how many tokens its path has before it
[[nodiscard]] inline std::optional<std::string> gap(std::span<const slice> slices, tokens length, pass p,
                                                    tokens begin = {}) {
  const slice whole{{}, begin, length};
  tokens at = whole.entry(p);
  for (const slice& s : slices) {
    if (s.length <= tokens{0}) return "a slice of " + std::to_string(s.length.value) + " tokens";
    if (s.entry(p) != at) return "at " + std::to_string(s.entry(p).value) + " instead of " + std::to_string(at.value);
    at = s.exit(p);
  }
  if (at != whole.exit(p))
    return "stops at " + std::to_string(at.value) + " instead of " + std::to_string(whole.exit(p).value);
  return std::nullopt;
}

/// Why a sequence begins before another that it waits for has ended; nothing if it does not.
/// first, other: ids            Requires  packs with slices of both
[[nodiscard]] inline std::optional<std::string> overlap(const micropacks& packs, sequence_id first, sequence_id other) {
  std::size_t at = 0, end = 0, begin = packs.slices().size();
  for (const slice& s : packs.slices()) {
    if (s.sequence == first) end = at;
    if (s.sequence == other && begin > at) begin = at;
    ++at;
  }
  if (end < begin) return std::nullopt;
  return "slice " + std::to_string(begin) + " is of sequence " + std::to_string(other.value) + ", slice " +
         std::to_string(end) + " of sequence " + std::to_string(first.value);
}

/// The tokens of a sequence in packs, as the runs that their slices make up.
[[nodiscard]] inline std::vector<std::pair<tokens, tokens>> runs_of(const micropacks& packs, sequence_id sequence) {
  std::map<tokens, tokens> slices;
  for (const slice& s : packs.slices())
    if (s.sequence == sequence) slices[s.begin] = s.end();
  std::vector<std::pair<tokens, tokens>> runs;
  for (const auto& [begin, end] : slices) {
    if (!runs.empty() && runs.back().second == begin)
      runs.back().second = end;
    else
      runs.push_back({begin, end});
  }
  return runs;
}

}  // namespace slimpack::testing::naive

#endif
