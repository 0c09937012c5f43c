#ifndef SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_TWO_PHASE_SEARCH_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_TWO_PHASE_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/detail/piece_cost.hpp>
#include <slimpack/solvers/divide/detail/division_check.hpp>
#include <slimpack/solvers/divide/divider.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase/detail/unit_planner.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The search of a two_phase by a list of moves, for all slicers, cost models and schedules.
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
  [[nodiscard]] result<solution> solve(const Divider& divider) const {
    const result<divide::division_problem> asked = asked_of_divider();
    if (!asked) return asked.error();
    unit_planner<Moves> plan(batch_, asked.value(), slicer_, cost(), schedule_, how_.threads);
    result<solution> found = solution{};
    if constexpr (divide::divides_without_plans<Divider>) {
      result<divide::division> units = division_by(divider, asked.value());
      if (!units) return std::move(units).error();
      found = plan.planned_anew(units.value(), start(), how_.effort);
    } else {
      found = divider.solve(asked.value(), plan, start(), how_.effort);
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
        hash_of(units.value(), batch_.lengths, batch_.shape), own->replicas, {}, std::move(found).value()};
    for (const std::vector<sequence>* list : {&own->shared, &own->own})
      for (const sequence& s : *list) made.sequences.push_back(s.id);
    return made;
  }

 private:
  [[nodiscard]] const any_cost& cost() const { return batch_.common_cuts ? in_pieces_ : cost_; }

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
    if (result<void> fine = division_check(units.value(), batch_.lengths, batch_.shape, asked.sharers); !fine)
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
