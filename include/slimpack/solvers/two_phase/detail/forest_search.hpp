#ifndef SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_FOREST_SEARCH_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_FOREST_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/forest_cut.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
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
#include <cstdint>
#include <limits>
#include <optional>
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
      const problem one = problem_of(cut.value());
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
    const problem one = problem_of(cut.value());
    result<group_solution> found = search(one).solve_group(divider, replica);
    if (found) found.value().solved.cut = std::move(cut).value();
    return found;
  }

 private:
  [[nodiscard]] bool cuts_paths() const { return batch_.shape.replicas > 1 && batch_.batch().shares_prefixes(); }

  [[nodiscard]] two_phase_search<Moves> search(const problem& one) const {
    return two_phase_search<Moves>(how_, one, slicer_, cost_, schedule_);
  }
  [[nodiscard]] problem problem_of(const forest_cut& cut) const {
    problem one = batch_;
    one.lengths = cut.lengths, one.parents = cut.parents;
    return one;
  }

  /// A cut, and what its busiest replica has to do.
  struct contender {
    forest_cut cut;
    seconds busiest{};
    bool is_flat{};
  };

  /// Whether a replica has room for a path.
  [[nodiscard]] bool fits(const sequence& s, const std::vector<memory_rates>& rates) const {
    const auto has_room = [&](const memory_rates& r) {
      return solvers::least_held(r, batch_.shape, s.end()) <= batch_.shape.memory->amount;
    };
    return !batch_.shape.memory || std::all_of(rates.begin(), rates.end(), has_room);
  }

  /// Each cut once, the most even first; of equal ones that with fewer copies.
  /// Errors    why the first has no division, where none has
  template <class Divider>
  [[nodiscard]] result<std::vector<contender>> contenders(const Divider& divider) const {
    const std::vector<sequence> all = batch_.batch().sequences();
    const result<std::vector<memory_rates>> rates = rates_of(cost_, batch_.shape);
    if (!rates) return rates.error();
    const int stage = solvers::busiest_stage(cost_, all, batch_.shape);
    std::vector<double> work;
    double sum = 0;
    for (const sequence& s : all)
      sum += work.emplace_back(solvers::stage_time(cost_, s.whole(), stage, batch_.shape).value);
    const double mean = sum / batch_.shape.replicas;
    std::vector<contender> made;
    std::optional<error> why;
    const auto add = [&](forest_cut cut, bool is_flat = false) {
      if (std::any_of(made.begin(), made.end(), [&](const contender& c) { return c.cut == cut; })) return;
      const problem one = problem_of(cut);
      const result<seconds> most = search(one).busiest(divider);
      if (most) made.push_back({std::move(cut), most.value(), is_flat});
      if (!most && !why) why = most.error();
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
      add(by.front().by_work(sum));
      for (const divide::forest_cuts& cuts : by) cuts.each_for(mean, add);
      add(by.front().flat(), true);
    }
    add(divide::forest_cuts(all, {}, work).flat());
    if (made.empty()) return *std::move(why);
    std::stable_sort(made.begin(), made.end(),
                     [](const contender& a, const contender& b) { return a.busiest < b.busiest; });
    return made;
  }

  template <class Divider>
  [[nodiscard]] result<forest_cut> most_even(const Divider& divider) const {
    result<std::vector<contender>> all = contenders(divider);
    if (!all) return std::move(all).error();
    return std::move(all.value().front().cut);
  }

  template <class Divider>
  [[nodiscard]] result<solution> first_to_end(const Divider& divider) const {
    result<std::vector<contender>> all = contenders(divide::estimated{});
    if (!all) return std::move(all).error();
    std::optional<solution> best;
    std::optional<error> why;
    seconds least{std::numeric_limits<double>::infinity()};
    const auto attempt = [&](forest_cut cut, const solvers::search_budget& effort) {
      const problem one = problem_of(cut);
      result<solution> found = search(one).solve(divider, effort);
      const result<seconds> end = found ? search(one).end_of(found.value()) : found.error();
      if (!end && !why) why = end.error();
      if (!end || end.value() >= least) return bool{end};
      least = end.value();
      best = std::move(found).value();
      best->cut = std::move(cut);
      return true;
    };
    // No plan ends before its busiest replica has done its work.
    constexpr std::size_t enough = 4;  // that have a plan
    std::size_t planned = 0;
    for (contender& c : all.value()) {
      if (best && (batch_.stop.stop_requested() || c.busiest >= least || (planned >= enough && !c.is_flat))) continue;
      planned += attempt(std::move(c.cut), solvers::search_budget::fast());
    }
    if (!best) return *std::move(why);
    attempt(*best->cut, how_.effort);
    return *std::move(best);
  }

  const solvers::two_phase& how_;
  const problem& batch_;
  const any_slicer& slicer_;
  const any_cost& cost_;
  const any_schedule& schedule_;
};

}  // namespace slimpack::detail

#endif
