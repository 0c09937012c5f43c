#ifndef SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_FOREST_SEARCH_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_FOREST_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/divide/cut_contest.hpp>
#include <slimpack/solvers/divide/divider.hpp>
#include <slimpack/solvers/divide/estimated.hpp>
#include <slimpack/solvers/divide/forest_cuts.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/pack/sequence_orders.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/sharing_zones.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase/detail/two_phase_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The search of a two_phase: of a list of lengths, and of one replica, two_phase_search. Where samples share
/// beginnings and there are several replicas, it cuts paths first, so that each replica can have a part of a tree.
/// Cuts      none; of all trees of more than a replica's mean work, a half, a quarter and an eighth of it, alike or at
///           their highest forks (divide/forest_cuts.hpp), siblings in three orders; all, so that samples share
///           nothing. A path that no replica has room for is cut off before, so that replicas may share it. The same
///           with paths of more than the mean work cut off, with those of more than a half of it, and with all. As
///           divide::estimated would divide them, those come first whose busiest replica has the least to do. A divider
///           that divides without plans gets the first; for others some are searched with the least effort, and the
///           one that ends first with all of it
/// Law       for others, not slower than what the least effort finds where samples share nothing; but a beginning of
///           which all that goes on is cut off is then computed once more, by itself
template <class Moves>
class forest_search {
 public:
  /// Requires  all outlive it
  forest_search(const solvers::two_phase& how, const problem& batch, const any_slicer& slicer, const any_cost& cost,
                const any_schedule& schedule)
      : how_(how), batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule) {}

  template <class Divider>
  [[nodiscard]] result<solution> solve(const Divider& divider) const {
    if (batch_.lowered && how_.zone != solvers::sharing_zones{})
      return error{errc::out_of_memory, "zones give way to the memory that was asked for, not to less"};
    if (!cuts_paths()) return search(batch_).solve(divider, how_.effort);
    if constexpr (divide::divides_without_plans<Divider>) {
      result<forest_cut> cut = most_even(divider);
      if (!cut) return std::move(cut).error();
      const problem one = divide::cut_contest(batch_).asked_of(cut.value());
      result<solution> found = search(one).solve(divider, how_.effort);
      if (found) found.value().cut = std::move(cut).value();
      return found;
    } else {
      return first_to_end(divider);
    }
  }

  template <divide::divides_without_plans Divider>
  [[nodiscard]] result<group_solution> solve_group(const Divider& divider, std::uint32_t replica) const {
    if (!cuts_paths()) return search(batch_).solve_group(divider, replica);
    result<forest_cut> cut = most_even(divider);
    if (!cut) return std::move(cut).error();
    const problem one = divide::cut_contest(batch_).asked_of(cut.value());
    result<group_solution> found = search(one).solve_group(divider, replica);
    if (found) found.value().solved.cut = std::move(cut).value();
    return found;
  }

 private:
  [[nodiscard]] bool cuts_paths() const { return batch_.shape.replicas > 1 && batch_.batch().shares_prefixes(); }

  [[nodiscard]] two_phase_search<Moves> search(const problem& one) const {
    return two_phase_search<Moves>(how_, one, slicer_, cost_, schedule_);
  }

  /// Whether a replica has room for a path.
  [[nodiscard]] bool fits(const sequence& s, const std::vector<memory_rates>& rates) const {
    const auto has_room = [&](const memory_rates& r) {
      return solvers::least_held(r, batch_.shape, s.end(), s.length) <= batch_.shape.memory->amount;
    };
    return !batch_.shape.memory || std::all_of(rates.begin(), rates.end(), has_room);
  }

  /// Cuts worth trying, as a divider would divide them.
  /// Errors    those of rates_of
  template <class Divider>
  [[nodiscard]] result<divide::cut_contest> contest(const Divider& divider) const {
    const std::vector<sequence> all = batch_.batch().sequences();
    const result<std::vector<memory_rates>> rates = rates_of(cost_, batch_.shape);
    if (!rates) return rates.error();
    const int stage = solvers::busiest_stage(cost_, all, batch_.shape);
    std::vector<double> work;
    double sum = 0;
    for (const sequence& s : all)
      sum += work.emplace_back(solvers::stage_time(cost_, s.whole(), stage, batch_.shape).value);
    const double mean = sum / batch_.shape.replicas;
    divide::cut_contest made(batch_);
    const auto enter = [&](forest_cut cut, bool is_flat = false) {
      made.enter(std::move(cut), is_flat, [&](const problem& one) { return search(one).busiest(divider); });
    };
    const sequence_orders orders(all);
    const std::vector<sequence> falling = orders.of(0).forward, rising = orders.of(1).forward;
    std::vector<double> path(all.size());  // work of each
    for (const sequence& s : rising) path[s.id.value] = work[s.id.value] + (s.is_root() ? 0 : path[s.parent.value]);
    std::size_t before = all.size() + 1;
    for (const double heavy : {std::numeric_limits<double>::infinity(), 1.0, 0.5}) {
      const auto stays = [&](const sequence& s) { return path[s.id.value] <= heavy * mean && fits(s, rates.value()); };
      std::vector<divide::forest_cuts> by;
      std::size_t count = 0;
      for (std::vector<sequence> order : {all, rising, falling}) {
        std::erase_if(order, [&](const sequence& s) { return !stays(s); });
        by.emplace_back(all, order, work);
        count = order.size();
      }
      if (std::exchange(before, count) == count) continue;
      enter(by.front().by_work(sum));
      for (const divide::forest_cuts& cuts : by) cuts.each_for(mean, enter);
      enter(by.front().flat(), true);
    }
    enter(divide::forest_cuts(all, {}, work).flat());
    return made;
  }

  template <class Divider>
  [[nodiscard]] result<forest_cut> most_even(const Divider& divider) const {
    result<divide::cut_contest> cuts = contest(divider);
    if (!cuts) return std::move(cuts).error();
    return std::move(cuts).value().most_even();
  }

  template <class Divider>
  [[nodiscard]] result<solution> first_to_end(const Divider& divider) const {
    result<divide::cut_contest> cuts = contest(divide::estimated{});
    if (!cuts) return std::move(cuts).error();
    const auto by = [&](const solvers::search_budget& effort) {
      return [&, effort](const problem& one) -> result<divide::timed_solution> {
        result<solution> found = search(one).solve(divider, effort);
        if (!found) return std::move(found).error();
        const result<seconds> end = search(one).end_of(found.value());
        if (!end) return end.error();
        return divide::timed_solution{std::move(found).value(), end.value()};
      };
    };
    result<divide::timed_solution> best = std::move(cuts).value().first_to_end(by(solvers::search_budget::fast()));
    if (!best) return std::move(best).error();
    forest_cut& cut = *best.value().solution.cut;
    result<divide::timed_solution> more = by(how_.effort)(divide::cut_contest(batch_).asked_of(cut));
    if (!more || more.value().end >= best.value().end) return std::move(best).value().solution;
    more.value().solution.cut = std::move(cut);
    return std::move(more).value().solution;
  }

  const solvers::two_phase& how_;
  const problem& batch_;
  const any_slicer& slicer_;
  const any_cost& cost_;
  const any_schedule& schedule_;
};

}  // namespace slimpack::detail

#endif
