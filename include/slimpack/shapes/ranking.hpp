#ifndef SLIMPACK_SHAPES_RANKING_HPP
#define SLIMPACK_SHAPES_RANKING_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/shapes/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::shapes {

/// What a search knows of a layout.
enum class outcome : unsigned char {
  planned,    ///< on every batch
  slower,     ///< planned on some batches, and far behind the best even if the others took their lower bounds
  bounded,    ///< proven: no plan on it is faster than those of the finalists
  too_large,  ///< proven: weights and optimizer, or the longest sequence shared by all replicas, exceed the memory
  no_room,    ///< the planner finds no plan within the memory limit
  too_long,   ///< not tried: memory forces more packs than a first look may simulate
  cramped,    ///< not tried: memory leaves so little room for packs that it promises far more than the best takes
  refused,    ///< the cost model, or the planner, does not take it
  untried,    ///< the search was stopped before
};

/// A layout and how a search judged it. Times are means over the batches.
struct candidate {
  shapes::layout layout{};
  shapes::outcome outcome{outcome::untried};
  std::string why{};      ///< of too_large, no_room, too_long and refused: a sentence with numbers
  double missing{};       ///< of too_large: memory
  seconds lower_bound{};  ///< no plan of these batches on this layout takes less; 0 where nothing was bounded
  seconds step_time{};    ///< of the plans
  seconds fastest{};      ///< of the batches
  seconds slowest{};
  double bubble{};
  double peak_memory{};  ///< the most that any stage holds in any batch
  slimpack::memory_unit memory_unit{};
  bool finalist{};  ///< planned at the effort asked for; others with less
  double useful{};  ///< work, as a share of the stages' time (useful_share)

  [[nodiscard]] double efficiency() const noexcept { return step_time > seconds{} ? lower_bound / step_time : 1; }
};

/// The order of a ranking: the planned ones by time, then the others by what is known of them, then by their bounds.
[[nodiscard]] inline bool ranks_before(const candidate& a, const candidate& b) noexcept {
  if (a.outcome != b.outcome) return a.outcome < b.outcome;
  return a.outcome == outcome::planned ? a.step_time < b.step_time : a.lower_bound < b.lower_bound;
}

/// What a search found: every candidate, the planned ones first and the fastest of them in front.
struct ranking {
  std::vector<candidate> candidates{};
  double batch_tokens{};      ///< the mean
  std::vector<plan> plans{};  ///< those of the best candidate, by batch

  /// The winner, or null where nothing was planned.
  [[nodiscard]] const candidate* best() const noexcept {
    return count(outcome::planned) > 0 ? &candidates.front() : nullptr;
  }
  [[nodiscard]] std::size_t count(outcome what) const noexcept {
    return static_cast<std::size_t>(
        std::count_if(candidates.begin(), candidates.end(), [what](const candidate& c) { return c.outcome == what; }));
  }
  /// Takes in what another search found of other layouts for the same batches; of equals, this one's come first.
  void add(ranking other) {
    if (other.best() && (!best() || ranks_before(*other.best(), *best()))) plans = std::move(other.plans);
    candidates.insert(candidates.end(), std::make_move_iterator(other.candidates.begin()),
                      std::make_move_iterator(other.candidates.end()));
    std::stable_sort(candidates.begin(), candidates.end(), ranks_before);
  }
  /// Tokens that each GPU trains in a second.
  [[nodiscard]] double rate(const candidate& c) const noexcept {
    return batch_tokens / (c.step_time.value * static_cast<double>(c.layout.gpus()));
  }
};

}  // namespace slimpack::shapes

#endif
