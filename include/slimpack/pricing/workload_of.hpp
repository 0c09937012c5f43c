#ifndef SLIMPACK_PRICING_WORKLOAD_OF_HPP
#define SLIMPACK_PRICING_WORKLOAD_OF_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload.hpp>

#include <cstddef>
#include <cstdint>

namespace slimpack::simulators {

/// One replica of a plan as the simulator reads it, to run the plan again without its cost model.
/// A plan that was read from a file has no memory rates; its replica then counts live tokens.
/// Requires  replica < p.replicas.size(), merges that name replicas and packs there are
/// Errors    none            Complexity  O(size of the replica)
[[nodiscard]] inline workload workload_of(const plan& p, std::size_t replica) {
  SLIMPACK_ASSERT(replica < p.replicas.size(), "replica below the plan's number of replicas");
  const replica_plan& r = p.replicas[replica];
  workload w;
  w.shape = p.shape;
  w.times = r.times;
  copy_ties(r, w);
  w.rates = r.rates;
  if (w.rates.empty()) w.rates.resize(static_cast<std::size_t>(p.shape.stages));
  const auto packs_of = [&](std::uint32_t one) -> const partition& { return p.replicas[one].partition; };
  detail::follow_sequences(r.partition, shared_rows(p.merges, packs_of, static_cast<std::uint32_t>(replica)), p.parents,
                           w);
  return w;
}

}  // namespace slimpack::simulators

#endif
