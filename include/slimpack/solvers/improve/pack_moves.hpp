#ifndef SLIMPACK_SOLVERS_IMPROVE_PACK_MOVES_HPP
#define SLIMPACK_SOLVERS_IMPROVE_PACK_MOVES_HPP

#include <slimpack/core/partition.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/improve/splitmix.hpp>
#include <slimpack/solvers/pack/refill.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Small changes of a replica's packs: two packs become one, one becomes two, a border shifts, a sequence runs earlier
/// or later. They reach what the ratios of pack_sizes cannot tell apart where packs are few.
/// Packs are those that `fill` makes: slices in the order of one stream for each pass, one sequence after the other,
/// forward from its front, backward from its end. A change of borders fills the stream again, the slicer cutting it.
/// Law       what it returns covers the same tokens, in legal run order, no pack over `base.size`
/// Complexity O(slices * log(quanta)) for each change
template <class Slicer, class Cost>
class pack_moves {
 public:
  /// Shapes    sequences: indexed by sequence_id
  pack_moves(std::span<const sequence> sequences, const Slicer& slicer, const Cost& cost, const cut_budget& base)
      : sequences_(sequences), slicer_(slicer), cost_(cost), base_(base) {}

  /// The packs after a random move, or a few: half of all end there, a quarter after the next. None where a slice does
  /// not fit.
  std::optional<partition> neighbour(const partition& of, splitmix& random) const {
    std::optional<partition> next = of;
    do {
      if (sequences_.size() > 1 && random.uniform() < 0.3) {
        const sequence_id moved = sequences_[random.below(sequences_.size())].id;
        const sequence_id before = sequences_[random.below(sequences_.size())].id;
        const std::size_t passes = random.below(3);  // forward, backward, both
        if (passes != 1) next->forward = reordered(next->forward, moved, before);
        if (passes != 0) next->backward = reordered(next->backward, moved, before);
        continue;
      }
      const pass p = random.below(2) == 0 ? pass::forward : pass::backward;
      micropacks& packs = p == pass::forward ? next->forward : next->backward;
      std::vector<double> sizes = times(packs, p);
      resize(sizes, random);
      micropacks stream;  // each sequence in one piece
      for (const slice& s : packs.slices()) stream.push(s);
      if (!refill(packs, stream.open(), p, sizes, sequences_, slicer_, cost_, base_)) return std::nullopt;
    } while (random.uniform() < 0.5);
    return next;
  }

 private:
  /// Adds a border, drops one, or shifts one, more often by little than by much.
  static void resize(std::vector<double>& sizes, splitmix& random) {
    const std::size_t pack = random.below(sizes.size());
    const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(pack);
    const double kind = random.uniform();
    const double share = random.uniform();
    if (kind < 0.25) {
      const double first = *at * share;
      *at -= first;
      sizes.insert(at, first);
    } else if (pack + 1 < sizes.size()) {
      const double shift = kind < 0.5 ? at[1] : share * share * (kind < 0.75 ? at[1] : -at[0]);
      at[0] += shift;
      at[1] -= shift;
      if (kind < 0.5) sizes.erase(at + 1);
    }
  }

  /// Time of each pack's slices on the part that is balanced.
  [[nodiscard]] std::vector<double> times(const micropacks& packs, pass p) const {
    std::vector<double> sums;
    for (std::size_t i = 0; i < packs.size(); ++i) {
      sums.push_back(0);
      for (const slice& s : packs[i]) sums.back() += cost_.time(s, p, base_.part).value;
    }
    return sums;
  }

  /// `moved` runs before `before`, with its cuts and the border after it; last of all before itself. What it leaves
  /// behind, or joins, may be more than a pack takes: then a border comes before the slice that does not fit.
  micropacks reordered(const micropacks& packs, sequence_id moved, sequence_id before) const {
    struct piece {
      slice of;
      bool last;  // of its pack
    };
    std::vector<piece> stream;
    std::vector<piece> taken;
    for (std::size_t i = 0; i < packs.size(); ++i)
      for (const slice& s : packs[i]) (s.sequence == moved ? taken : stream).push_back({s, &s == &packs[i].back()});
    const auto to = std::find_if(stream.begin(), stream.end(), [&](const piece& p) { return p.of.sequence == before; });
    stream.insert(to, taken.begin(), taken.end());
    micropacks made;
    tokens held{};
    const auto close = [&] { made.close(), held = {}; };
    for (const piece& p : stream) {
      if (p.of.length > base_.size - held) close();
      made.push(p.of);
      held += p.of.length;
      if (p.last) close();
    }
    close();
    return made;
  }

  std::span<const sequence> sequences_;
  const Slicer& slicer_;
  const Cost& cost_;
  cut_budget base_;
};

}  // namespace slimpack::detail

#endif
