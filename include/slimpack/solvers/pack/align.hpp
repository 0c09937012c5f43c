#ifndef SLIMPACK_SOLVERS_PACK_ALIGN_HPP
#define SLIMPACK_SOLVERS_PACK_ALIGN_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <tuple>
#include <vector>

namespace slimpack::detail {

/// A cut of a pass: where two slices of a sequence touch.
struct pass_cut {
  sequence_id sequence;
  tokens at;
  tokens reach;  ///< of the smaller one of the two packs, all of its tokens
  tokens to;     ///< where it is moved
};

/// The cuts of a pass, by sequence and place.
[[nodiscard]] inline std::vector<pass_cut> pass_cuts_of(const micropacks& packs) {
  struct placed {
    slice of;
    tokens pack;
  };
  std::vector<placed> all;
  all.reserve(packs.slices().size());
  for (std::size_t i = 0; i < packs.size(); ++i) {
    const tokens size = size_of(packs[i]);
    for (const slice& s : packs[i]) all.push_back({s, size});
  }
  std::sort(all.begin(), all.end(), [](const placed& a, const placed& b) {
    return std::tie(a.of.sequence, a.of.begin) < std::tie(b.of.sequence, b.of.begin);
  });
  std::vector<pass_cut> cuts;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const slice& s = all[i].of;
    if (all[i - 1].of.sequence == s.sequence)
      cuts.push_back({s.sequence, s.begin, std::min(all[i - 1].pack, all[i].pack), s.begin});
  }
  return cuts;
}

/// Moves cuts to the nearest of some places, and to an end of their sequence, where that is no farther than a share of
/// the smaller pack beside them. Cuts keep their order.
/// Shapes    cuts: by sequence and place; places: likewise, after their moves; whole: all tokens of sequences, indexed
///           by sequence_id
inline void move_cuts(std::vector<pass_cut>& cuts, std::span<const pass_cut> places, std::span<const slice> whole,
                      double share) {
  std::size_t from = 0;  // the first place of the sequence that is not passed
  tokens least{};        // the cut before went there
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    pass_cut& c = cuts[i];
    if (i == 0 || cuts[i - 1].sequence != c.sequence) {
      least = whole[c.sequence.value].begin;
      while (from < places.size() && places[from].sequence < c.sequence) ++from;
    }
    const double reach = share * static_cast<double>(c.reach.value);
    std::int64_t nearest = -1;
    const auto offer = [&](tokens place) {
      const std::int64_t distance = std::abs(place.value - c.at.value);
      if (place < least || static_cast<double>(distance) > reach || (nearest >= 0 && distance >= nearest)) return;
      nearest = distance;
      c.to = place;
    };
    while (from + 1 < places.size() && places[from + 1].sequence == c.sequence && places[from + 1].to <= c.at) ++from;
    for (std::size_t k = from; k < std::min(from + 2, places.size()); ++k)
      if (places[k].sequence == c.sequence) offer(places[k].to);
    for (const pass p : both_passes) offer(whole[c.sequence.value].entry(p));
    if (nearest < 0) c.to = std::max(c.at, least);
    least = c.to;
  }
}

/// The packs of a pass with its cuts moved.
[[nodiscard]] inline micropacks cut_at(const micropacks& packs, std::span<const pass_cut> cuts) {
  const auto place_of = [&](sequence_id sequence, tokens at) {
    const auto found = std::lower_bound(cuts.begin(), cuts.end(), at, [&](const pass_cut& c, tokens to) {
      return c.sequence != sequence ? c.sequence < sequence : c.at < to;
    });
    return found != cuts.end() && found->sequence == sequence && found->at == at ? found->to : at;
  };
  micropacks made;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    for (const slice& s : packs[i]) {
      const tokens begin = place_of(s.sequence, s.begin), end = place_of(s.sequence, s.end());
      if (end > begin) made.push({s.sequence, begin, end - begin});
    }
    made.close();
  }
  return made;
}

/// Packs whose passes are cut at the same places where that changes the packs by little, so that the common refinement
/// has fewer pieces: forward cuts move to cuts of backward packs, which are more, smaller, and take longer for each
/// token; both move to the ends of sequences. A cut that has none of these so near stays where it is, and only one pass
/// has it.
/// share     of the smaller pack beside a cut, the farthest that it moves; farther where the cut before it has moved
///           past it
/// Law       packs cover the same tokens, in their order; cuts are cuts of either pass, so that the slicer chose them
/// Requires  sequences 0, 1, ... in both passes            Errors  none
/// Complexity O(slices log slices)
[[nodiscard]] inline partition aligned(const partition& packs, double share) {
  std::vector<slice> whole;
  for (const slice& s : packs.forward.slices()) {
    whole.resize(std::max(whole.size(), std::size_t{s.sequence.value} + 1));
    slice& all = whole[s.sequence.value];
    if (all.length == tokens{}) all = s;
    all.length = std::max(all.end(), s.end()) - std::min(all.begin, s.begin);
    all.begin = std::min(all.begin, s.begin);
  }
  by_pass<std::vector<pass_cut>> cuts{pass_cuts_of(packs.forward), pass_cuts_of(packs.backward)};
  move_cuts(cuts.backward, {}, whole, share);
  move_cuts(cuts.forward, cuts.backward, whole, share);
  return {cut_at(packs.forward, cuts.forward), cut_at(packs.backward, cuts.backward)};
}

}  // namespace slimpack::detail

#endif
