#ifndef SLIMPACK_PRICING_REFINE_HPP
#define SLIMPACK_PRICING_REFINE_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slimpack {

namespace detail {

/// Where the slices of both passes begin: the places at which the common refinement cuts.
class common_cuts {
 public:
  explicit common_cuts(const partition& packs) {
    cuts_.reserve(packs.forward.slices().size() + packs.backward.slices().size());
    for (const pass p : {pass::forward, pass::backward})
      for (const slice& s : packs.of(p).slices()) cuts_.push_back({s.sequence, s.begin});
    std::sort(cuts_.begin(), cuts_.end(), before);
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
  }

  /// Calls visit(piece) for each piece of a slice, in order; in a backward pass from the last to the first.
  template <class Visit>
  void each_piece(const slice& s, pass p, Visit&& visit) const {
    each_piece_while(s, p, [&](const slice& piece) {
      visit(piece);
      return true;
    });
  }
  /// Adds packs of a pass to others, each slice in pieces.
  void refine(const micropacks& packs, pass p, micropacks& to) const {
    for (std::size_t i = 0; i < packs.size(); ++i) {
      for (const slice& s : packs[i]) each_piece(s, p, [&to](const slice& piece) { to.append(piece); });
      to.close();
    }
  }
  /// As each_piece, until visit gives false.
  template <class Visit>
  void each_piece_while(const slice& s, pass p, Visit&& visit) const {
    const auto first = std::lower_bound(cuts_.begin(), cuts_.end(), cut{s.sequence, s.begin}, before);
    const auto last = std::lower_bound(first, cuts_.end(), cut{s.sequence, s.end()}, before);
    const auto piece = [&](auto at) {
      const tokens end = at + 1 == last ? s.end() : (at + 1)->at;
      return visit(slice{s.sequence, at->at, end - at->at});
    };
    if (p == pass::forward)
      for (auto at = first; at != last && piece(at); ++at) {
      }
    else
      for (auto at = last; at != first && piece(--at);) {
      }
  }

 private:
  struct cut {
    sequence_id sequence;
    tokens at;
    friend bool operator==(const cut&, const cut&) = default;
  };
  static bool before(const cut& a, const cut& b) noexcept {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.at < b.at;
  }
  std::vector<cut> cuts_;
};

}  // namespace detail

/// The same packs with every sequence cut where either pass cuts it: forward packs list the pieces, backward packs list
/// the same pieces, last first. A trainer whose backward takes whole forward pieces can run it (backward_cuts).
/// Law       the pieces of both passes are equal as sets, so every backward slice is a union of forward pieces; packs,
///           their tokens and their run order stay; refining again changes nothing
/// Requires  both passes cover the same tokens
/// Errors    none            Complexity  O(slices log slices)
[[nodiscard]] inline partition common_refinement(const partition& packs) {
  const detail::common_cuts cuts(packs);
  partition refined;
  for (const pass p : {pass::forward, pass::backward}) cuts.refine(packs.of(p), p, refined.of(p));
  return refined;
}

}  // namespace slimpack

#endif
