#ifndef SLIMPACK_SERVICE_REPLICA_PLANNER_HPP
#define SLIMPACK_SERVICE_REPLICA_PLANNER_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/units.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>

namespace slimpack {

/// A planner as one rank needs it: called with a batch, it plans the group of the rank's replica. A batch planner, to
/// be cached and asked ahead like any:
///
///   slimpack::planner plan_batch{shape, slimpack::slicers::equal_cost{}, cost,
///   slimpack::solvers::two_phase_estimated{}}; slimpack::async_planner ahead{slimpack::replica_planner{plan_batch,
///   replica}}; slimpack::rank_plan_ticket next = ahead.submit(lengths);
///
/// Errors    those of the planner's of_replica            Complexity  that of of_replica
template <class Planner>
requires requires(const Planner& p, std::span<const tokens> lengths, std::uint32_t replica, std::stop_token stop) {
  { p.of_replica(lengths, replica, stop) } -> std::same_as<result<rank_plan>>;
}
class replica_planner {
 public:
  replica_planner(Planner plan_batch, std::uint32_t replica) : plan_batch_(std::move(plan_batch)), replica_(replica) {}

  [[nodiscard]] result<rank_plan> operator()(std::span<const tokens> lengths, std::stop_token stop = {}) const {
    return plan_batch_.of_replica(lengths, replica_, std::move(stop));
  }

 private:
  Planner plan_batch_;
  std::uint32_t replica_;
};

}  // namespace slimpack

#endif
