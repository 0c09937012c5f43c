#ifndef SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_TWO_PHASE_SEARCH_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_TWO_PHASE_SEARCH_HPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/detail/piece_cost.hpp>
#include <slimpack/solvers/divide/divider.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase/detail/unit_planner.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Whether a divider's answer gives each replica and each sequence to one unit, as divider laws 1 and 2 say.
/// Shapes    sharers: of each sequence; none: any number of replicas may share one
/// Errors    invalid_input: it does not, and the detail names which            Complexity  O(sequences + replicas)
[[nodiscard]] inline result<void> division_check(const division& units, const batch_view& batch, const shape& on,
                                                 std::span<const sharers_range> sharers = {}) {
  const auto wrong = [](const std::string& what) {
    return error{errc::invalid_input, "the divider's answer is wrong: " + what};
  };
  std::vector<bool> planned(static_cast<std::size_t>(on.replicas));
  const std::span<const tokens> lengths = batch.lengths();
  std::vector<bool> divided(lengths.size());
  for (const planning_unit& u : units) {
    if (u.replicas.empty()) return wrong("a unit has no replica");
    if (!is_ascending(u.replicas)) return wrong("replicas of a unit must be in ascending order");
    for (const std::uint32_t r : u.replicas) {
      if (r >= planned.size())
        return wrong("it has replica " + std::to_string(r) + ", the shape has " + std::to_string(planned.size()));
      if (planned[r]) return wrong("replica " + std::to_string(r) + " is in two units");
      planned[r] = true;
    }
    if (u.shared.empty() != (u.replicas.size() == 1))
      return wrong("a unit of " + std::to_string(u.replicas.size()) + " replicas shares " +
                   std::to_string(u.shared.size()) + " sequences: one replica shares none, several share some");
    for (const std::vector<sequence>* list : {&u.shared, &u.own})
      for (const sequence& s : *list) {
        if (s.id.value >= divided.size() || s.length != lengths[s.id.value])
          return wrong("it has sequence " + std::to_string(s.id.value) + " of " + std::to_string(s.length.value) +
                       " tokens, which the batch has not");
        if (divided[s.id.value]) return wrong("sequence " + std::to_string(s.id.value) + " is divided twice");
        divided[s.id.value] = true;
      }
    for (const sequence& s : u.shared)
      if (!sharers.empty() && u.replicas.size() > sharers[s.id.value].most)
        return wrong(std::to_string(u.replicas.size()) + " replicas share sequence " + std::to_string(s.id.value) +
                     " of " + std::to_string(s.length.value) + " tokens, which at most " +
                     std::to_string(sharers[s.id.value].most) + " can");
    if (u.exchanges && u.exchanges->empty())
      return wrong("a unit allows no exchange: leave it out, so that all are, or allow one");
  }
  for (std::size_t r = 0; r < planned.size(); ++r)
    if (!planned[r]) return wrong("replica " + std::to_string(r) + " is in no unit");
  for (std::size_t s = 0; s < divided.size(); ++s)
    if (!divided[s]) return wrong("sequence " + std::to_string(s) + " is in no unit");
  return success();
}

/// Puts units in the order of their first replicas: so the parts that ranks plan follow each other as in a plan of all.
inline void put_in_order(division& units) {
  std::sort(units.begin(), units.end(),
            [](const planning_unit& a, const planning_unit& b) { return a.replicas.front() < b.replicas.front(); });
}

/// Fingerprint of a division and of what was divided. Ranks that plan each its own compare it before they start.
/// Complexity O(sequences + replicas)
[[nodiscard]] inline std::uint64_t hash_of(const division& units, const batch_view& batch, const shape& on) noexcept {
  word_hash h;
  h.add(std::uint64_t{batch.size()});
  for (const tokens length : batch.lengths()) h.add(length);
  if (batch.shares_prefixes())
    for (const sequence_id parent : batch.parents()) h.add(parent.value);
  for (const int degree : {on.stages, on.replicas, on.tensor, on.context, on.chunks}) h.add(degree);
  h.add(on.quantum);
  if (on.expert > 1) h.add(on.expert);
  h.add(on.memory ? on.memory->amount : -1.0);
  for (const planning_unit& u : units) {
    h.add(std::uint64_t{u.replicas.size()});
    for (const std::uint32_t r : u.replicas) h.add(r);
    for (const std::vector<sequence>* list : {&u.shared, &u.own}) {
      h.add(std::uint64_t{list->size()});
      for (const sequence& s : *list) h.add(s.id.value);
    }
  }
  return h.value();
}

/// The search of a two_phase by a list of moves, for all slicers, cost models and schedules. Paths stay as they are:
/// forest_search.hpp cuts them where several replicas are to have parts of a tree.
template <class Moves>
class two_phase_search {
 public:
  /// Requires  all outlive it
  two_phase_search(const solvers::two_phase& how, const problem& batch, const any_slicer& slicer, const any_cost& cost,
                   const any_schedule& schedule)
      : how_(how),
        batch_(batch),
        slicer_(slicer),
        cost_(cost),
        in_pieces_(cost, batch.shape, how.options.piece_quanta),
        schedule_(schedule) {}

  template <class Divider>
  [[nodiscard]] result<solution> solve(const Divider& divider, const solvers::search_budget& effort) const {
    const result<divide::division_problem> asked = asked_of_divider();
    if (!asked) return asked.error();
    unit_planner<Moves> plan(batch_, asked.value(), slicer_, cost(), schedule_, how_.threads);
    result<solution> found = solution{};
    if constexpr (divide::divides_without_plans<Divider>) {
      result<divide::division> units = division_by(divider, asked.value());
      if (!units) return std::move(units).error();
      found = plan.planned_anew(units.value(), start(), effort);
    } else {
      found = divider.solve(asked.value(), plan, start(), effort);
    }
    if (how_.report) how_.report->add(plan.report());
    return found;
  }

  template <divide::divides_without_plans Divider>
  [[nodiscard]] result<group_solution> solve_group(const Divider& divider, std::uint32_t replica) const {
    const result<divide::division_problem> asked = asked_of_divider();
    if (!asked) return asked.error();
    const result<divide::division> units = division_by(divider, asked.value());
    if (!units) return units.error();
    const auto has = [&](const divide::planning_unit& u) {
      return std::binary_search(u.replicas.begin(), u.replicas.end(), replica);
    };
    const auto own = std::find_if(units.value().begin(), units.value().end(), has);
    if (own == units.value().end())
      return error{errc::invalid_input, "there is no replica " + std::to_string(replica) + ", the shape has " +
                                            std::to_string(batch_.shape.replicas)};
    unit_planner<Moves> plan(batch_, asked.value(), slicer_, cost(), schedule_, how_.threads);
    result<solution> found = plan.planned_anew(*own, start(), how_.effort);
    if (how_.report) how_.report->add(plan.report());
    if (!found) return std::move(found).error();
    group_solution made{
        hash_of(units.value(), batch_.batch(), batch_.shape), own->replicas, {}, std::move(found).value()};
    for (const std::vector<sequence>* list : {&own->shared, &own->own})
      for (const sequence& s : asked.value().sequences_of(*list)) made.sequences.push_back(s.id);
    return made;
  }

  /// What the busiest replica has to do as a divider divides the batch, on the busiest stage.
  template <divide::divides_without_plans Divider>
  [[nodiscard]] result<seconds> busiest(const Divider& divider) const {
    const result<divide::division_problem> asked = asked_of_divider();
    if (!asked) return asked.error();
    const result<divide::division> units = division_by(divider, asked.value());
    if (!units) return units.error();
    double most = 0;
    for (const divide::planning_unit& u : units.value()) {
      double work = 0;
      for (const std::vector<sequence>* list : {&u.shared, &u.own})
        for (const sequence& s : *list) work += asked.value().work[s.id.value];
      most = std::max(most, work / static_cast<double>(u.replicas.size()));
    }
    return seconds{most};
  }

  /// When the last replica of an answer ends.
  [[nodiscard]] result<seconds> end_of(const solution& found) const {
    result<std::vector<memory_rates>> rates = rates_of(cost(), batch_.shape);
    if (!rates) return std::move(rates).error();
    constexpr seconds never{std::numeric_limits<double>::infinity()};
    seconds last{};
    for (const std::vector<std::uint32_t>& group : simulators::joint_groups(found.merges, found.replicas.size())) {
      const result<simulators::priced_group> run = simulators::price_group(
          group, found, cost(), batch_.shape, rates.value(), schedule_.weights(), never, batch_.parents);
      if (!run) return run.error();
      const result<seconds> makespan = run.value().graphs.makespan();
      if (!makespan) return makespan.error();
      last = std::max(last, makespan.value());
    }
    return last;
  }

  /// The cost model as the search asks it.
  [[nodiscard]] const any_cost& cost() const { return batch_.common_cuts ? in_pieces_ : cost_; }

 private:
  [[nodiscard]] result<divide::division_problem> asked_of_divider() const {
    if (result<void> fine = how_.options.check(); !fine) return std::move(fine).error();
    if (how_.most_sharers == 0)
      return error{errc::invalid_input, "most_sharers is 0: give 1, so that each sequence is on one replica, or more"};
    if (how_.exchanges.empty() && how_.most_sharers > 1)
      return error{errc::invalid_input,
                   "no exchange is allowed between replicas that share a sequence: allow one of "
                   "keep, queries and ring, or one sharer"};
    result<std::vector<memory_rates>> rates = rates_of(cost(), batch_.shape);
    if (!rates) return std::move(rates).error();
    return divide::division_problem::of(batch_, cost(), std::move(rates).value(), how_.most_sharers, how_.zone,
                                        how_.exchanges, how_.options);
  }

  template <class Divider>
  [[nodiscard]] result<divide::division> division_by(const Divider& divider,
                                                     const divide::division_problem& asked) const {
    result<divide::division> units = divider.divide(asked, cost());
    if (!units) return units;
    std::vector<tokens> lengths;
    for (const sequence& s : asked.batch) lengths.push_back(s.length);
    if (result<void> fine = division_check(units.value(), lengths, batch_.shape, asked.sharers); !fine)
      return std::move(fine).error();
    put_in_order(units.value());
    return units;
  }

  [[nodiscard]] partition_rule start() const {
    return {{how_.options.tuning.forward_ratios(), how_.options.tuning.backward_ratios()},
            how_.options.front,
            how_.options.tuning.crowding,
            how_.options.tuning.alignment,
            batch_.shape.quantum};
  }

  const solvers::two_phase& how_;
  const problem& batch_;
  const any_slicer& slicer_;
  const any_cost& cost_;
  piece_cost in_pieces_;
  const any_schedule& schedule_;
};

}  // namespace slimpack::detail

#endif
