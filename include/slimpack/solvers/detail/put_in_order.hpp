#ifndef SLIMPACK_SOLVERS_DETAIL_PUT_IN_ORDER_HPP
#define SLIMPACK_SOLVERS_DETAIL_PUT_IN_ORDER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/solvers/solution.hpp>

#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Gives a replica of its own the programs that the schedule makes of its packs.
/// Shapes    parents: those of price            Errors    those of the schedule
template <class Cost, class Schedule>
result<void> put_in_order(replica_solution& r, const shape& on, const Cost& cost,
                          const std::vector<memory_rates>& rates, const Schedule& schedule,
                          std::span<const sequence_id> parents = {}) {
  result<std::vector<program>> programs =
      schedule.programs(price(r.partition, cost, on, rates, weight_gradients_of<Schedule>, {}, parents));
  if (!programs) return std::move(programs).error();
  r.programs = std::move(programs).value();
  return success();
}

/// A solution from the packs of each replica, which share nothing.
/// Errors    why there are no packs; those of the schedule
template <class Cost, class Schedule>
result<solution> put_in_order(result<std::vector<replica_solution>> packed, const shape& on, const Cost& cost,
                              const Schedule& schedule) {
  if (!packed) return std::move(packed).error();
  const result<std::vector<memory_rates>> rates = rates_of(cost, on);
  if (!rates) return rates.error();
  for (replica_solution& r : packed.value())
    if (result<void> ordered = put_in_order(r, on, cost, rates.value(), schedule); !ordered)
      return std::move(ordered).error();
  return solution{std::move(packed).value()};
}

}  // namespace slimpack::detail

#endif
