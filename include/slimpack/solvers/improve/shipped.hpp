#ifndef SLIMPACK_SOLVERS_IMPROVE_SHIPPED_HPP
#define SLIMPACK_SOLVERS_IMPROVE_SHIPPED_HPP

#include <slimpack/solvers/improve/move.hpp>
#include <slimpack/solvers/improve/sites.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

/// The moves of two_phase. move.hpp says what a move is.
/// Source    derived, where a move names none
namespace slimpack::solvers::improve {

/// An instruction changes places with the one that follows it on its stage, if packs may pass each other there: of the
/// other pass, of another chunk, or weight gradients that run apart. Most swaps leave the step as long as it was: the
/// search goes along those until one shortens it.
/// Source    interchange of neighbours (E. Taillard, 1994); changing_order tells at once whether the step takes no
///           longer
struct swap {
  static constexpr std::string_view name = "swap";
  [[nodiscard]] static constexpr double weight(const search_options&) noexcept { return 1; }

  bool operator()(instruction_site& at) const { return at.order.swap(at.position); }
};

/// The border between a pack and the next moves, either way, more often by little than by much; instructions keep their
/// order.
struct shift {
  static constexpr std::string_view name = "shift";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.shift_weight; }

  bool operator()(window_site& at) const {
    std::vector<double>& times = at.times(2);
    if (times.size() < 2) return false;
    const double first = at.random.uniform();
    const double share = first * at.random.uniform();
    const double more = (at.random.uniform() < 0.5 ? -1 : 1) * share * std::min(times[0], times[1]);
    times[0] += more, times[1] -= more;
    return true;
  }
};

/// Several packs become one fewer, the others larger by as much each; instructions keep their order. Many packs are
/// smaller than they need be where the schedule could not place larger ones: in an order that stands, they can grow.
struct merge {
  static constexpr std::string_view name = "merge";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.merge_weight; }

  bool operator()(window_site& at) const {
    std::vector<double>& times = at.times(2 + at.random.below(at.options.tuning.merged_packs - std::size_t{1}));
    if (times.size() < 2) return false;
    double total = 0;
    for (const double t : times) total += t;
    times.erase(at.direction == pass::forward ? times.end() - 1 : times.begin());
    double kept = 0;
    for (const double t : times) kept += t;
    if (!(kept > 0)) return false;
    for (double& t : times) t *= total / kept;
    return true;
  }
};

/// A pack becomes two.
struct split {
  static constexpr std::string_view name = "split";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.split_weight; }

  bool operator()(pack_site& at) const {
    const auto pack = at.times.begin() + static_cast<std::ptrdiff_t>(at.pack);
    const double first = *pack * at.share;
    *pack -= first;
    at.times.insert(pack, first);
    return true;
  }
};

/// A pack and the next become one. The last has none after it: then the pass is but cut anew, as by take and
/// give.
struct join {
  static constexpr std::string_view name = "join";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.join_weight; }

  bool operator()(pack_site& at) const {
    if (at.is_last()) return true;
    const auto pack = at.times.begin() + static_cast<std::ptrdiff_t>(at.pack);
    pack[0] += pack[1];
    at.times.erase(pack + 1);
    return true;
  }
};

/// A pack takes a share of the next, more often a small one than a large one.
struct take {
  static constexpr std::string_view name = "take";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.take_weight; }

  bool operator()(pack_site& at) const {
    if (at.is_last()) return true;
    const double more = at.share * at.share * at.times[at.pack + 1];
    at.times[at.pack] += more;
    at.times[at.pack + 1] -= more;
    return true;
  }
};

/// A pack gives a share of itself to the next, more often a small one than a large one.
struct give {
  static constexpr std::string_view name = "give";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.give_weight; }

  bool operator()(pack_site& at) const {
    if (at.is_last()) return true;
    const double more = at.share * at.share * -at.times[at.pack];
    at.times[at.pack] += more;
    at.times[at.pack + 1] -= more;
    return true;
  }
};

/// A sequence runs earlier or later among its siblings, with all below it, in one pass or in both.
struct reorder {
  static constexpr std::string_view name = "reorder";
  [[nodiscard]] static constexpr double weight(const search_options&) noexcept { return 1; }

  bool operator()(sequence_site& at) const {
    const sequence_id moved = at.sequences[at.random.below(at.sequences.size())].id;
    const sequence_id before = at.sibling(moved, at.random.below(at.siblings(moved)));
    const std::size_t passes = at.random.below(3);  // forward, backward, both
    if (passes != 1) at.run_before(pass::forward, moved, before);
    if (passes != 0) at.run_before(pass::backward, moved, before);
    return true;
  }
};

using shipped = moves<swap, shift, merge, split, join, take, give, reorder>;

}  // namespace slimpack::solvers::improve

#endif
