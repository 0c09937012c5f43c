#ifndef SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_UNIT_PLANNER_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_UNIT_PLANNER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/pricing/refine.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/divide/stand_in_cost.hpp>
#include <slimpack/solvers/divide/unfold.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/improve/detail/local_search.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase/detail/baseline_contest.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 2 of the units of a division, each on its own: what dividers that try divisions ask, and what plans the
/// division in the end.
template <class Moves = solvers::improve::shipped>
class unit_planner {
 public:
  /// Requires  what it is given by reference outlives it
  unit_planner(const problem& batch, const divide::division_problem& asked, const any_slicer& slicer,
               const any_cost& cost, const any_schedule& schedule, std::size_t threads)
      : batch_(batch), asked_(asked), slicer_(slicer), cost_(cost), schedule_(schedule), threads_(threads) {}

  [[nodiscard]] const any_cost& cost() const noexcept { return cost_; }
  [[nodiscard]] bool stopped() const { return batch_.stop.stop_requested(); }
  [[nodiscard]] bool cuts_alike() const noexcept { return batch_.common_cuts; }

  /// Plans every unit, from packs of these sizes.
  /// Errors    not_faster: a unit ends later than `latest`, so that those after it need no plan
  result<planned_division> planned(division units, const partition_rule& start, solvers::search_budget effort,
                                   seconds latest = never) {
    std::vector<seconds> ends(units.size());
    result<solution> every =
        each_planned(units, [&](std::size_t u, solvers::search_report& report) -> result<solution> {
          result<solution> one = planned_unit(units[u], start, effort, ends[u], report, latest);
          if (one && ends[u] > latest) return error{errc::not_faster, "a replica ends later than the division may"};
          return one;
        });
    if (!every) return std::move(every).error();
    return planned_division{std::move(units), std::move(ends), std::move(every).value()};
  }

  /// Plans every unit of a division that nobody has tried: from packs of these sizes and from small ones, of which one
  /// may be far from the best. What is shared is planned from both; what is not, from those whose first plan is faster.
  result<solution> planned_anew(const division& units, const partition_rule& start, solvers::search_budget effort) {
    return each_planned(units, [&](std::size_t u, solvers::search_report& report) {
      return unit_anew(units[u], start, effort, report);
    });
  }

  /// Plans one unit likewise. Of the other replicas the solution has nothing.
  result<solution> planned_anew(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort) {
    result<solution> one = unit_anew(unit, start, effort, report_);
    if (!one) return one;
    solution found{std::vector<replica_solution>(asked_.replicas())};
    put(std::move(one).value(), unit.replicas, found);
    return found;
  }

  /// The faster of a plan, if there is one, and of what the baselines would do (baseline_contest); where one of them is
  /// faster, also of a plan of its division. Nothing where there is no plan at all. Baselines know nothing of samples
  /// that share beginnings, and are not asked then.
  std::optional<planned_division> beside_baselines(std::optional<planned_division> found, const partition_rule& start,
                                                   solvers::search_budget effort) {
    if (!asked_.trees.empty()) return found;
    baseline_contest contest(batch_, slicer_, cost_, schedule_, asked_.rates, effort, asked_.options);
    if (found) contest.enter(*std::move(found));
    const seconds before = contest.end();
    const bool faster = contest.let_baselines_enter();
    if (contest.tried() > 0) {
      solvers::move_report& line = report_.of("baselines");
      line.tried += contest.tried();
      line.taken += faster;
      if (found) line.gained += before - contest.end();
    }
    if (!found && !faster) return std::nullopt;
    if (faster) {
      result<planned_division> anew = planned(contest.best().units, start, effort);
      if (anew) contest.enter(std::move(anew).value());
    }
    return contest.with_runners_up();
  }

  /// Packs half as large, or as much as the options say.
  [[nodiscard]] partition_rule small(partition_rule start) const {
    start.sizes.forward.steady *= asked_.options.tuning.half_steady;
    start.sizes.backward.steady *= asked_.options.tuning.half_steady;
    return start;
  }

  /// What it has done so far, of all replicas and divisions together.
  [[nodiscard]] solvers::search_report& report() noexcept { return report_; }

 private:
  static constexpr seconds never{std::numeric_limits<double>::infinity()};

  /// Plans units side by side, each by plan_unit(index, report), and puts them together.
  template <class PlanUnit>
  result<solution> each_planned(const division& units, const PlanUnit& plan_unit) {
    std::vector<std::optional<solution>> of_unit(units.size());
    std::vector<solvers::search_report> reports(units.size());
    result<void> done = for_each_index(units.size(), threads_, [&](std::size_t u) -> result<void> {
      result<solution> one = plan_unit(u, reports[u]);
      if (!one) return std::move(one).error();
      of_unit[u] = std::move(one).value();
      return success();
    });
    solution found{std::vector<replica_solution>(asked_.replicas())};
    for (std::size_t u = 0; u < units.size(); ++u) {
      report_.add(reports[u]);
      if (!of_unit[u]) break;  // how much was done of those after it, depends on the number of threads
      put(*std::move(of_unit[u]), units[u].replicas, found);
    }
    if (!done) return std::move(done).error();
    return found;
  }

  /// What is kept of the others may be what it has no room for.
  result<solution> unit_anew(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort,
                             solvers::search_report& report) const {
    result<solution> made = unit_by_size(unit, start, effort, report);
    const exchange_set without = asked_.exchanges.without_keeping();
    if (made || made.error().code == errc::over_budget) return made;
    if (unit.shared.empty() || unit.exchanges || without.empty() || !asked_.keeping_takes_room()) return made;
    planning_unit lean = unit;
    lean.exchanges = without;
    result<solution> other = unit_by_size(lean, start, effort, report);
    return other ? std::move(other) : std::move(made);
  }

  result<solution> unit_by_size(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort,
                                solvers::search_report& report) const {
    const solvers::search_budget first{0, 1, effort.largest};
    const bool is_alone = unit.shared.empty();
    seconds ends[2]{};
    result<solution> large = planned_unit(unit, start, is_alone ? first : effort, ends[0], report);
    if (!large && large.error().code == errc::over_budget) return large;  // smaller packs are more
    result<solution> little = planned_unit(unit, small(start), is_alone ? first : effort, ends[1], report);
    if (is_alone) {
      const bool begins_small = little && (!large || ends[1] < ends[0]);
      return planned_unit(unit, begins_small ? small(start) : start, effort, ends[0], report);
    }
    if (!large || !little) return little ? std::move(little) : std::move(large);
    return ends[1] < ends[0] ? std::move(little) : std::move(large);
  }

  /// end: when the last of its replicas ends
  /// Errors    not_faster: replicas that share end no sooner than `latest`
  result<solution> planned_unit(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort,
                                seconds& end, solvers::search_report& report, seconds latest = never) const {
    if (unit.shared.empty()) return alone(unit, start, effort, end, report);
    result<solution> one = together(unit, start, effort, report);
    if (!one) return one;
    solution among{std::vector<replica_solution>(asked_.replicas())};
    put(std::move(one).value(), unit.replicas, among);
    result<simulators::priced_group> run = simulators::price_group(
        unit.replicas, among, cost_, batch_.shape, asked_.rates, schedule_.weights(), latest, batch_.parents);
    if (!run) return std::move(run).error();
    const result<seconds> makespan = run.value().graphs.makespan();
    if (!makespan) return makespan.error();
    end = makespan.value();
    return taken(unit.replicas, std::move(among));
  }

  /// Hands the replicas of a unit over to the solution of all, and back.
  static void put(solution&& one, std::span<const std::uint32_t> replicas, solution& into) {
    for (std::size_t sharer = 0; sharer < replicas.size(); ++sharer)
      into.replicas[replicas[sharer]] = std::move(one.replicas[sharer]);
    for (merge& m : one.merges) into.merges.push_back(std::move(m));
  }
  static solution taken(std::span<const std::uint32_t> replicas, solution&& from) {
    solution one{{}, std::move(from.merges)};
    for (const std::uint32_t r : replicas) one.replicas.push_back(std::move(from.replicas[r]));
    return one;
  }

  /// end: when it ends
  result<solution> alone(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort,
                         seconds& end, solvers::search_report& report) const {
    const std::vector<sequence> own = asked_.sequences_of(unit.own);
    local_search<Moves> search(own, batch_, slicer_, cost_, schedule_, asked_.rates, asked_.options);
    result<replica_solution> one = search.best(start, effort);
    report.add(search.report());
    if (!one) return std::move(one).error();
    end = search.makespan();
    if (batch_.common_cuts) one.value().partition = common_refinement(one.value().partition);
    solution made;
    made.replicas.push_back(std::move(one).value());
    return made;
  }

  result<solution> together(const planning_unit& unit, partition_rule start, solvers::search_budget effort,
                            solvers::search_report& report) const {
    std::vector<double> work;
    for (const sequence& s : unit.own) work.push_back(asked_.work[s.id.value]);
    sharing_group on(static_cast<std::int64_t>(unit.replicas.size()), batch_.shape.quantum,
                     asked_.sequences_of(unit.shared));
    add_own(dealt_in_tuples(unit.own, work, shared_work(on), asked_.options), on);
    scale(start, unit);
    const exchange_set exchanges = unit.exchanges.value_or(asked_.exchanges);
    const stand_in_cost cost(cost_, on, unit.replicas, exchanges, batch_.common_cuts, batch_.parents);
    const stand_in_slicer slicer(slicer_, on, exchanges);
    std::vector<tokens> lengths;
    std::vector<sequence_id> parents;
    for (const sequence& s : on.stand_ins()) {
      lengths.push_back(s.length);
      if (on.has_trees()) parents.push_back(s.parent);
    }
    problem as_one{lengths, batch_.shape, batch_.stop, batch_.common_cuts};
    as_one.parents = parents;
    // No sharer holds more than its stand-ins (stand_in_cost), so a plan of these keeps the limit for each of them.
    local_search<Moves> search(on.stand_ins(), as_one, slicer, cost, schedule_, asked_.rates, asked_.options);
    result<replica_solution> one = search.best(start, effort);
    report.add(search.report());
    if (!one) return std::move(one).error();
    solution made = unfolded(one.value(), on, cost.unfolded(one.value().partition), unit.replicas, exchanges);
    for (const merge& m : made.merges)
      if (m.exchange == exchange::ring && std::max(m.forward.size(), m.backward.size()) > 1)
        return too_long_for_a_ring(m);
    return made;
  }

  /// Adds what each sharer has of its own: tuples of sequences, and trees.
  void add_own(std::vector<std::vector<sequence>> tuples, sharing_group& on) const {
    std::vector<std::pair<std::vector<sequence>, std::size_t>> trees;
    for (std::vector<sequence>& tuple : tuples) {
      bool any = false;
      for (std::size_t sharer = 0; sharer < tuple.size(); ++sharer) {
        sequence& own = tuple[sharer];
        if (own.length == tokens{0}) continue;
        std::vector<sequence> all = asked_.sequences_of({&own, 1});
        any |= all.size() == 1;
        if (own = all.front(); all.size() == 1) continue;
        own = {};
        std::stable_sort(all.begin(), all.end(),
                         [](const sequence& a, const sequence& b) { return a.begin < b.begin; });
        trees.emplace_back(std::move(all), sharer);
      }
      if (any) on.add(tuple);
    }
    for (const auto& [tree, sharer] : trees) on.add_tree(tree, sharer);
  }

  /// Stand-ins of trees follow each other, and sharers run them side by side: a pack that is to be a share of what a
  /// sharer has to do is a smaller one of what all stand-ins have.
  void scale(partition_rule& start, const planning_unit& unit) const {
    double each = 0, trees = 0;  // of a sharer; of all together
    for (const std::vector<sequence>* list : {&unit.shared, &unit.own})
      for (const sequence& s : *list) {
        each += asked_.work[s.id.value] / static_cast<double>(unit.replicas.size());
        if (asked_.is_tree(s)) trees += asked_.work[s.id.value];
      }
    if (trees == 0) return;
    const double share = each / (each + trees * (1 - 1 / static_cast<double>(unit.replicas.size())));
    start.sizes.forward.steady *= share;
    start.sizes.backward.steady *= share;
  }

  static error too_long_for_a_ring(const merge& m) {
    return {errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " runs in " +
                                     std::to_string(std::max(m.forward.size(), m.backward.size())) +
                                     " rows, and a ring is for one: allow exchange::keep or exchange::queries"};
  }

  /// What each sharer does of shared sequences.
  [[nodiscard]] std::vector<double> shared_work(const sharing_group& on) const {
    std::vector<double> load(on.count());
    for (const sequence& s : on.stand_ins().first(on.shared().size()))
      for (std::size_t sharer = 0; sharer < load.size(); ++sharer)
        for (const slice& cut : on.slices(s.whole(), sharer))
          if (cut.length > tokens{0}) load[sharer] += solvers::stage_time(cost_, cut, asked_.stage, batch_.shape).value;
    return load;
  }

  /// The plan of stand-ins as that of their replicas: the same programs on each, without the packs that it has not.
  /// of: the packs of each replica
  static solution unfolded(const replica_solution& planned, const sharing_group& on, std::vector<sharer_packs> of,
                           std::span<const std::uint32_t> replicas, const exchange_set& exchanges) {
    solution made{{}, merges_of(planned.partition, on, of, replicas, exchanges)};
    for (std::size_t sharer = 0; sharer < of.size(); ++sharer) {
      replica_solution& own = made.replicas.emplace_back();
      own.sequences = on.sequences(sharer);
      own.programs = programs_of_sharer(planned.programs, of[sharer]);
      own.partition = std::move(of[sharer].packs);
    }
    return made;
  }

  const problem& batch_;
  const divide::division_problem& asked_;
  const any_slicer& slicer_;
  const any_cost& cost_;
  const any_schedule& schedule_;
  std::size_t threads_;
  solvers::search_report report_;
};

}  // namespace slimpack::detail

#endif
