#ifndef SLIMPACK_TESTING_NAIVE_SLICES_HPP
#define SLIMPACK_TESTING_NAIVE_SLICES_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>
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
/// Shapes    whole: all of the sequence's tokens
[[nodiscard]] inline std::optional<std::string> gap(std::span<const slice> slices, const slice& whole, pass p) {
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

/// Why a pass of packs does not run through paths: a slice that comes before all of what it waits for has run, forward
/// its sequence's parent, backward all sequences that go on behind its own; nothing if it runs through.
/// Shapes    batch: by sequence_id
[[nodiscard]] inline std::optional<std::string> broken_path(const micropacks& packs, std::span<const sequence> batch,
                                                            pass p) {
  std::vector<std::vector<sequence_id>> awaited(batch.size());
  std::vector<std::int64_t> left;  // tokens that have not run
  for (const sequence& s : batch) {
    left.push_back(s.length.value);
    if (s.is_root()) continue;
    if (p == pass::forward)
      awaited[s.id.value].push_back(s.parent);
    else
      awaited[s.parent.value].push_back(s.id);
  }
  for (const slice& s : packs.slices()) {
    for (const sequence_id other : awaited[s.sequence.value])
      if (left[other.value] > 0)
        return "sequence " + std::to_string(s.sequence.value) + " runs before sequence " + std::to_string(other.value) +
               " has run";
    left[s.sequence.value] -= s.length.value;
  }
  return std::nullopt;
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
