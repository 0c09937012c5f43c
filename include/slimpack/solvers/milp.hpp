#ifndef SLIMPACK_SOLVERS_MILP_HPP
#define SLIMPACK_SOLVERS_MILP_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/pricing/detail/cost_answers.hpp>
#include <slimpack/pricing/detail/searched_times.hpp>
#include <slimpack/pricing/detail/time_faults.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/simulators/bounds/lower_bounds.hpp>
#include <slimpack/simulators/graph/joint.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/solvers/assembly/detail/checks.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/hooks.hpp>
#include <slimpack/solvers/milp/answer.hpp>
#include <slimpack/solvers/milp/cbc.hpp>
#include <slimpack/solvers/milp/division_model.hpp>
#include <slimpack/solvers/milp/instance.hpp>
#include <slimpack/solvers/milp/limits.hpp>
#include <slimpack/solvers/milp/pipeline.hpp>
#include <slimpack/solvers/milp/pipeline_plans.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/solution.hpp>
#include <slimpack/solvers/two_phase.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Certifies small instances: begins with another solver's plan, and searches packs, orders and times of a replica with
/// a mixed-integer program for anything better, until none is left or a limit is reached. Meant to judge planners, not
/// to replace them: its effort doubles with every atom or two.
/// Source    two phases as in SlimPack (arXiv:2509.26246), whose programs are not public; these are derived
/// Law       never worse than its start
/// Errors    those of the start
/// Requires  component slimpack::milp (CBC)
template <class Inner = two_phase>
struct milp {
  Inner start{};
  milp_limits limits{};

  /// The best plan found. Where a replica exceeds the limits, its part of the start stays as it is.
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& slicer, const Cost& cost,
                                       const Schedule& schedule) const {
    result<milp_answer> found = answer(batch, slicer, cost, schedule);
    if (!found) return std::move(found).error();
    return std::move(found).value().best;
  }

  /// The best plan found, with its proof. The bound holds for every plan that leaves weight gradients with those of
  /// inputs, shares no sequence between replicas and runs one chunk a stage, whatever its packs and orders. Of several
  /// replicas only the assignment is proven; where the start shares sequences, the bound is that of every plan.
  /// Errors    invalid_input: the instance is of another kind, or exceeds the limits; the detail says which and what to
  /// do; a batch, a shape or an answer of the cost model that a planner refuses (basic_planner.hpp)
  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<milp_answer> certify(const problem& batch, const Slicer& slicer, const Cost& cost,
                                            const Schedule& schedule) const {
    return looked_at<milp_answer>(batch, cost, weight_gradients_of<Schedule>,
                                  [&](const problem& asked, const auto& sound) -> result<milp_answer> {
                                    if (result<void> fine = check<Cost, Schedule>(asked, cost); !fine)
                                      return std::move(fine).error();
                                    return answer(asked, slicer, sound, schedule);
                                  });
  }

  /// Phase 1 alone: sequences to replicas, by forward and backward time on the busiest part. A sequence that exceeds a
  /// replica's mean or memory may be shared, `sharers` at most; others stay whole.
  /// Errors    out_of_memory: a sequence does not fit; invalid_input: more sequences than the limit; a batch, a shape
  ///           or an
  /// answer of the cost model that a planner refuses
  template <class Cost>
  [[nodiscard]] result<milp_assignment> assign(const problem& batch, const Cost& cost,
                                               std::uint32_t sharers = 1) const {
    return looked_at<milp_assignment>(
        batch, cost, weight_gradients::with_inputs,
        [&](const problem& asked, const auto& sound) { return assignment(asked, sound, sharers); });
  }

  [[nodiscard]] constexpr std::size_t threads() const { return threads_of(start); }
  constexpr void share_by(exchange_set these) { start = sharing_by(start, these); }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const milp& s) {
    return out << "solvers::milp{.start = " << s.start << ", .limits = " << s.limits << "}";
  }

 private:
  /// What `ask` gives of a batch and a cost model that a planner accepts, whose answers are looked at as a planner
  /// does: times that are none would let the program's search run for ever.
  template <class Answer, class Cost, class Ask>
  [[nodiscard]] static result<Answer> looked_at(const problem& batch, const Cost& cost, weight_gradients weights,
                                                const Ask& ask) {
    if (result<void> fine = slimpack::detail::batch_check(batch.shape, batch.lengths,
                                                          slimpack::detail::abilities_of(cost, true, false));
        !fine)
      return std::move(fine).error();
    const tokens longest = *std::max_element(batch.lengths.begin(), batch.lengths.end());
    const slimpack::detail::answers_of answers(cost);
    if (result<void> fine = slimpack::detail::longest_check(answers, batch.shape, longest)(weights); !fine)
      return std::move(fine).error();
    slimpack::detail::time_faults faults(batch.stop);
    problem asked = batch;
    asked.stop = faults.token();
    result<Answer> found = ask(asked, slimpack::detail::searched_times<Cost>(cost, faults, batch.shape));
    if (faults.any()) return faults.told(batch.lengths, batch.shape.quantum);
    return found;
  }

  template <class Cost>
  [[nodiscard]] result<milp_assignment> assignment(const problem& batch, const Cost& cost,
                                                   std::uint32_t sharers) const {
    if (batch.lengths.size() > limits.sequences)
      return error{errc::invalid_input, "the batch has " + std::to_string(batch.lengths.size()) +
                                            " sequences, milp's limit is " + std::to_string(limits.sequences) +
                                            ": assign fewer, or raise milp_limits::sequences"};
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    const std::vector<sequence> all = batch.batch().sequences();
    const int part = busiest_part(cost, all, batch.shape.parts());
    const auto replicas = static_cast<std::uint32_t>(batch.shape.replicas);
    std::vector<slimpack::detail::milp_division::item> items;
    double work = 0;
    for (const sequence& s : all) {
      const slice whole = s.whole();
      items.push_back(
          {(least_time(cost, whole, pass::forward, part) + least_time(cost, whole, pass::backward, part)).value,
           static_cast<double>(s.length.value)});
      work += items.back().work;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const result<std::uint32_t> least = sharers_for(all[i], batch.shape, rates.value(), std::min(sharers, replicas));
      if (!least) return least.error();
      const bool shared = least.value() > 1 || items[i].work * replicas > work;
      items[i].least = least.value();
      items[i].most = shared ? std::max(least.value(), std::min(sharers, replicas)) : 1;
    }
    const slimpack::detail::milp_division program(items, replicas);
    slimpack::detail::milp_division::placement known = program.balanced();
    const slimpack::detail::milp_found found =
        slimpack::detail::search_with_cbc(program.model(), program.values_of(known), limits, batch.stop);
    milp_assignment answer;
    answer.replicas = found.values.empty() ? std::move(known) : program.placement_of(found.values);
    std::vector<double> load(replicas);
    for (std::size_t i = 0; i < items.size(); ++i)
      for (const std::uint32_t g : answer.replicas[i])
        load[g] += items[i].work / static_cast<double>(answer.replicas[i].size());
    answer.load = {*std::max_element(load.begin(), load.end())};
    answer.bound = {std::max(work / replicas, program.load_of(found.bound) * (1 - tolerance))};
    answer.nodes = found.nodes;
    return answer;
  }

  /// Whether the packs of these sequences are searched.
  template <class Cost, class Schedule>
  [[nodiscard]] bool searches(const shape& on, std::size_t atoms, std::span<const memory_rates> rates) const {
    const bool counts_pairs = std::any_of(rates.begin(), rates.end(), std::mem_fn(&memory_rates::counts_pairs));
    return on.chunks == 1 && weight_gradients_of<Schedule> == weight_gradients::with_inputs &&
           !((slimpack::detail::keeps_by_piece<Cost> || counts_pairs) && on.memory) && atoms <= limits.atoms;
  }

  template <class Cost, class Schedule>
  [[nodiscard]] result<void> check(const problem& batch, const Cost& cost) const {
    std::size_t atoms = 0;
    for (const tokens length : batch.lengths)
      atoms += slimpack::detail::milp_instance::count(length, batch.shape.quantum);
    if (batch.shape.replicas > 1) return success();
    if (atoms > limits.atoms)
      return error{errc::invalid_input, "the batch has " + std::to_string(atoms) + " slices of " +
                                            std::to_string(batch.shape.quantum.value) + " tokens, milp's limit is " +
                                            std::to_string(limits.atoms) + ": raise the quantum or milp_limits::atoms"};
    const result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    if (!searches<Cost, Schedule>(batch.shape, atoms, rates.value()))
      return error{errc::invalid_input,
                   "milp certifies one chunk a stage, weight gradients with those of inputs, and memory by the token"};
    return success();
  }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<milp_answer> answer(const problem& batch, const Slicer& slicer, const Cost& cost,
                                           const Schedule& schedule) const {
    result<solution> begun = start.solve(batch, slicer, cost, schedule);
    if (!begun) return std::move(begun).error();
    result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return std::move(rates).error();
    milp_answer found;
    found.best = std::move(begun).value();
    const std::vector<sequence> all = batch.batch().sequences();
    for (const bound& b : simulators::lower_bounds(cost, batch.shape, all, rates.value()))
      found.bound = std::max(found.bound, b.time);
    shape alone = batch.shape;
    alone.replicas = 1;
    if (batch.shape.replicas > 1 && batch.shape.chunks == 1 && found.best.merges.empty() &&
        all.size() <= limits.sequences && !batch.stop.stop_requested()) {
      const result<milp_assignment> assigned = assignment(batch, cost, 1);
      if (!assigned) return assigned.error();
      found.nodes += assigned.value().nodes;
      found.bound = std::max(found.bound, least_step<Schedule>(cost, batch.shape, all, assigned.value().bound));
    }
    for (const std::vector<std::uint32_t>& group :
         simulators::joint_groups(found.best.merges, found.best.replicas.size())) {
      const result<simulators::priced_group> run =
          simulators::price_group(group, found.best, cost, batch.shape, rates.value(), weight_gradients_of<Schedule>);
      if (!run) return run.error();
      const result<seconds> end = run.value().graphs.makespan();
      if (!end) return end.error();
      seconds now = end.value();
      found.start = std::max(found.start, now);
      replica_solution& replica = found.best.replicas[group.front()];
      std::vector<sequence> own;
      std::size_t atoms = 0;
      for (const sequence_id id : replica.sequences) {
        own.push_back(all[id.value]);
        atoms += slimpack::detail::milp_instance::count(own.back().length, batch.shape.quantum);
      }
      if (group.size() == 1 && !own.empty() && !batch.stop.stop_requested() &&
          searches<Cost, Schedule>(alone, atoms, rates.value())) {
        const seconds proven =
            improve<Schedule>(replica, now, own, alone, cost, rates.value(), batch.stop, found.nodes);
        if (batch.shape.replicas == 1) found.bound = std::max(found.bound, proven);
      }
      found.makespan = std::max(found.makespan, now);
    }
    found.proven = found.makespan <= found.bound * (1 + limits.gap + 2 * tolerance);
    return found;
  }

  /// What CBC's tolerances (1e-6 for integers, 1e-7 for rows) may cost a bound along a chain of instructions.
  static constexpr double tolerance = 1e-5;

  /// What a replica with such a load on the busiest part takes at least, before it the least fill, behind it the least
  /// drain; see simulators::stage_bound.
  template <class Schedule, class Cost>
  [[nodiscard]] static seconds least_step(const Cost& cost, const shape& on, std::span<const sequence> all,
                                          seconds load) {
    const int part = busiest_part(cost, all, on.parts());
    const sequence& shortest = *std::min_element(
        all.begin(), all.end(), [](const sequence& a, const sequence& b) { return a.length < b.length; });
    const seconds step = simulators::fill_time(cost, on, shortest, part) + pack_overhead(cost, pass::forward, part) +
                         load + pack_overhead(cost, pass::backward, part);
    if (weight_gradients_of<Schedule> == weight_gradients::apart) return step;
    return step + simulators::drain_time(cost, on, shortest, part);
  }

  /// The fewest sharers whose memory holds their parts of a sequence.
  [[nodiscard]] static result<std::uint32_t> sharers_for(const sequence& s, const shape& on,
                                                         std::span<const memory_rates> rates, std::uint32_t most) {
    std::uint32_t sharers = 1;
    for (std::size_t r = 0; on.memory && r < rates.size();) {
      const double need = least_held(rates[r], on, {(s.length.value + sharers - 1) / sharers});
      if (need <= on.memory->amount)
        ++r;
      else if (sharers < most)
        ++sharers;
      else
        return does_not_fit(on, r, s.length, sharers, need, rates[r].fixed);
    }
    return sharers;
  }

  /// Searches one replica's packs. Returns a lower bound for its sequences; a better plan replaces `replica`.
  template <class Schedule, class Cost>
  seconds improve(replica_solution& replica, seconds& best, std::span<const sequence> own, const shape& on,
                  const Cost& cost, std::span<const memory_rates> rates, std::stop_token stop,
                  std::int64_t& nodes) const {
    seconds floor{};
    for (const bound& b : simulators::lower_bounds(cost, on, own, rates)) floor = std::max(floor, b.time);
    if (best <= floor * (1 + limits.gap)) return floor;
    const slimpack::detail::milp_instance instance = slimpack::detail::instance_of(own, on, cost, rates);
    // More packs than overheads fit beside the work of a stage only make a step longer.
    std::size_t forwards = instance.atoms.size();
    std::size_t backwards = instance.atoms.size();
    for (int r = 0; r < on.stages; ++r) {
      const seconds spare = best - simulators::stage_bound(cost, on, own, r);
      const auto most = [&](pass p, std::size_t packs) {
        const seconds each = pack_overhead(cost, p, r);
        return each > seconds{} ? std::min(packs, static_cast<std::size_t>(std::max(0.0, spare / each) + 1e-6) + 1)
                                : packs;
      };
      forwards = most(pass::forward, forwards);
      backwards = most(pass::backward, backwards);
    }
    const slimpack::detail::milp_pipeline program(instance, std::max(forwards, replica.partition.forward.size()),
                                                  std::max(backwards, replica.partition.backward.size()), best, floor);
    const std::vector<double> known = program.values_of(replica);
    const slimpack::detail::milp_found found = slimpack::detail::search_with_cbc(program.model(), known, limits, stop);
    nodes += found.nodes;
    if (!found.values.empty()) {
      replica_solution other = program.plan_of(found.values);
      const seconds time = makespan<Schedule>(other, on, cost, rates);
      if (time < best) best = time, replica = std::move(other);
    }
    return std::max(floor, program.time(found.bound - tolerance));
  }

  template <class Schedule, class Cost>
  [[nodiscard]] static seconds makespan(const replica_solution& replica, const shape& on, const Cost& cost,
                                        std::span<const memory_rates> rates) {
    const workload work =
        settled(price(replica.partition, cost, on, {rates.begin(), rates.end()}, weight_gradients_of<Schedule>),
                replica.programs);
    const result<seconds> time = simulators::makespan(work, replica.programs);
    SLIMPACK_ASSERT(time, "plans of solvers and of the mixed-integer program are free of deadlock");
    return time.value();
  }
};

template <class Inner>
milp(Inner) -> milp<Inner>;
template <class Inner>
milp(Inner, milp_limits) -> milp<Inner>;

}  // namespace slimpack::solvers

#endif
