#ifndef SLIMPACK_SIMULATORS_PLAN_GRAPHS_HPP
#define SLIMPACK_SIMULATORS_PLAN_GRAPHS_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/graph/checked_times.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/sweep.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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

/// The task graphs of a plan, one for each group of replicas that run together (joint_groups), and when their tasks
/// start. The graph of one group is there at a time. Whatever shows a plan asks here, so that it shows the times of one
/// simulator.
template <class Simulator = sweep>
class plan_graphs {
 public:
  /// Requires  a plan that outlives it, whose merges name replicas there are; a simulator (simulator_for)
  explicit plan_graphs(const plan& p, Simulator simulator = {})
      : plan_(&p), simulator_(std::move(simulator)), groups_(joint_groups(p.merges, p.replicas.size())) {
    group_of_.resize(p.replicas.size());
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const std::uint32_t r : groups_[g]) group_of_[r] = g;
  }

  [[nodiscard]] std::span<const std::vector<std::uint32_t>> groups() const noexcept { return groups_; }

  /// Makes the graph of a replica's group the one that is there, and simulates it.
  /// Errors    those of joint_graph, of the simulator and of checked_starts
  /// Complexity that of joint_graph, and one run of the simulator; O(1) when it is there already
  result<void> select(std::size_t replica) {
    if (group_of_[replica] == selected_) return success();
    const std::vector<std::uint32_t>& group = groups_[group_of_[replica]];
    selected_ = groups_.size();
    works_.clear();
    for (const std::uint32_t r : group) works_.push_back(workload_of(*plan_, r));
    result<task_graph> made = joint_graph(
        group, [&](std::uint32_t r) -> const workload& { return works_[position(r)]; },
        [&](std::uint32_t r) -> std::span<const program> { return plan_->replicas[r].programs; }, plan_->merges);
    if (!made) return std::move(made).error();
    graph_ = std::move(made).value();
    result<std::vector<seconds>> start = checked_starts(graph_, simulator_.starts(graph_));
    if (!start) return std::move(start).error();
    start_ = std::move(start).value();
    selected_ = group_of_[replica];
    return success();
  }

  /// Of the group that is there: its graph, the starts of its tasks, and the workload of a replica.
  [[nodiscard]] const task_graph& graph() const noexcept { return graph_; }
  [[nodiscard]] std::span<const seconds> start() const noexcept { return start_; }
  [[nodiscard]] const Simulator& simulator() const noexcept { return simulator_; }
  [[nodiscard]] const workload& work(std::size_t replica) const noexcept { return works_[position(replica)]; }

  /// A replica's place in its group: task::replica of its tasks.
  [[nodiscard]] std::size_t position(std::size_t replica) const noexcept {
    const std::vector<std::uint32_t>& group = groups_[group_of_[replica]];
    return static_cast<std::size_t>(std::lower_bound(group.begin(), group.end(), replica) - group.begin());
  }

 private:
  const plan* plan_;
  Simulator simulator_;
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<std::size_t> group_of_;
  std::size_t selected_{static_cast<std::size_t>(-1)};  // group, or none
  std::vector<workload> works_;
  task_graph graph_;
  std::vector<seconds> start_;
};

}  // namespace slimpack::simulators

#endif
