#ifndef SLIMPACK_SOLVERS_DETAIL_PLAN_ASSEMBLY_HPP
#define SLIMPACK_SOLVERS_DETAIL_PLAN_ASSEMBLY_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/detail/amount.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/rank_time_of.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/reduction.hpp>
#include <slimpack/simulators/step_bounds.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/solution_check.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/pack/needs.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Makes a plan of a solution: checks it, prices it, runs it in the simulator and proves how good it is, whatever search had
/// found it (see Trust in basic_planner.hpp).
/// Cost: a model whose answers are checked (pricing/detail/checked_times.hpp)
template <class Cost, class Simulator>
class plan_assembly {
 public:
  /// threads: that price and simulate replicas; weights: what the schedule wants packs priced with
  /// Requires  all outlive it
  plan_assembly(const shape& on, const Cost& cost, const Simulator& simulator, std::size_t threads, weight_gradients weights)
      : shape_(on), cost_(cost), simulator_(simulator), threads_(threads), weights_(weights) {}

  /// A plan without replicas.
  [[nodiscard]] plan blank(std::span<const tokens> lengths) const {
    plan p;
    p.simulator = Simulator::name;
    p.lengths.assign(lengths.begin(), lengths.end());
    p.shape = shape_;
    p.memory_unit = unit_of(cost_, shape_);
    p.replicas.resize(static_cast<std::size_t>(shape_.replicas));
    p.reduction = simulators::reduction_of(cost_, shape_);
    if (!p.reduction && shape_.has_copies()) p.reduce_time = reduce_time_of(cost_);  // between copies of the weights
    return p;
  }

  /// Prices a solution, runs it in the simulator, and proves how good it is.
  result<plan> of(std::span<const tokens> lengths, solution&& solved) const {
    if (result<void> sound = detail::solution_check(solved, lengths, shape_)(); !sound) return std::move(sound).error();
    plan p = blank(lengths);
    if (result<void> run = simulate(p, simulators::joint_groups(solved.merges, p.replicas.size()), std::move(solved));
        !run)
      return std::move(run).error();
    if (result<void> proved = prove(p); !proved) return std::move(proved).error();
    return p;
  }

  /// The part of a group, priced and run likewise.
  result<plan> of(std::span<const tokens> lengths, group_solution&& group) const {
    if (result<void> sound = detail::solution_check(group, lengths, shape_)(); !sound) return std::move(sound).error();
    plan p = blank(lengths);
    std::vector<std::vector<std::uint32_t>> groups = simulators::joint_groups(group.solved.merges, p.replicas.size());
    std::erase_if(groups, [&](const std::vector<std::uint32_t>& g) {
      return !std::binary_search(group.replicas.begin(), group.replicas.end(), g.front());
    });
    if (result<void> run = simulate(p, groups, std::move(group.solved)); !run) return std::move(run).error();
    return p;
  }

  /// What only a whole plan has: step time, bounds, efficiency, bubble and rank time.
  result<void> prove(plan& p) const {
    result<std::vector<memory_rates>> rates = rates_of(cost_, shape_);
    if (!rates) return std::move(rates).error();
    const std::vector<sequence> batch = solvers::sequences_of(p.lengths);
    if (std::none_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return !r.loans.empty(); })) {
      prove(p, simulators::step_bounds(cost_, shape_, batch, rates.value()));
      return success();
    }
    bound mean = simulators::mean_stage_bound(cost_, shape_, batch);
    mean.time += simulators::least_reduction(cost_, shape_);
    prove(p, {mean});
    return success();
  }
  void prove(plan& p, std::vector<bound> bounds) const {
    for (const replica_plan& r : p.replicas) p.step_time = std::max(p.step_time, r.makespan);
    if (p.reduction) p.reduce_time = simulators::exposed_reduction(p);
    p.step_time += p.reduce_time;
    p.bounds = std::move(bounds);
    for (bound& b : p.bounds) {
      // A bound that a plan meets may come out an ulp above it, since its sum is taken in another order.
      if (b.time > p.step_time && b.time <= p.step_time * (1 + 1e-12)) b.time = p.step_time;
      p.lower_bound = std::max(p.lower_bound, b.time);
    }
    p.rank_time = rank_time_of(p, cost_);
    const bool timed = p.step_time > seconds{};  // where nothing takes time, nothing is lost
    p.efficiency = timed ? p.lower_bound / p.step_time : 1;
    p.bubble = timed ? 1 - p.rank_time->useful / (p.step_time * (static_cast<double>(shape_.replicas) * shape_.stages)) : 0;
  }

  /// Prices and runs groups of replicas (joint_groups), and hands them and the merges over to the plan.
  result<void> simulate(plan& p, const std::vector<std::vector<std::uint32_t>>& groups, solution&& solved) const {
    const result<std::vector<memory_rates>> rates = rates_of(cost_, shape_);
    if (!rates) return rates.error();
    std::vector<bool> shared(p.lengths.size());
    for (const merge& m : solved.merges) shared[m.sequence.value] = true;
    result<void> run = detail::for_each_index(groups.size(), threads_, [&](std::size_t g) {
      return simulate(p, groups[g], solved, shared, rates.value());
    });
    if (!run) return run;
    p.merges = std::move(solved.merges);
    return success();
  }

 private:
  /// Prices and runs the replicas of a group, which share sequences where they are several (simulators/graph/joint.hpp),
  /// and hands them over to the plan.
  result<void> simulate(plan& p, std::span<const std::uint32_t> group, solution& solved, const std::vector<bool>& shared,
                        const std::vector<memory_rates>& rates) const {
    result<simulators::priced_group> run =
        simulators::price_group(group, solved, cost_, shape_, rates, weights_);
    if (!run) return std::move(run).error();
    const simulators::task_graph& graph = run.value().graph;
    const result<std::vector<seconds>> start = simulator_.starts(graph);
    if (!start) return start.error();
    const std::vector<seconds> ends = simulators::ends_of(graph, start.value(), group.size());
    std::vector<std::vector<gradient_span>> gradients;
    if (p.reduction) gradients = simulators::gradients_of(graph, start.value(), group.size(), shape_);
    for (std::size_t g = 0; g < group.size(); ++g) {
      if (!run.value().programs.empty()) solved.replicas[group[g]].programs = std::move(run.value().programs[g]);
      result<replica_plan> one =
          recorded(p.lengths, std::move(solved.replicas[group[g]]), shared, std::move(run.value().works[g]), rates);
      if (!one) return std::move(one).error();
      one.value().makespan = ends[g];
      if (p.reduction) one.value().gradients = std::move(gradients[g]);
      p.replicas[group[g]] = std::move(one).value();
    }
    return success();
  }

  /// A replica of the plan, all but its makespan, with its memory checked.
  result<replica_plan> recorded(std::span<const tokens> lengths, replica_solution&& from,
                                const std::vector<bool>& shared, workload&& work,
                                const std::vector<memory_rates>& rates) const {
    replica_plan r;
    r.peak_memory = simulators::peak_memory(work, from.programs);
    if (shape_.memory) {
      const double peak = *std::max_element(r.peak_memory.begin(), r.peak_memory.end());
      if (peak > shape_.memory->amount)
        return error{errc::out_of_memory, "the plan needs " + detail::amount(peak, shape_.memory->unit) + ", the limit is " +
                                              detail::amount(shape_.memory->amount, shape_.memory->unit)};
    }
    // What a replica shares with others is not its own: no bound of it alone holds.
    std::vector<sequence> own;
    for (const sequence_id id : from.sequences)
      if (!shared[id.value]) own.push_back({id, lengths[id.value]});
    shape alone = shape_;
    alone.replicas = 1;
    if (!work.loans.empty())
      r.lower_bound = own.empty() ? seconds{} : simulators::mean_stage_bound(cost_, alone, own).time;
    else if (!work.is_forward_only())  // plan_forward has bounds of its own
      for (const bound& b : simulators::lower_bounds(cost_, alone, own, rates)) r.lower_bound = std::max(r.lower_bound, b.time);
    r.sequences = std::move(from.sequences);
    r.partition = std::move(from.partition);
    r.programs = std::move(from.programs);
    r.forward = std::move(work.forward);
    r.backward = std::move(work.backward);
    r.weight = std::move(work.weight);
    r.vocabulary = std::move(work.vocabulary);
    r.loans = std::move(work.loans);
    r.communication = work.communication;
    r.rates = rates;
    return r;
  }

  const shape& shape_;
  const Cost& cost_;
  const Simulator& simulator_;
  std::size_t threads_;
  weight_gradients weights_;
};

}  // namespace slimpack::detail

#endif
