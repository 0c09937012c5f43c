#ifndef SLIMPACK_SHAPES_RANKING_HPP
#define SLIMPACK_SHAPES_RANKING_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/shapes/candidate.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slimpack::shapes {

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
  /// Tokens that each GPU trains in a second.
  [[nodiscard]] double rate(const candidate& c) const noexcept {
    return batch_tokens / (c.step_time.value * static_cast<double>(c.layout.gpus()));
  }
};

}  // namespace slimpack::shapes

#endif
