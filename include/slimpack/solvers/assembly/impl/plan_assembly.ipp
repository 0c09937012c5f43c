#ifndef SLIMPACK_SOLVERS_ASSEMBLY_IMPL_PLAN_ASSEMBLY_IPP
#define SLIMPACK_SOLVERS_ASSEMBLY_IMPL_PLAN_ASSEMBLY_IPP

#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/ensemble/stage_ties.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/uncut.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/plan_hash.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/detail/vocabulary_turn.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/rank_time_of.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/graph/checked_times.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/task_graph.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/simulators/reduction_stream.hpp>
#include <slimpack/simulators/step_bounds.hpp>
#include <slimpack/solvers/assembly/detail/checks.hpp>
#include <slimpack/solvers/assembly/detail/memory_rungs.hpp>
#include <slimpack/solvers/assembly/detail/plan_assembly.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::detail {

SLIMPACK_DECL solution plan_assembly::of_layers(solution&& solved) const {
  if (shape_.vocabulary == vocabulary::spread)
    for (replica_solution& r : solved.replicas)
      if (r.programs.size() > static_cast<std::size_t>(shape_.stages))
        r.programs.resize(static_cast<std::size_t>(shape_.stages));
  return std::move(solved);
}

/// The most that a stage of a plan holds.
[[nodiscard]] inline double peak_of(const plan& p) {
  double most = 0;
  for (const replica_plan& r : p.replicas)
    for (const double peak : r.peak_memory) most = std::max(most, peak);
  return most;
}

SLIMPACK_DECL result<plan> plan_assembly::searched(const batch_view& batch, const std::stop_token& stop,
                                                   time_faults& faults, std::size_t efforts,
                                                   function_ref<result<solution>(const problem&)> solve) const {
  const auto begin = std::chrono::steady_clock::now();
  const search_request asked{batch, stop, faults, solve};
  result<plan> made = efforts == 0 ? within(shape_.memory, 0, asked) : fastest(efforts, asked);
  if (faults.any()) return faults.told(batch, shape_.quantum);
  if (made) sign(made.value(), stop, begin);
  return made;
}

SLIMPACK_DECL result<plan> plan_assembly::fastest(std::size_t efforts, const search_request& asked) const {
  // They are no search options: a plan so near its bound gains little within less memory, and the next rung tells
  // little. Searches that do not see the calls of a vocabulary are less sure. Who asks for the least effort alone looks
  // no further unless the plan is far from its bound.
  constexpr double far = 0.85;
  const double near_bound = efforts == 1 ? far : shape_.vocabulary == vocabulary::spread ? 0.97 : 0.95;
  constexpr int most_refused = 3;
  const std::size_t least = efforts - 1;
  const std::optional<memory_limit>& limit = shape_.memory;
  std::vector<std::optional<memory_limit>> limits{limit};  // of those tried, which are for more effort
  const auto stopped = [&] { return asked.faults.any() || asked.stop.stop_requested(); };
  result<plan> best = within(limit, least, asked);
  double top = limit ? limit->amount : 0;
  // What is shared within less memory may be one replica's within more, and leave it no room for others.
  for (int refused = 0; refused < most_refused && limit && !stopped(); ++refused) {
    if (best || best.error().code != errc::out_of_memory) break;
    const std::optional<double> rung = rung_below(top);
    if (!rung) break;
    top = *rung;
    const memory_limit lower{limit->unit, top};
    if (result<plan> made = within(lower, least, asked); made) best = std::move(made), limits.push_back(lower);
  }
  if (!best && best.error().code != errc::out_of_memory) return best;
  const auto take = [&](const result<plan>& made, bool is_own) {
    if (!made) return false;
    const bool faster = !best || made.value().step_time < best.value().step_time;
    if (faster || (is_own && made.value().step_time == best.value().step_time)) best = made;
    return faster;
  };
  if (best && limit && best.value().efficiency < near_bound) {
    const memory_unit unit = limit->unit;
    const int most_misses = best.value().efficiency < far ? 4 : 1;
    top = peak_of(best.value());
    for (int misses = 0; misses < most_misses && !stopped();) {
      const std::optional<double> rung = rung_below(top);
      if (!rung) break;
      top = *rung;
      const result<plan> made = within(memory_limit{unit, top}, least, asked);
      if (take(made, false))
        limits.resize(1), limits.push_back(memory_limit{unit, top}), misses = 0;
      else
        ++misses;
    }
  }
  for (std::size_t less = least; less > 0; --less)
    for (const std::optional<memory_limit>& one : limits) {
      if (stopped()) return best;
      const result<plan> made = within(one, less - 1, asked);
      if (!made && made.error().code == errc::invalid_input) return made;  // unsound: not to be passed over in silence
      take(made, one == limit);
    }
  return best;
}

SLIMPACK_DECL result<plan> plan_assembly::within(const std::optional<memory_limit>& limit, std::size_t less,
                                                 const search_request& asked) const {
  shape on = vocabulary_turn::searched(shape_);
  on.memory = limit;
  const bool estimated =
      shape_.vocabulary == vocabulary::spread || (shape_.parts() > 1 && simulators::reduction_of(cost_, shape_));
  // Neither 5 nor 0.97 is a search option: any solver is asked so, and they do not tune its search. In most plans of a
  // spread vocabulary the first answer fits; each try leaves what calls hold between packs a little more room.
  for (int tries = shape_.vocabulary == vocabulary::spread && limit ? 5 : 1;; --tries) {
    result<solution> solved = asked.solve({.lengths = asked.batch.lengths(),
                                           .shape = on,
                                           .stop = asked.faults.token(),
                                           .estimated = estimated,
                                           .parents = asked.batch.parents(),
                                           .less = less,
                                           .lowered = limit != shape_.memory});
    if (asked.faults.any()) return asked.faults.told(asked.batch, shape_.quantum);
    if (!solved) return std::move(solved).error();
    result<plan> made = fastest_of(asked.batch, asked.stop, std::move(solved).value());
    if (asked.faults.any()) return asked.faults.told(asked.batch, shape_.quantum);
    if (made && limit && peak_of(made.value()) > limit->amount)
      made = error{errc::out_of_memory, "the plan needs " + detail::amount(peak_of(made.value()), limit->unit) +
                                            ", the limit is " + detail::amount(limit->amount, limit->unit)};
    if (made || made.error().code != errc::out_of_memory || tries == 1) return made;
    on.memory->amount *= 0.97;
  }
}

SLIMPACK_DECL std::optional<double> plan_assembly::rung_below(double limit) const {
  const result<std::vector<memory_rates>> rates = rates_of(cost_, shape_);
  if (!rates) return std::nullopt;
  return memory_rungs(shape_, rates.value()).below(limit);
}

SLIMPACK_DECL result<plan> plan_assembly::fastest_of(const batch_view& batch, const std::stop_token& stop,
                                                     solution&& solved) const {
  std::vector<solution> others = std::move(solved.runners_up);
  result<plan> best = of(batch, of_layers(std::move(solved)));
  for (solution& other : others) {
    if (!best || stop.stop_requested()) break;
    result<plan> made = of(batch, of_layers(std::move(other)), best.value().step_time);
    if (!made && made.error().code == errc::invalid_input) return made;  // unsound: not to be passed over in silence
    if (made && made.value().step_time < best.value().step_time) best = std::move(made);
  }
  return best;
}

SLIMPACK_DECL result<rank_plan> plan_assembly::searched_group(
    const batch_view& batch, const std::stop_token& stop, time_faults& faults,
    function_ref<result<group_solution>(const problem&)> solve) const {
  const auto begin = std::chrono::steady_clock::now();
  result<group_solution> solved = solve({.lengths = batch.lengths(),
                                         .shape = vocabulary_turn::searched(shape_),
                                         .stop = faults.token(),
                                         .parents = batch.parents()});
  if (faults.any()) return faults.told(batch, shape_.quantum);
  if (!solved) return std::move(solved).error();
  rank_plan made{solved.value().division, solved.value().replicas, {}};
  solved.value().solved = of_layers(std::move(solved.value().solved));
  result<plan> part = of(batch, std::move(solved).value());
  if (faults.any()) return faults.told(batch, shape_.quantum);
  if (!part) return std::move(part).error();
  made.part = std::move(part).value();
  sign(made.part, stop, begin);
  return made;
}

SLIMPACK_DECL result<plan> plan_assembly::put_together(std::span<const rank_plan> parts,
                                                       const time_faults& faults) const {
  const auto wrong = [](const std::string& what) { return error{errc::invalid_input, "parts of a plan: " + what}; };
  if (parts.empty()) return wrong("there are none");
  const plan& first = parts.front().part;
  if (first.shape != shape_) return wrong("they are for another shape than the planner's");
  plan p = blank(batch_of(first));
  p.copies = first.copies;
  std::vector<const rank_plan*> of(p.replicas.size());
  for (const rank_plan& r : parts) {
    if (r.group.empty() || r.part.replicas.size() != of.size())
      return wrong("one has no group, or other replicas than the shape");
    if (r.division != parts.front().division || r.part.shape != shape_ || r.part.lengths != first.lengths ||
        r.part.parents != first.parents || r.part.copies != first.copies || r.part.samples != first.samples ||
        r.part.targets != first.targets)
      return wrong("replicas " + std::to_string(parts.front().group.front()) + " and " +
                   std::to_string(r.group.front()) + " are of different divisions");
    for (const std::uint32_t replica : r.group) {
      if (replica >= of.size()) return wrong("the shape has no replica " + std::to_string(replica));
      const rank_plan* const before = std::exchange(of[replica], &r);
      if (before && (before->group != r.group || before->part.hash != r.part.hash))
        return wrong("two of them plan replica " + std::to_string(replica) + " differently");
    }
  }
  for (std::uint32_t replica = 0; replica < of.size(); ++replica) {
    if (!of[replica]) return wrong("none plans replica " + std::to_string(replica));
    const rank_plan& r = *of[replica];
    p.replicas[replica] = r.part.replicas[replica];
    if (r.group.front() != replica) continue;
    p.merges.insert(p.merges.end(), r.part.merges.begin(), r.part.merges.end());
    p.truncated = p.truncated || r.part.truncated;
    p.planning_time = std::max(p.planning_time, r.part.planning_time);
  }
  result<void> proved = prove(p);
  if (faults.any()) return faults.told(batch_of(p), shape_.quantum);
  if (!proved) return std::move(proved).error();
  p.hash = hash_of(p);
  return p;
}

SLIMPACK_DECL plan plan_assembly::blank(const batch_view& batch) const {
  plan p;
  p.simulator = simulator_.name();
  p.lengths.assign(batch.lengths().begin(), batch.lengths().end());
  if (batch.shares_prefixes()) p.parents.assign(batch.parents().begin(), batch.parents().end());
  p.samples.assign(batch.samples().begin(), batch.samples().end());
  p.targets.assign(batch.targets().begin(), batch.targets().end());
  p.shape = shape_;
  p.memory_unit = unit_of(cost_, shape_);
  p.replicas.resize(static_cast<std::size_t>(shape_.replicas));
  p.reduction = simulators::reduction_of(cost_, shape_);
  if (!p.reduction && shape_.has_copies()) p.reduce_time = reduce_time_of(cost_);  // between copies of the weights
  return p;
}

SLIMPACK_DECL result<void> plan_assembly::take_cut(solution& solved, const batch_view& batch, plan& p) {
  if (!solved.cut) return success();
  const auto wrong = [](const std::string& what) {
    return error{errc::invalid_input, "the solver's answer is wrong: " + what};
  };
  if (const std::optional<std::string> fault = batch_view(*solved.cut).fault()) return wrong(*fault);
  const result<uncut_forest> from = uncut(*solved.cut, solved.cut->copies);
  if (!from) return wrong(from.error().detail);
  const auto parents = batch.shares_prefixes() ? batch.parents() : std::span<const sequence_id>{};
  if (!std::ranges::equal(from.value().lengths, batch.lengths()) || !std::ranges::equal(from.value().parents, parents))
    return wrong("it cuts the paths of another batch");
  p.lengths = std::move(solved.cut->lengths);
  p.parents = std::move(solved.cut->parents);
  p.copies = std::move(solved.cut->copies);
  if (!batch_of(p).shares_prefixes()) p.parents.clear();
  return success();
}

SLIMPACK_DECL result<plan> plan_assembly::of(const batch_view& batch, solution&& solved, seconds to_beat) const {
  plan p = blank(batch);
  if (result<void> cut = take_cut(solved, batch, p); !cut) return std::move(cut).error();
  if (result<void> sound = detail::solution_check(solved, batch_of(p), shape_); !sound) return std::move(sound).error();
  if (result<void> run =
          simulate(p, simulators::joint_groups(solved.merges, p.replicas.size()), std::move(solved), to_beat);
      !run)
    return std::move(run).error();
  if (result<void> proved = prove(p); !proved) return std::move(proved).error();
  return p;
}

SLIMPACK_DECL result<plan> plan_assembly::of(const batch_view& batch, group_solution&& group) const {
  plan p = blank(batch);
  if (result<void> cut = take_cut(group.solved, batch, p); !cut) return std::move(cut).error();
  if (result<void> sound = detail::solution_check(group, batch_of(p), shape_); !sound) return std::move(sound).error();
  std::vector<std::vector<std::uint32_t>> groups = simulators::joint_groups(group.solved.merges, p.replicas.size());
  std::erase_if(groups, [&](const std::vector<std::uint32_t>& g) {
    return !std::binary_search(group.replicas.begin(), group.replicas.end(), g.front());
  });
  if (result<void> run = simulate(p, groups, std::move(group.solved)); !run) return std::move(run).error();
  return p;
}

SLIMPACK_DECL result<void> plan_assembly::prove(plan& p) const {
  result<std::vector<memory_rates>> rates = rates_of(cost_, shape_);
  if (!rates) return std::move(rates).error();
  const result<uncut_forest> from = uncut(batch_of(p), p.copies);
  if (!from) return from.error();
  const std::vector<sequence> batch = batch_view(from.value()).sequences();
  if (std::none_of(p.replicas.begin(), p.replicas.end(), [](const replica_plan& r) { return ties_stages(r); })) {
    return prove(p, simulators::step_bounds(cost_, shape_, batch, rates.value()));
  }
  bound mean = simulators::mean_stage_bound(cost_, shape_, batch);
  mean.time += simulators::least_reduction(cost_, shape_);
  return prove(p, {mean});
}

SLIMPACK_DECL result<void> plan_assembly::prove(plan& p, std::vector<bound> bounds) const {
  for (const replica_plan& r : p.replicas) p.step_time = std::max(p.step_time, r.makespan);
  if (p.reduction) p.reduce_time = simulators::exposed_reduction(p);
  p.step_time += p.reduce_time;
  p.bounds = std::move(bounds);
  for (bound& b : p.bounds) {
    // A bound that a plan meets may come out an ulp above it, since its sum is taken in another order.
    if (b.time > p.step_time && b.time <= p.step_time * (1 + 1e-12)) b.time = p.step_time;
    p.lower_bound = std::max(p.lower_bound, b.time);
  }
  const batch_work done = batch_work_of(p, cost_);
  p.rank_time = rank_time_of(p, done);
  const bool timed = p.step_time > seconds{};  // where nothing takes time, nothing is lost
  p.efficiency = timed ? p.lower_bound / p.step_time : 1;
  p.bubble = timed ? without_rounding(
                         {1 - done.work / (p.step_time * (static_cast<double>(shape_.replicas) * shape_.stages))}, {1})
                         .value
                   : 0;
  return laws_check(p, cost_);
}

SLIMPACK_DECL void plan_assembly::sign(plan& p, const std::stop_token& stop,
                                       std::chrono::steady_clock::time_point begin) {
  p.truncated = stop.stop_possible();
  p.planning_time = {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  p.hash = hash_of(p);
}

SLIMPACK_DECL result<void> plan_assembly::simulate(plan& p, const std::vector<std::vector<std::uint32_t>>& groups,
                                                   solution&& solved, seconds to_beat, bool forward_only) const {
  const result<std::vector<memory_rates>> rates =
      forward_only ? evaluation_rates_of(cost_, shape_) : rates_of(cost_, shape_);
  if (!rates) return rates.error();
  const std::vector<sequence> all = batch_of(p).sequences();
  std::vector<bool> shared(all.size());
  for (const merge& m : solved.merges) shared[m.sequence.value] = true;
  result<void> run = detail::for_each_index(groups.size(), threads_, [&](std::size_t g) -> result<void> {
    return simulate(p, groups[g], solved, all, shared, rates.value(), to_beat);
  });
  if (!run) return run;
  p.merges = std::move(solved.merges);
  return success();
}

SLIMPACK_DECL result<void> plan_assembly::simulate(plan& p, std::span<const std::uint32_t> group, solution& solved,
                                                   std::span<const sequence> all, const std::vector<bool>& shared,
                                                   const std::vector<memory_rates>& rates, seconds to_beat) const {
  result<simulators::priced_group> run =
      simulators::price_group(group, solved, cost_, shape_, rates, weights_, to_beat, p.parents);
  if (!run) return std::move(run).error();
  if (to_beat != never) {
    const result<seconds> makespan = run.value().graphs.makespan();
    if (!makespan) return makespan.error();
    if (makespan.value() >= to_beat) return error{errc::not_faster, "a replica takes no less than the plan to beat"};
  }
  const result<simulators::task_graph> graph = std::move(run.value().graphs).joined();
  if (!graph) return graph.error();
  const result<std::vector<seconds>> start =
      simulators::checked_starts(graph.value(), simulator_.starts(graph.value()));
  if (!start) return start.error();
  const std::vector<seconds> ends = simulators::ends_of(graph.value(), start.value(), group.size());
  std::vector<std::vector<gradient_span>> gradients;
  if (p.reduction) gradients = simulators::gradients_of(graph.value(), start.value(), group.size(), shape_);
  for (std::size_t g = 0; g < group.size(); ++g) {
    if (!run.value().programs.empty()) solved.replicas[group[g]].programs = std::move(run.value().programs[g]);
    result<replica_plan> one =
        recorded(all, std::move(solved.replicas[group[g]]), shared, std::move(run.value().works[g]), rates);
    if (!one) return std::move(one).error();
    one.value().makespan = ends[g];
    if (p.reduction) one.value().gradients = std::move(gradients[g]);
    p.replicas[group[g]] = std::move(one).value();
  }
  return success();
}

SLIMPACK_DECL result<replica_plan> plan_assembly::recorded(std::span<const sequence> all, replica_solution&& from,
                                                           const std::vector<bool>& shared, workload&& work,
                                                           const std::vector<memory_rates>& rates) const {
  replica_plan r;
  r.peak_memory = simulators::peak_memory(work, from.programs);
  if (shape_.memory) {
    const double peak = *std::max_element(r.peak_memory.begin(), r.peak_memory.end());
    if (peak > shape_.memory->amount)
      return error{errc::out_of_memory, "the plan needs " + detail::amount(peak, shape_.memory->unit) +
                                            ", the limit is " +
                                            detail::amount(shape_.memory->amount, shape_.memory->unit)};
  }
  // What a replica shares with others is not its own: no bound of it alone holds.
  std::vector<sequence> own;
  for (const sequence_id id : from.sequences)
    if (!shared[id.value]) own.push_back(all[id.value]);
  const auto by_depth = [](const sequence& a, const sequence& b) { return a.begin < b.begin; };
  if (std::any_of(own.begin(), own.end(), [](const sequence& s) { return !s.is_root(); }))
    std::stable_sort(own.begin(), own.end(), by_depth);  // parents before their children
  shape alone = shape_;
  alone.replicas = 1;
  if (ties_stages(work))
    r.lower_bound = own.empty() ? seconds{} : simulators::mean_stage_bound(cost_, alone, own).time;
  else if (!work.is_forward_only())  // plan_forward has bounds of its own
    for (const bound& b : simulators::lower_bounds(cost_, alone, own, rates))
      r.lower_bound = std::max(r.lower_bound, b.time);
  r.sequences = std::move(from.sequences);
  r.partition = std::move(from.partition);
  r.programs = std::move(from.programs);
  r.times = std::move(work.times);
  copy_ties(work, r);
  r.rates = rates;
  return r;
}

}  // namespace slimpack::detail

#endif
