#ifndef SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_BASELINE_CONTEST_HPP
#define SLIMPACK_SOLVERS_TWO_PHASE_DETAIL_BASELINE_CONTEST_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/detail/reduction_waits.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/simulators/graph/makespan.hpp>
#include <slimpack/slicers/cut_budget.hpp>
#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/detail/least_of_packs.hpp>
#include <slimpack/solvers/baselines/detail/sliced_rows.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/pack_lengths.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/pack/sequence_bins.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What the shipped baselines would do, against a plan: their packs by the schedule, and by their own 1F1B where the
/// schedule's order may change; and the plan's packs by 1F1B there, unless they are many for the effort.
/// Law       the answer is no slower than the plan nor, but for rounding, than any of these that the slicer and the
///           memory allow: packs that do not cut, and rows of as many slices as slice_counts says, of each of
///           pack_lengths, until their ramps are too long (baselines/pack_lengths.hpp), and a chunk has 8192 tokens; as
///           it was where nothing is faster. Packs of a replica that are more than the quickest search can simulate
///           take no part. Where times are estimates, those that are near the fastest are kept, too
/// Complexity for each length of packs that of the baselines, and a pricing of their packs; what those take at least
///           (least_time_of) spares most of them a schedule
class baseline_contest {
 public:
  /// Requires  what it is given by reference outlives it
  baseline_contest(const problem& batch, const any_slicer& slicer, const any_cost& cost, const any_schedule& schedule,
                   const std::vector<memory_rates>& rates, solvers::search_budget effort,
                   const solvers::search_options& options = solvers::default_search_options)
      : batch_(batch),
        slicer_(slicer),
        cost_(cost),
        schedule_(schedule),
        rates_(rates),
        effort_(effort),
        options_(options) {}

  /// Takes part with a plan of the search.            Returns  whether it is the fastest so far
  bool enter(planned_division ours) {
    if (schedule_.orders_may_change()) reorder(ours);
    return take(std::move(ours));
  }

  /// Lets the baselines take part.            Returns  whether one is the fastest so far
  bool let_baselines_enter() {
    const seconds before = end_;
    constexpr schedules::one_f_one_b early{.lead = 2};
    static_cast<void>(consider(solvers::chunked{}.packed(batch_, slicer_, cost_), early));
    const auto longest = std::max_element(batch_.lengths.begin(), batch_.lengths.end());
    const sequence giant{{static_cast<std::uint32_t>(longest - batch_.lengths.begin())}, *longest};
    const std::vector<tokens> packs = baselines::pack_lengths(batch_.lengths, batch_.shape, rates_);
    if (may_be_whole(giant)) {
      consider_lengths<solvers::megatron>(packs);
      consider_lengths<solvers::dp_balanced>(packs);
      consider_lengths<solvers::karmarkar_karp>(packs);
    }
    std::vector<std::vector<sequence_bin>> rows(packs.size());  // by length, whatever the slices
    const auto rows_of = [&](tokens row) {
      std::vector<sequence_bin>& known =
          rows[static_cast<std::size_t>(std::find(packs.begin(), packs.end(), row) - packs.begin())];
      if (known.empty()) known = rows_of_alike_tokens(batch_, row);
      return known;
    };
    // A search may see one stage more than there are on which packs only turn, and so one slice more.
    for (int stages = batch_.shape.stages; stages >= std::max(1, batch_.shape.stages - batch_.estimated); --stages)
      for (const int slices : baselines::slice_counts(stages))
        consider_lengths(packs, early,
                         [&](tokens row) { return allowed(sliced(batch_, rows_of(row), slices, false)); });
    return end_ < before;
  }

  /// Requires  that something took part
  [[nodiscard]] planned_division& best() noexcept { return *best_; }
  /// With those that were as near as estimates are, the nearest first.
  [[nodiscard]] planned_division with_runners_up() {
    for (planned_division& other : others_)
      if (other.end() < near()) best_->solved.runners_up.push_back(std::move(other.solved));
    return *std::move(best_);
  }
  [[nodiscard]] seconds end() const noexcept { return end_; }
  /// Baselines' packs that were put in order.
  [[nodiscard]] std::uint64_t tried() const noexcept { return tried_; }

 private:
  /// What is no faster than this takes no part.
  [[nodiscard]] seconds near() const { return batch_.estimated ? end_ * options_.estimate_times : end_; }
  /// Returns   whether it is the fastest so far. Where times are estimates, the slower one is kept, too
  bool take(planned_division made) {
    const bool first = !best_ || is_faster(made.end(), end_);
    const bool alone = !best_;
    if (alone) best_.emplace();
    if (first) end_ = made.end(), std::swap(made, *best_);
    if (alone || !batch_.estimated) return first;
    const auto sooner = [](const planned_division& a, const planned_division& b) { return a.end() < b.end(); };
    others_.insert(std::upper_bound(others_.begin(), others_.end(), made, sooner), std::move(made));
    return first;
  }

  /// By more than sums of the same times in another order may differ.
  static bool is_faster(seconds one, seconds other) { return one < other * (1 - 1e-10); }

  /// Orders the packs of replicas that end last and share nothing by 1F1B, as long as that ends them sooner.
  void reorder(planned_division& ours) const {
    for (;;) {
      const auto last = std::max_element(ours.ends.begin(), ours.ends.end());
      const planning_unit& unit = ours.units[static_cast<std::size_t>(last - ours.ends.begin())];
      if (!unit.shared.empty()) return;
      replica_solution& r = ours.solved.replicas[unit.replicas.front()];
      if (!is_small(r.partition)) return;
      const workload work = price(r.partition, cost_, batch_.shape, rates_);
      bool sooner = false;
      for (const schedules::one_f_one_b order :
           {schedules::one_f_one_b{.lead = 2}, schedules::one_f_one_b{.lead = 1}}) {
        result<timed_programs> timed = schedules::timed(order, work);
        if (!timed || !is_faster(timed.value().makespan, *last)) continue;
        *last = timed.value().makespan;
        r.programs = std::move(timed.value().programs);
        sooner = true;
      }
      if (!sooner) return;
    }
  }

  /// Whether the orders that 1F1B tries for these packs, about forty under a limit, are a small part of the effort.
  /// Neither number is a search option: they only keep this rare try from taking time that was not asked for.
  [[nodiscard]] bool is_small(const partition& packs) const {
    const std::size_t tasks =
        (packs.forward.size() + packs.backward.size()) * static_cast<std::size_t>(batch_.shape.parts());
    return 40 * tasks <= effort_.tasks / 32;
  }

  /// Of a replica: as many as the quickest search can simulate. More would not be worth what a trainer spends on each.
  [[nodiscard]] std::size_t most_packs() const {
    return solvers::search_budget::fast().tasks / (6 * static_cast<std::size_t>(batch_.shape.parts()));
  }

  /// Whether the slicer lets the longest sequence be, and it can pass all stages there and back in time.
  [[nodiscard]] bool may_be_whole(const sequence& longest) const {
    const slice whole = longest.whole();
    const auto uncut = [&](pass p) {
      const cut_budget unhurried{
          {std::numeric_limits<double>::infinity()}, longest.length, batch_.shape.quantum, 0, true};
      return slicer_.next(longest, p == pass::forward ? tokens{0} : longest.length, p, unhurried, cost_) == whole;
    };
    if (!uncut(pass::forward) || !uncut(pass::backward)) return false;
    seconds chain{};
    for (const pass p : both_passes)
      for (int part = 0; part < batch_.shape.parts(); ++part) chain += pack_time(cost_, std::span(&whole, 1), p, part);
    return is_faster(chain, end_);
  }

  /// A baseline's packs of rising length, as long as their ramps are no reason to leave it.
  template <class Baseline>
  void consider_lengths(std::span<const tokens> packs) {
    consider_lengths(packs, baselines::classic(batch_.shape),
                     [&](tokens pack) { return Baseline{pack}.packed(batch_, slicer_, cost_); });
  }
  template <class Pack>
  void consider_lengths(std::span<const tokens> packs, schedules::one_f_one_b usual, const Pack& packed) {
    for (const tokens pack : packs)
      if (batch_.stop.stop_requested() || !consider(packed(pack), usual)) return;
  }

  /// Packs that were cut without asking the slicer, if it would cut so, too.
  [[nodiscard]] result<std::vector<replica_solution>> allowed(result<std::vector<replica_solution>> packed) const {
    const auto would_cut = [&](const slice& s, pass p) {
      const sequence whole{s.sequence, batch_.lengths[s.sequence.value]};
      const cut_budget unhurried{{std::numeric_limits<double>::infinity()}, s.length, batch_.shape.quantum, 0, true};
      return slicer_.next(whole, p == pass::forward ? s.begin : s.end(), p, unhurried, cost_) == s;
    };
    for (std::size_t r = 0; packed && r < packed.value().size(); ++r)
      for (const pass p : both_passes)
        for (const slice& s : packed.value()[r].partition.of(p).slices())
          if (!would_cut(s, p)) return error{errc::invalid_input, "the slicer cuts otherwise"};
    return packed;
  }

  /// Returns   whether packs as these but larger, and so fewer, could be the fastest so far
  bool consider(const result<std::vector<replica_solution>>& packed, schedules::one_f_one_b usual) {
    if (batch_.stop.stop_requested() || !packed) return false;
    for (const replica_solution& r : packed.value())
      if (r.partition.forward.size() > most_packs()) return true;
    std::vector<workload> works;
    for (const replica_solution& r : packed.value()) {
      works.push_back(price(r.partition, cost_, batch_.shape, rates_, schedule_.weights()));
      const seconds least = least_time_of(works.back());
      if (!is_faster(least, near()))
        return is_faster(least - overheads(r.partition) - reduction_waits(cost_, batch_.shape).most(), near());
    }
    const auto by = [&](const any_schedule& how) {
      order(packed.value(), works, [&](std::size_t r) { return how.timed(works[r]); });
    };
    by(schedule_);
    if (schedule_.orders_may_change()) by(schedule_behind(usual));
    if (batch_.estimated)
      order(packed.value(), works,
            [&](std::size_t r) { return timed_as_planned(packed.value()[r].partition, works[r]); });
    return true;
  }

  /// In the order that the schedule gives a plan, for which no sums of gradients are counted (count_late_sums); timed
  /// with them.
  [[nodiscard]] result<timed_programs> timed_as_planned(const partition& packs, const workload& work) const {
    const std::vector<seconds>& times = work.times.calls[pass::backward];
    if (times.empty()) return schedule_.timed(work);
    workload planned = work;
    const int parts = batch_.shape.parts();
    const std::size_t last = times.size() - static_cast<std::size_t>(parts);
    timings without;
    cost_.layers(packs.backward, pass::backward, parts, without);
    const seconds late = times[last] - without.calls[pass::backward][last];
    planned.times.calls[pass::backward][last] -= late;
    if (!planned.split.weights.empty()) planned.split.weights[last] -= late;
    result<timed_programs> timed = schedule_.timed(planned);
    if (!timed) return timed;
    const result<seconds> makespan = simulators::makespan(work, timed.value().programs);
    if (!makespan) return makespan.error();
    timed.value().makespan = makespan.value();
    return timed;
  }

  /// What a stage spends on packs, beside their slices.
  [[nodiscard]] seconds overheads(const partition& packs) const {
    seconds most{};
    for (int part = 0; part < batch_.shape.parts(); ++part) {
      seconds sum{};
      for (const pass p : both_passes) sum += pack_overhead(cost_, p, part) * static_cast<double>(packs.of(p).size());
      most = std::max(most, sum);
    }
    return most * batch_.shape.chunks;
  }

  /// timed_programs_of: those of a replica
  template <class Timed>
  void order(const std::vector<replica_solution>& packed, std::span<const workload> works,
             const Timed& timed_programs_of) {
    ++tried_;
    planned_division made{division_of(packed), {}, {packed}};
    for (std::size_t r = 0; r < works.size(); ++r) {
      result<timed_programs> timed = timed_programs_of(r);
      if (!timed || !is_faster(timed.value().makespan, near())) return;
      made.ends.push_back(timed.value().makespan);
      made.solved.replicas[r].programs = std::move(timed.value().programs);
    }
    take(std::move(made));
  }

  /// Each replica's sequences as a unit of its own.
  [[nodiscard]] division division_of(const std::vector<replica_solution>& packed) const {
    division units;
    for (const replica_solution& r : packed) {
      planning_unit& unit = units.emplace_back(planning_unit{{static_cast<std::uint32_t>(units.size())}, {}, {}, {}});
      for (const sequence_id id : r.sequences) unit.own.push_back({id, batch_.lengths[id.value]});
      std::sort(unit.own.begin(), unit.own.end(), [](const sequence& a, const sequence& b) { return a.id < b.id; });
    }
    return units;
  }

  const problem& batch_;
  const any_slicer& slicer_;
  const any_cost& cost_;
  const any_schedule& schedule_;
  const std::vector<memory_rates>& rates_;
  solvers::search_budget effort_;
  const solvers::search_options& options_;
  std::optional<planned_division> best_;
  std::vector<planned_division> others_;  // the nearest first
  seconds end_{std::numeric_limits<double>::infinity()};
  std::uint64_t tried_{};
};

}  // namespace slimpack::detail

#endif
