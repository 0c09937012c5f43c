#ifndef SLIMPACK_SOLVERS_PACK_PARTITION_RULE_HPP
#define SLIMPACK_SOLVERS_PACK_PARTITION_RULE_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace slimpack::detail {

/// How a replica's sequences become packs, in a few numbers that serve every batch: what local_search varies.
struct partition_rule {
  by_pass<solvers::size_ratios> sizes{solvers::default_search_options.tuning.forward_ratios(),
                                      solvers::default_search_options.tuning.backward_ratios()};
  /// share of the sequences that run before the longest, shortest first; the others after it
  double front{solvers::default_search_options.front};
  /// a sequence of a greater part of the room leaves others short of it at its turn
  double crowding{solvers::default_search_options.tuning.crowding};
  /// of packs with common cuts, see aligned (align.hpp)
  double alignment{solvers::default_search_options.tuning.alignment};
  tokens quantum;  ///< sequences are cut at its multiples
};

/// The sizes of solvers::size_ratios along one pass over a batch, with its ratios multiplied out.
/// Units     seconds of the pass; positions are seconds of work done before
class size_curve {
 public:
  /// What a pass offers its packs.
  struct terms {
    double total{};     ///< W
    double share{};     ///< U / (p + 1)
    double grain{};     ///< g
    double overhead{};  ///< o
    double depth{};     ///< p - 1; a single stage waits for no other, and all its packs are steady
    double least{};     ///< only ramps have smaller packs, or planning would take too long
    double smallest{};  ///< no pack is smaller, or thousands of stages would run more packs than memory can hold
    double overhead_packs{solvers::default_search_options.overhead_packs};
  };

  size_curve(const solvers::size_ratios& sizes, const terms& pass)
      : terms_(pass),
        steady_(sizes.steady * pass.share),
        ramp_least_(sizes.ramp_least * pass.grain),
        turn_least_(sizes.turn_least * (pass.share + pass.overhead_packs * pass.overhead)) {
    if (pass.depth <= 0) return;
    const double slope = (pass.share > 0 ? 1 + pass.overhead_packs * pass.overhead / pass.share : 1) / pass.depth;
    fill_ = sizes.fill * slope;
    drain_ = sizes.drain * slope;
    before_ = sizes.before * slope;
    after_ = sizes.after * slope;
  }

  /// A long sequence turns at `at`, with `beside` of the room left to others. Turns come in order.
  void turn(double at, double beside) {
    double size = turn_least_ * beside;
    if (!turns_.empty()) size = std::min(size, turns_.back().size + after_ * (at - turns_.back().at));
    turns_.push_back({at, size});
    for (std::size_t i = turns_.size() - 1; i-- > 0;) {  // those before that must shrink towards this one
      const double limit = turns_[i + 1].size + before_ * (turns_[i + 1].at - turns_[i].at);
      if (turns_[i].size <= limit) break;
      turns_[i].size = limit;
    }
  }

  /// The size of the next pack, `done` being the work before it; asked with rising `done`.
  [[nodiscard]] seconds operator()(seconds done) {
    const double x = done.value;
    double size = steady_;
    if (terms_.depth <= 0) return {std::max({size, terms_.least, terms_.smallest})};
    while (next_ < turns_.size() && turns_[next_].at < x) ++next_;
    if (next_ < turns_.size()) size = std::min(size, turns_[next_].size + before_ * (turns_[next_].at - x));
    if (next_ > 0) size = std::min(size, turns_[next_ - 1].size + after_ * (x - turns_[next_ - 1].at));
    const double ramp = ramp_least_ + std::min(fill_ * x, drain_ * std::max(0.0, terms_.total - x));
    return {std::max(std::min(std::max(size, terms_.least), ramp), terms_.smallest)};
  }

 private:
  struct peak {
    double at{};
    double size{};
  };

  terms terms_;
  double steady_;
  double ramp_least_;
  double turn_least_;
  double fill_{};
  double drain_{};
  double before_{};
  double after_{};
  std::vector<peak> turns_;
  std::size_t next_{};
};

}  // namespace slimpack::detail

#endif
