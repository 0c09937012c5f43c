#ifndef SLIMPACK_PROFILING_DETAIL_TRIAL_ORDER_HPP
#define SLIMPACK_PROFILING_DETAIL_TRIAL_ORDER_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/profiling/trials.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace slimpack::profiling::detail {

/// Which trial runs next, so that the budget holds.
///
/// A first round takes the trials in their order. One that would end after the budget, by what those before it took, is
/// dropped; but a few of the smallest always run. Then rounds go over the trials whose times are not known well enough,
/// those with the largest error first, and leave out what does not fit. All is over when every trial is stable, or
/// nothing fits.
/// Law       equal answers of `ran` give equal trials: ranks that are told the same run the same
class trial_order {
 public:
  static constexpr double stable = 0.01;   ///< relative error of a median that is known well enough
  static constexpr std::size_t least = 4;  ///< trials that always run: what slices, tokens and pairs take differs there

  /// Requires  trials, which outlive it
  trial_order(std::span<const trial> all, seconds budget) : budget_(budget), known_(all.size()) {
    for (const trial& t : all) sizes_.push_back(size_of(t));
  }

  /// The index of the trial, or none: it is over.
  [[nodiscard]] std::optional<std::size_t> next() {
    for (; first_ < sizes_.size(); ++first_) {
      if (first_ < least || fits(estimate(first_))) return first_++;
      dropped_.push_back(first_);
    }
    for (bool is_new = false;; is_new = true) {
      while (!round_.empty()) {
        const std::size_t index = round_.back();
        round_.pop_back();
        if (fits(known_[index].took)) return index;
      }
      if (is_new) return std::nullopt;
      begin_round();
    }
  }

  /// What its run has shown, the same on all ranks.
  /// elapsed   since the begin of all; took: this run; error: of the trial's medians, relative
  void ran(std::size_t index, seconds elapsed, seconds took, double error) {
    elapsed_ = elapsed;
    known_[index] = {took, error};
  }

  /// By index, the trials that have not run.
  [[nodiscard]] const std::vector<std::size_t>& dropped() const noexcept { return dropped_; }
  /// The largest error of those that have.
  [[nodiscard]] double error() const {
    double most = 0;
    for (const run& r : known_)
      if (r.took > seconds{}) most = std::max(most, r.error);
    return most;
  }

 private:
  struct run {
    seconds took{};  // 0: it has not run
    double error{std::numeric_limits<double>::infinity()};
  };

  [[nodiscard]] bool fits(seconds took) const { return elapsed_ + took <= budget_; }

  /// No more than what a trial takes where its time is a sum, none negative, over its calls, slices, tokens and pairs:
  /// then it is at most the time of another trial, times the largest ratio of these numbers.
  [[nodiscard]] seconds estimate(std::size_t index) const {
    double least_time = std::numeric_limits<double>::infinity();
    const trial_size& to = sizes_[index];
    for (std::size_t i = 0; i < index; ++i) {
      if (!(known_[i].took > seconds{})) continue;
      const trial_size& from = sizes_[i];
      const double times =
          std::max({to.calls / from.calls, to.slices / from.slices, to.tokens / from.tokens, to.pairs / from.pairs});
      least_time = std::min(least_time, known_[i].took.value * times);
    }
    return {least_time};
  }

  void begin_round() {
    for (std::size_t i = sizes_.size(); i-- > 0;)
      if (known_[i].took > seconds{} && known_[i].error > stable) round_.push_back(i);
    std::stable_sort(round_.begin(), round_.end(),
                     [this](std::size_t a, std::size_t b) { return known_[a].error < known_[b].error; });
  }

  seconds budget_, elapsed_{};
  std::vector<trial_size> sizes_;
  std::vector<run> known_;
  std::size_t first_{};             // of the first round, the trial that is next
  std::vector<std::size_t> round_;  // those of a later round that are still to run, the next at the end
  std::vector<std::size_t> dropped_;
};

}  // namespace slimpack::profiling::detail

#endif
