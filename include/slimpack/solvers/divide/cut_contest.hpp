#ifndef SLIMPACK_SOLVERS_DIVIDE_CUT_CONTEST_HPP
#define SLIMPACK_SOLVERS_DIVIDE_CUT_CONTEST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace slimpack::divide {

/// A solution, and when its last replica ends.
struct timed_solution {
  slimpack::solution solution;
  seconds end{};
};

/// Cuts of a forest, of which a search tries some: those first whose busiest replica has the least to do, and of equal
/// ones that which entered first.
class cut_contest {
 public:
  /// Requires  the batch outlives it
  explicit cut_contest(const problem& batch) : batch_(batch) {}

  /// What a solver is asked of a cut.            Requires  the cut outlives the answer
  [[nodiscard]] problem asked_of(const forest_cut& cut) const {
    problem one = batch_;
    one.lengths = cut.lengths, one.parents = cut.parents;
    return one;
  }

  /// A cut that has not entered yet.
  /// Shapes    busiest: result<seconds>(const problem&), what the busiest replica has to do; where it is an error, the
  ///           cut stays out
  template <class Busiest>
  void enter(forest_cut cut, bool is_flat, const Busiest& busiest) {
    if (std::any_of(all_.begin(), all_.end(), [&](const contender& c) { return c.cut == cut; })) return;
    const result<seconds> most = busiest(asked_of(cut));
    if (!most) {
      if (!why_) why_ = most.error();
      return;
    }
    const contender entered{std::move(cut), most.value(), is_flat};
    const auto after = [](const contender& a, const contender& b) { return a.busiest < b.busiest; };
    all_.insert(std::upper_bound(all_.begin(), all_.end(), entered, after), entered);
  }

  /// The first.            Errors  why none has entered
  [[nodiscard]] result<forest_cut> most_even() && {
    if (all_.empty()) return *std::move(why_);
    return std::move(all_.front().cut);
  }

  /// The solution that ends first, with its cut, of four that have one and of flat ones. No plan ends before its
  /// busiest replica has done its work: cuts of which that is later are left out.
  /// Shapes    solved: result<timed_solution>(const problem&)
  /// Errors    why none has entered, or why the first had no solution
  template <class Solved>
  [[nodiscard]] result<timed_solution> first_to_end(const Solved& solved) && {
    constexpr std::size_t enough = 4;
    timed_solution best{{}, seconds{std::numeric_limits<double>::infinity()}};
    std::size_t planned = 0;
    for (contender& c : all_) {
      if (planned > 0 && (batch_.stop.stop_requested() || c.busiest >= best.end || (planned >= enough && !c.is_flat)))
        continue;
      result<timed_solution> found = solved(asked_of(c.cut));
      if (!found) {
        if (!why_) why_ = found.error();
        continue;
      }
      ++planned;
      if (found.value().end >= best.end) continue;
      best = std::move(found).value();
      best.solution.cut = std::move(c.cut);
    }
    if (planned == 0) return *std::move(why_);
    return best;
  }

 private:
  struct contender {
    forest_cut cut;
    seconds busiest{};
    bool is_flat{};
  };

  const problem& batch_;
  std::vector<contender> all_;  // the most even first
  std::optional<error> why_;
};

}  // namespace slimpack::divide

#endif
