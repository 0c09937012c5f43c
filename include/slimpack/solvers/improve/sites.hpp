#ifndef SLIMPACK_SOLVERS_IMPROVE_SITES_HPP
#define SLIMPACK_SOLVERS_IMPROVE_SITES_HPP

#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/order/changing_order.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Random numbers that are the same everywhere, for searches whose answers must be.
/// Source    splitmix64 (G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators, 2014)
class splitmix {
 public:
  /// In [0, 1).
  double uniform() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

  /// Below n.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

 private:
  std::uint64_t state_{1};
};

}  // namespace slimpack::detail

/// Where a move is tried. Two walks offer sites: the walk of orders changes a simulated plan in place, and asks at once
/// whether the step takes no longer; the walk of packs makes other packs, which the schedule orders and the simulator
/// times anew. A site has what a move may read, change, and draw from: equal numbers are drawn in equal searches, so
/// that equal problems get equal plans.
namespace slimpack::solvers::improve {

/// In the walk of orders: an instruction of a stage. Every sweep visits all of one pass, from the front of the step to
/// its end.
struct instruction_site {
  simulators::changing_order& order;
  std::size_t position;  ///< of the instruction, in the order of the whole step
  detail::splitmix& random;
  const search_options& options;
};

/// In the walk of orders: a pack of a pass and those that follow it. A move asks for their times and changes them; as
/// many packs, or fewer, are then filled with the same tokens. Left are the first places of forward packs and the last
/// ones of backward packs, so that none waits for what ran later.
class window_site {
 public:
  /// look(walk, packs, times): gives the times of up to so many packs
  using looks = void (*)(void* walk, std::size_t packs, std::vector<double>& times);

  window_site(pass p, detail::splitmix& numbers, const search_options& given, void* walk, looks look,
              std::vector<double>& scratch)
      : direction(p), random(numbers), options(given), walk_(walk), look_(look), times_(scratch) {}

  pass direction;
  detail::splitmix& random;
  const search_options& options;

  /// Seconds of up to so many packs, this one the first: at least 1, fewer than asked for at the end of the pass.
  [[nodiscard]] std::vector<double>& times(std::size_t packs) {
    look_(walk_, packs, times_);
    return times_;
  }

 private:
  void* walk_;
  looks look_;
  std::vector<double>& times_;
};

/// In the walk of packs: a pack of a pass among all of them. A move changes their times, and may add packs or drop
/// some; then the pass is cut anew into packs of these times.
struct pack_site {
  std::vector<double>& times;  ///< seconds of every pack of the pass, in run order
  std::size_t pack;            ///< an index of it
  double share;                ///< how much, in [0, 1), drawn with the site: most moves need no other number
  detail::splitmix& random;
  const search_options& options;

  [[nodiscard]] bool is_last() const noexcept { return pack + 1 == times.size(); }
};

/// In the walk of packs: the sequences, which may run in another order.
struct sequence_site {
  partition& packs;
  std::span<const sequence> sequences;  ///< two at least; sequence i has id i
  tokens pack_limit;
  detail::splitmix& random;
  const search_options& options;

 private:
  [[nodiscard]] auto is_sibling(sequence_id of) const {
    return [parent = sequences[of.value].parent](const sequence& s) { return s.parent == parent; };
  }

 public:
  /// How many sequences go on where the parent of this one ends, or are roots as it is, itself among them.
  /// Complexity O(sequences) where it has a parent or samples share beginnings
  [[nodiscard]] std::size_t siblings(sequence_id of) const {
    return static_cast<std::size_t>(std::count_if(sequences.begin(), sequences.end(), is_sibling(of)));
  }
  /// The k-th of these, by id.
  [[nodiscard]] sequence_id sibling(sequence_id of, std::size_t k) const {
    auto at = std::find_if(sequences.begin(), sequences.end(), is_sibling(of));
    while (k-- > 0) at = std::find_if(at + 1, sequences.end(), is_sibling(of));
    return at->id;
  }

  /// Lets a sequence run before a sibling in one pass, each with all below it, with its cuts and the border after it;
  /// behind all siblings before itself. What it leaves behind, or joins, may be more than a pack takes: then a border
  /// comes before the slice that does not fit. Complexity O(slices of the pass * depth)
  void run_before(pass p, sequence_id moved, sequence_id before) {
    struct placed {
      slice of;
      bool last;  // of its pack
    };
    std::vector<placed> stream;
    std::vector<placed> taken;
    micropacks& all = packs.of(p);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const slice& s : all[i]) (is_in(s.sequence, moved) ? taken : stream).push_back({s, &s == &all[i].back()});
    const sequence_id parent = sequences[moved.value].parent;
    auto to = std::find_if(stream.begin(), stream.end(), [&](const placed& x) {
      return moved != before ? is_in(x.of.sequence, before) : p == pass::backward && x.of.sequence == parent;
    });
    if (moved == before && parent != no_parent && p == pass::forward)
      to = std::find_if(stream.rbegin(), stream.rend(), [&](const placed& x) {
             return is_in(x.of.sequence, parent);
           }).base();
    stream.insert(to, taken.begin(), taken.end());
    micropacks made;
    tokens held{};
    const auto close = [&] { made.close(), held = {}; };
    for (const placed& x : stream) {
      if (x.of.length > pack_limit - held) close();
      made.push(x.of);
      held += x.of.length;
      if (x.last) close();
    }
    close();
    all = std::move(made);
  }

 private:
  /// Whether a sequence is another one, or below it.
  [[nodiscard]] bool is_in(sequence_id s, sequence_id subtree) const {
    while (s != subtree && !sequences[s.value].is_root()) s = sequences[s.value].parent;
    return s == subtree;
  }
};

}  // namespace slimpack::solvers::improve

#endif
