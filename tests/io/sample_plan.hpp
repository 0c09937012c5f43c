#ifndef SLIMPACK_TESTS_IO_SAMPLE_PLAN_HPP
#define SLIMPACK_TESTS_IO_SAMPLE_PLAN_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/quadratic.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/list.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::testing {

/// Packs of `budget` seconds each, or a quantum more; backward takes each sequence from its end.
template <class Cost>
micropacks packed(const std::vector<sequence>& order, pass p, const Cost& cost, tokens quantum, seconds budget) {
  micropacks packs;
  seconds used{};
  for (const sequence& s : order) {
    const std::int64_t cuts = (s.length.value + quantum.value - 1) / quantum.value;
    for (std::int64_t k = 0; k < cuts; ++k) {
      const tokens begin = quantum * (p == pass::forward ? k : cuts - 1 - k);
      const slice cut{s.id, begin, std::min(quantum, s.length - begin)};
      packs.push(cut);
      used += cost.time(cut, p, 0);
      if (used < budget) continue;
      packs.close();
      used = {};
    }
  }
  packs.close();
  return packs;
}

/// A plan made by hand, without a solver: sequences dealt to the replicas in turn, packs of `pack_time` seconds forward
/// and twice that backward, list schedules. What is written of a plan does not depend on how good it is.
inline plan sample_plan(std::vector<tokens> lengths, const shape& s, seconds pack_time) {
  costs::quadratic cost;
  cost.per_pack = {6.4e-5};
  cost.hop = {2.4e-5};
  plan p;
  p.planner = "sample";
  p.cost = "quadratic";
  p.lengths = std::move(lengths);
  p.shape = s;
  seconds useful{};
  for (int r = 0; r < s.replicas; ++r) {
    replica_plan replica;
    std::vector<sequence> order;
    for (std::size_t i = static_cast<std::size_t>(r); i < p.lengths.size(); i += static_cast<std::size_t>(s.replicas)) {
      order.push_back({{static_cast<std::uint32_t>(i)}, p.lengths[i]});
      replica.sequences.push_back(order.back().id);
    }
    replica.partition.forward = packed(order, pass::forward, cost, s.quantum, pack_time);
    replica.partition.backward = packed(order, pass::backward, cost, s.quantum, 2 * pack_time);
    replica.rates = rates_of(cost, s).value();
    workload work = price(replica.partition, cost, s, replica.rates);
    replica.programs = schedules::list{}.programs(work).value();
    replica.peak_memory = simulators::peak_memory(work, replica.programs);
    replica.makespan = simulators::simulate(work, replica.programs).value().makespan;
    replica.times = std::move(work.times);
    for (const pass direction : {pass::forward, pass::backward})
      for (const slice& x : replica.partition.of(direction).slices()) useful += cost.time(x, direction, 0);
    p.step_time = std::max(p.step_time, replica.makespan);
    p.replicas.push_back(std::move(replica));
  }
  p.lower_bound = useful * (1.0 / s.replicas);
  p.bounds = {{"busiest stage", p.lower_bound}};
  p.efficiency = p.lower_bound / p.step_time;
  p.bubble = 1 - useful / (p.step_time * static_cast<double>(s.replicas));
  p.hash = hash_of(p);
  return p;
}

}  // namespace slimpack::testing

#endif
