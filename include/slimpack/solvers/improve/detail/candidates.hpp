#ifndef SLIMPACK_SOLVERS_IMPROVE_DETAIL_CANDIDATES_HPP
#define SLIMPACK_SOLVERS_IMPROVE_DETAIL_CANDIDATES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/solvers/detail/any_policies.hpp>
#include <slimpack/solvers/detail/cost_questions.hpp>
#include <slimpack/solvers/pack/align.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/pack/partitioner.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/size_ratios.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Packs of one replica in an order, and how long that takes.
struct ordered_packs {
  partition packs;
  std::vector<program> programs;
  seconds makespan{std::numeric_limits<double>::infinity()};
};

/// What a search of one replica's packs has tried: each candidate is priced, scheduled and simulated, what that takes
/// is counted against a budget, and the fastest is kept. How to come to candidates is for others to say.
/// Requires  a sequence in the group
class candidates {
 public:
  candidates(std::span<const sequence> group, const problem& batch, const any_slicer& slicer, const any_cost& cost,
             const any_schedule& schedule, std::span<const memory_rates> rates, const solvers::search_options& options)
      : batch_(batch),
        cost_(cost),
        schedule_(schedule),
        rates_(rates.begin(), rates.end()),
        options_(options),
        partitioner_(group, batch.shape, slicer, cost, rates, options) {}

  /// Starts to count against a budget.
  void begin(solvers::search_budget budget) { budget_ = until_ = budget; }
  /// Ends what is under way before the whole budget is spent.
  void end_at(solvers::search_budget until) noexcept { until_ = until; }
  void spend(std::uint64_t tasks) noexcept { tasks_ += tasks; }
  /// What reports call candidates from now on.
  void call(std::string_view what) noexcept { called_ = what; }

  [[nodiscard]] const solvers::search_budget& budget() const noexcept { return budget_; }
  [[nodiscard]] solvers::search_budget until() const noexcept { return until_; }
  [[nodiscard]] solvers::search_budget used() const noexcept { return {tasks_, count_}; }
  /// Nodes of the last candidate, about as many as the next will have.
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
  [[nodiscard]] bool is_long() const noexcept { return budget_.candidates >= options_.tuning.long_candidates; }
  [[nodiscard]] bool stopped() const { return batch_.stop.stop_requested(); }
  [[nodiscard]] bool spent() const { return tasks_ + last_ > until_.tasks || count_ >= until_.candidates || stopped(); }

  /// The makespan of a candidate, which is kept if it is the best so far, or why it has no plan.
  result<seconds> consider(const partition_rule& c) {
    ++count_;
    result<partition> packs = partitioner_.packs(c, most_packs());
    if (!packs) return std::move(packs).error();
    const bool first = !best_;
    result<seconds> time = score(std::move(packs).value(), c.alignment, is_long());
    if (time && (first || time.value() < of_best_)) best_ = c, of_best_ = time.value();
    return time;
  }
  /// Tries the best with a change, if the budget allows.
  template <class Change>
  void vary(const Change& change) {
    if (spent()) return;
    partition_rule next = *best_;
    change(next);
    static_cast<void>(consider(next));
  }

  /// The makespan of packs as scheduled, which are kept if they are the fastest so far, or why they cannot run.
  result<seconds> score(partition packs) { return score(std::move(packs), best_->alignment, is_long()); }
  /// The same by the schedule as it was given, without the effort of a long search.
  result<seconds> score_as_given(partition packs) { return score(std::move(packs), 0, false); }

  /// The fastest rule, which has the packs of `fastest` unless those were moved or are whole.
  [[nodiscard]] const partition_rule& best() const { return *best_; }
  [[nodiscard]] seconds of_best() const noexcept { return of_best_; }
  [[nodiscard]] ordered_packs& fastest() noexcept { return fastest_; }
  [[nodiscard]] const ordered_packs& fastest() const noexcept { return fastest_; }
  /// Whether the cost model keeps anything beside tokens.
  [[nodiscard]] bool keeps_beside_tokens() const noexcept { return keeps_beside_tokens_; }

  /// Packs of a pass that so many tasks are enough for.
  [[nodiscard]] double packs_within(std::uint64_t tasks) const {
    return static_cast<double>(tasks) / (6.0 * batch_.shape.parts());
  }
  /// A candidate of more packs than the quickest search can simulate would take too long.
  [[nodiscard]] double most_packs() const {
    return packs_within(std::max(budget_.tasks, solvers::search_budget::fast().tasks));
  }

  [[nodiscard]] const problem& batch() const noexcept { return batch_; }
  [[nodiscard]] const any_schedule& schedule() const noexcept { return schedule_; }
  [[nodiscard]] const std::vector<memory_rates>& rates() const noexcept { return rates_; }
  [[nodiscard]] const solvers::search_options& options() const noexcept { return options_; }
  [[nodiscard]] const partitioner<any_slicer, any_cost>& packs() const noexcept { return partitioner_; }
  /// Counts priced slices of what is foretold, too.
  [[nodiscard]] auto even(tokens quantum) { return partitioner_.even(quantum, most_packs(), tasks_); }
  [[nodiscard]] const solvers::search_report& report() const noexcept { return report_; }

 private:
  /// Of the largest plan that is made at all: its graphs take about 200 bytes for each. Not a search option, since it
  /// is no matter of taste.
  static constexpr std::uint64_t most_instructions = std::uint64_t{1} << 26;

  [[nodiscard]] std::uint64_t instructions_of(const partition& packs) const {
    return (packs.forward.size() + packs.backward.size()) * static_cast<std::size_t>(batch_.shape.parts());
  }

  /// alignment: where both passes are cut alike
  result<seconds> score(partition packs, double alignment, bool longer) {
    if (batch_.common_cuts) packs = aligned(packs, alignment);
    last_ = tasks_of(packs);
    if ((last_ > budget_.largest || instructions_of(packs) > most_instructions) && fastest_.programs.empty())
      return too_large(packs);
    tasks_ += last_;
    const workload priced = price(packs, cost_, batch_.shape, rates_, schedule_.weights(), {}, partitioner_.parents());
    keeps_beside_tokens_ = !priced.times.kept.forward.empty();
    result<timed_programs> timed = longer ? schedule_.timed_longer(priced) : schedule_.timed(priced);
    const bool taken = timed && timed.value().makespan < fastest_.makespan;
    if (!called_.empty()) record(taken, taken ? timed.value().makespan : seconds{});
    if (!timed) return std::move(timed).error();
    const seconds time = timed.value().makespan;
    if (taken) fastest_ = {std::move(packs), std::move(timed.value().programs), time};
    return time;
  }

  /// On each part: instructions, a message for nearly each, and slices to price. Those of sharers take their time, too;
  /// a short search does not count them, or it would try too few candidates to tell one division from another.
  [[nodiscard]] std::uint64_t tasks_of(const partition& packs) const {
    std::size_t sharers = 1;
    if (is_long()) sharers += sharers_priced_by(cost_);
    return (2 * (packs.forward.size() + packs.backward.size()) +
            sharers * (packs.forward.slices().size() + packs.backward.slices().size())) *
           static_cast<std::size_t>(batch_.shape.parts());
  }

  [[nodiscard]] error too_large(const partition& packs) const {
    const bool limited = batch_.shape.memory.has_value();
    const bool by_effort = last_ > budget_.largest;
    const std::string are =
        by_effort ? std::to_string(last_) + " tasks; the search may simulate " + std::to_string(budget_.largest)
                  : std::to_string(instructions_of(packs)) + " instructions; a plan may have " +
                        std::to_string(most_instructions);
    return {errc::over_budget,
            (limited ? "under the memory limit the batch makes " : "the batch makes ") +
                std::to_string(packs.forward.size()) + " forward and " + std::to_string(packs.backward.size()) +
                " backward packs on " + std::to_string(batch_.shape.parts()) + " parts, " + are + ": use fewer stages" +
                (limited ? ", more memory" : "") + (by_effort ? ", more effort" : "") + " or a smaller batch"};
  }

  /// What a candidate did; the first gains nothing, since there was nothing to be faster than.
  void record(bool taken, seconds time) {
    solvers::move_report& line = report_.of(called_);
    ++line.tried;
    line.taken += taken;
    if (taken && fastest_.makespan.value < std::numeric_limits<double>::infinity())
      line.gained += fastest_.makespan - time;
  }

  const problem& batch_;
  const any_cost& cost_;
  const any_schedule& schedule_;
  std::vector<memory_rates> rates_;
  const solvers::search_options& options_;
  partitioner<any_slicer, any_cost> partitioner_;

  solvers::search_budget budget_{};  // of the whole search
  solvers::search_budget until_{};   // of the part of it that is under way
  std::uint64_t tasks_{};
  std::uint64_t last_{};
  std::uint64_t count_{};
  std::optional<partition_rule> best_;  // of pack sizes; whole packs and moved ones are none
  seconds of_best_{};
  ordered_packs fastest_;
  bool keeps_beside_tokens_{};
  std::string_view called_;
  solvers::search_report report_;
};

}  // namespace slimpack::detail

/// Candidates that are tried before chance has its turn: what a walk would take long to find.
namespace slimpack::detail {

/// The first candidate. Where it does not fit: smaller packs need less memory beside the longest sequence. Packs of one
/// slice need the least, since then, with one chunk, no sequence waits for another: whatever fits alone fits. Unless
/// pieces keep bytes beside their tokens, as states: then larger slices, which are fewer, may need less.
/// No sequence is cut into more slices than most_cuts.
inline result<seconds> consider_first(candidates& tried, const partition_rule& start) {
  // Of a sequence: more take gigabytes, to save few tokens. It is no search option, as it tunes nothing: it keeps a
  // plan of any batch from taking all of the planner's own memory.
  constexpr std::int64_t most_cuts = 65536;
  const solvers::search_options& o = tried.options();
  const tokens finest = tried.batch().shape.quantum;
  const tokens longest = tried.packs().longest().length;
  const tokens quantum = finest * (1 + longest.value / finest.value / most_cuts);
  const auto is_short = [](const result<seconds>& r) { return !r && r.error().code == errc::out_of_memory; };
  result<seconds> made = tried.consider(start);
  for (double share = o.smaller_first; is_short(made); share *= o.tuning.smaller_step) {
    const bool least = share * tried.packs().share() < 1;  // short sequences share packs of less than a quantum
    partition_rule small = start;
    small.front = 1, small.quantum = quantum;
    for (solvers::size_ratios* p : {&small.sizes.forward, &small.sizes.backward})
      for (double* size : {&p->steady, &p->turn_least, &p->before, &p->after}) *size *= least ? 0 : share;
    made = tried.consider(small);
    for (tokens cut = quantum; least && is_short(made) && tried.keeps_beside_tokens() && cut < longest;) {
      small.quantum = cut += cut;
      if (const result<seconds> larger = tried.consider(small); larger) made = larger;
    }
    if (least) break;
  }
  return made;
}

/// Where weight gradients run apart, what is left of a backward takes about as long as a forward: packs of as many
/// tokens in both passes keep the stages in step, and can be larger, since weight gradients fill what stages wait.
/// Which size is best depends on how packs meet on the stages.
inline void consider_alike(candidates& tried, const partition_rule& even) {
  const solvers::search_options& o = tried.options();
  partition_rule alike = even;
  alike.sizes.backward = alike.sizes.forward;
  for (std::uint32_t i = 0; i < o.tuning.alike_sizes && !tried.spent(); ++i) {
    static_cast<void>(tried.consider(alike));
    for (const pass p : both_passes)
      alike.sizes[p].steady *= o.tuning.alike_step, alike.sizes[p].ramp_least *= o.tuning.alike_step;
  }
  tried.vary([&](partition_rule& c) { c.sizes.forward.ramp_least *= o.tuning.even_ramp; });
}

/// Tries even packs, unless the best has taken less than they will.
inline void consider_even(candidates& tried, tokens quantum) {
  if (tried.spent()) return;
  const auto even = tried.even(quantum);
  if (!even) return;
  const seconds before = tried.of_best();
  if (even->least < before) static_cast<void>(tried.consider(even->of));
  if (tried.schedule().weights() == weight_gradients::apart) consider_alike(tried, even->of);
  if (tried.of_best() == before) return;
  const solvers::search_options& o = tried.options();
  tried.vary([&](partition_rule& c) {
    c.sizes.forward.ramp_least *= o.tuning.even_ramp, c.sizes.backward.ramp_least *= o.tuning.even_ramp;
  });
  tried.vary([&](partition_rule& c) { c.crowding = o.tuning.crowding; });
}

/// Tries some steps that the walk would take long to find. Where packs cost more than their slices tell, or are
/// cut up among chunks, they had better be of one size; and where times do not add up, fewer cuts may be faster.
inline void consider_kinds(candidates& tried) {
  const solvers::search_options& o = tried.options();
  const tokens quantum = tried.batch().shape.quantum;
  const bool chunked = tried.batch().shape.chunks > 1;
  const bool cuts_cost = tried.packs().cuts_cost();
  if (tried.packs().has_pack_times() || chunked) consider_even(tried, quantum);
  if (cuts_cost || chunked) consider_even(tried, longest_supported);
  if (cuts_cost)
    for (const tokens coarse : {quantum * o.tuning.coarse_first, quantum * o.tuning.coarse_second, longest_supported})
      tried.vary([&](partition_rule& c) { c.quantum = std::min(coarse, longest_supported); });
  tried.vary([&](partition_rule& c) { c.sizes.backward.steady *= o.tuning.larger_backward; });
  tried.vary([](partition_rule& c) { c.front = 1; });
}

/// Tries the packs of solvers::megatron, and be it beyond the budget, unless they cannot be the fastest, or are more
/// than the quickest search could simulate.
inline void consider_whole(candidates& tried) {
  if (tried.stopped()) return;
  const seconds limit = tried.fastest().makespan * (1 + 1e-9);  // sums in another order are rounded otherwise
  std::optional<partition> packs = tried.packs().whole(limit, tried.packs_within(solvers::search_budget::fast().tasks));
  if (packs) static_cast<void>(tried.score_as_given(*std::move(packs)));
}

}  // namespace slimpack::detail

#endif
