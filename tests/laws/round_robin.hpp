#ifndef SLIMPACK_TESTS_LAWS_ROUND_ROBIN_HPP
#define SLIMPACK_TESTS_LAWS_ROUND_ROBIN_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::tests {

/// The simplest solver that obeys the laws: sequence s goes to replica s mod replicas, whole, in a pack of its own.
struct round_robin {
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer&, const Cost& cost,
                                       const Schedule& schedule) const {
    solution all{std::vector<replica_solution>(static_cast<std::size_t>(batch.shape.replicas))};
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      replica_solution& one = all.replicas[s % all.replicas.size()];
      const sequence_id id{static_cast<std::uint32_t>(s)};
      one.sequences.push_back(id);
      for (micropacks* packs : {&one.partition.forward, &one.partition.backward}) {
        packs->push({id, {0}, batch.lengths[s]});
        packs->close();
      }
    }
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    for (replica_solution& one : all.replicas) {
      result<std::vector<program>> programs = schedule.programs(price(one.partition, cost, batch.shape, rates.value()));
      if (!programs) return std::move(programs).error();
      one.programs = std::move(programs).value();
    }
    return all;
  }
};

}  // namespace slimpack::tests

#endif
