#ifndef SLIMPACK_SHAPES_DETAIL_CONTEST_HPP
#define SLIMPACK_SHAPES_DETAIL_CONTEST_HPP

#include <slimpack/concepts/planning.hpp>
#include <slimpack/core/detail/amount.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/detail/unmet.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/shapes/detail/pack_room.hpp>
#include <slimpack/shapes/ranking.hpp>
#include <slimpack/shapes/search_progress.hpp>
#include <slimpack/simulators/bounds/forward_bounds.hpp>
#include <slimpack/simulators/step_bounds.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/parallel_ahead.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::detail {

template <class CostOf>
using cost_of_layout = typename std::invoke_result_t<const CostOf&, const shapes::layout&>::value_type;

template <class CostOf>
concept gives_costs = requires {
  typename cost_of_layout<CostOf>;
}
&&cost_model<cost_of_layout<CostOf>>;

template <class CostOf>
concept prices_layouts = gives_costs<CostOf> ||
    unmet<"a shape search takes cost_of: result<Cost>(const shapes::layout&), with Cost a cost model">();

template <class PlanOf, class CostOf>
concept gives_plans = requires(const PlanOf& plan_of, const shapes::layout& on, const cost_of_layout<CostOf>& cost,
                               std::span<const tokens> lengths, solvers::search_budget effort) {
  { plan_of(on, cost, lengths, effort) } -> std::same_as<result<plan>>;
};

template <class PlanOf, class CostOf>
concept plans_layouts = gives_plans<PlanOf, CostOf> || unmet<
    "a shape search takes plan_of: result<plan>(const shapes::layout&, const Cost&, span<const tokens>, "
    "search_budget)">();

/// A planner that proves more of its own plans than what holds for all: one that never cuts a sequence, say.
template <class PlanOf, class CostOf>
concept bounds_layouts = requires(const PlanOf& plan_of, const shapes::layout& on, const cost_of_layout<CostOf>& cost,
                                  std::span<const tokens> lengths) {
  { plan_of.least(on, cost, lengths) } -> std::same_as<seconds>;
};

/// The rounds of a shape search: every layout is bounded; those that can still be among the best few are probed; the
/// most promising of these are planned with more effort, and the finalists with all of it.
template <class CostOf, class PlanOf>
class contest {
 public:
  contest(std::span<const shapes::layout> layouts, std::span<const std::vector<tokens>> batches, const CostOf& cost_of,
          const PlanOf& plan_of, bool forward_only, std::size_t threads, std::stop_token stop,
          const shapes::progress_listener& listener)
      : batches_(batches),
        cost_of_(cost_of),
        plan_of_(plan_of),
        forward_only_(forward_only),
        threads_(threads),
        stop_(std::move(stop)),
        listener_(listener) {
    for (const shapes::layout& on : layouts) entries_.push_back({.known = {.layout = on}});
    for (const std::vector<tokens>& lengths : batches) sequences_.push_back(batch_view(lengths).sequences());
    for (const std::vector<tokens>& lengths : batches)
      longest_ = std::max(longest_, *std::max_element(lengths.begin(), lengths.end()));
  }

  /// Lower bounds of every layout, and the proof that some do not fit. Where there are many, an even sample of all goes
  /// first, then another one, and of all that are bounded so far those that promise most are probed in between: for a
  /// search that is stopped early, and for a time that others have to beat.
  result<void> bound(solvers::search_budget effort) {
    const std::size_t all = entries_.size();
    begin(round::bounds, all);
    std::size_t step = all * 618 / 1000 + 1;  // by the golden section, whose multiples are spread evenly
    while (std::gcd(step, all) > 1) ++step;
    const bool are_many = all >= 4 * sampled;  // or the rounds that follow are as fast
    std::vector<std::size_t> waiting;          // to be probed
    for (std::size_t from = 0; from < all; from += sampled) {
      const auto place = [&](std::size_t k) { return (from + k) * step % all; };
      result<void> done = for_each_index(std::min(sampled, all - from), threads_, [&](std::size_t k) -> result<void> {
        if ((are_many && from == 0) || !is_over()) bound_one(entries_[place(k)]);
        tell({});
        return success();
      });
      if (!done) return done;
      if (!are_many) continue;
      for (std::size_t k = 0; k < std::min(sampled, all - from); ++k)
        if (!entries_[place(k)].bounds.empty()) waiting.push_back(place(k));
      if (result<void> r = probe_first_of(waiting, from == 0 ? probed_first : probed_between, effort); !r) return r;
    }
    for (std::size_t i = 0; i < all; ++i) {
      const shapes::outcome seen = entries_[i].known.outcome;
      if (!entries_[i].bounds.empty() && (seen == shapes::outcome::untried || seen == shapes::outcome::too_long))
        open_.push_back(i);
    }
    most_promising_first(open_);
    return success();
  }

  /// Plans layouts, those first that promise most, but for those whose bound says that they are not among the best
  /// `places`. Each is told a time to beat: that of the last of these among all that were planned so many places before
  /// it, no matter how many threads there are, or the ranking would depend on them.
  result<void> probe(solvers::search_budget effort, std::size_t places) {
    std::vector<seconds> best;  // of what was planned, at most `places`, rising
    const auto enter = [&](entry& e) {
      if (!e.is_planned()) return;
      best.insert(std::upper_bound(best.begin(), best.end(), e.known.step_time), e.known.step_time);
      if (best.size() > places) best.pop_back();
      if (e.known.step_time > best.front()) e.plans.clear();  // only those of the best are asked for
    };
    for (entry& e : entries_) enter(e);
    std::vector<seconds> to_beat(open_.size());
    begin(round::probes, open_.size());
    const auto decide = [&](std::size_t i) {
      if (i >= probed_ahead) enter(entries_[open_[i - probed_ahead]]);
      to_beat[i] = best.size() < places ? never : best.back();
    };
    result<void> done =
        for_each_ahead(open_.size(), threads_, probed_ahead, decide, [&](std::size_t i) -> result<void> {
          entry& e = entries_[open_[i]];
          if (is_over()) return success();
          if (!(e.known.lower_bound < to_beat[i]))
            e.known.outcome = shapes::outcome::bounded;
          else if (seconds{e.promised} > to_beat[i] * far)
            e.known.outcome = shapes::outcome::cramped;
          else
            plan_one(e, effort, to_beat[i] * near);
          tell(e.known.step_time);
          return success();
        });
    if (!done) return done;
    for (std::size_t i = open_.size() - std::min(open_.size(), probed_ahead); i < open_.size(); ++i)
      enter(entries_[open_[i]]);
    if (stop_.stop_requested()) probe_any(effort);
    return success();
  }

  /// Probes what memory forces into very many packs: of those that can still be the best, the `most` that promise most;
  /// all of them, until one has a plan, where nothing else has one.
  result<void> probe_long(solvers::search_budget effort, std::size_t places, std::size_t most) {
    std::erase_if(open_, [&](std::size_t i) {
      const shapes::candidate& c = entries_[i].known;
      return c.outcome != shapes::outcome::too_long || (any_plan_ && c.lower_bound >= progress_.best);
    });
    if (!any_plan_) return probe({effort.tasks, effort.candidates}, places);
    open_.resize(std::min(open_.size(), most));
    return probe(effort, places);
  }

  /// Plans the most promising probes once more, until none promises to be the best, and its turn is none of the first
  /// `least` ones. What a probe promises lies between its time and its bound: where memory is tight, packs of a first
  /// look may be far from the best ones.
  result<void> plan_best(solvers::search_budget effort, std::size_t least, bool are_finalists) {
    sort();
    const std::size_t planned = planned_count();
    constexpr std::size_t together = 4;
    begin(round::plans, std::min(planned, least));
    seconds best = planned > 0 ? entries_.front().known.step_time : never;
    const auto promised = [](const entry& e) { return std::sqrt(e.known.step_time.value * e.known.lower_bound.value); };
    std::stable_sort(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(planned),
                     [&](const entry& a, const entry& b) { return promised(a) < promised(b); });
    for (std::size_t at = 0; at < planned && !stop_.stop_requested();) {
      std::size_t n = 0;
      while (n < together && at + n < planned && (at + n < least || promised(entries_[at + n]) < best.value)) ++n;
      if (n == 0) break;
      result<void> done =
          improve_all(at, n, effort, are_finalists, [&](const entry& e) { return e.known.lower_bound <= best; });
      if (!done) return done;
      for (std::size_t i = at; i < at + n; ++i) best = std::min(best, entries_[i].known.step_time);
      at += n;
    }
    return success();
  }

  /// Plans the best `places` once more.
  result<void> plan_finalists(solvers::search_budget effort, std::size_t places) {
    sort();
    const std::size_t n = std::min(places, planned_count());
    begin(round::plans, n);
    return improve_all(0, n, effort, true, [](const entry&) { return true; });
  }

  [[nodiscard]] shapes::ranking ranked() && {
    sort();
    shapes::ranking found;
    if (planned_count() > 0) found.plans = std::move(entries_.front().plans);
    for (entry& e : entries_) found.candidates.push_back(std::move(e.known));
    for (const std::vector<tokens>& lengths : batches_)
      for (const tokens length : lengths) found.batch_tokens += static_cast<double>(length.value);
    found.batch_tokens /= static_cast<double>(batches_.size());
    return found;
  }

 private:
  using round = shapes::search_progress::round;
  static constexpr seconds never{std::numeric_limits<double>::infinity()};
  /// More effort makes steps of a layout shorter by less than this factor, as a rule.
  static constexpr double near = 1.15;
  /// A layout that promises more than this many times the best takes longer than that, if it has a plan at all.
  /// Source    measured: 256 GPUs of llama-3.1-70b and 8 and 64 of llama-3.1-8b, four lists of lengths. Winners promise
  ///           at most 1.25 times what they take; of layouts that promise more than 1.5 times that, none comes within
  ///           16 % of it
  static constexpr double far = 1.5;
  static constexpr std::size_t probed_first = 8;    ///< of the first sample
  static constexpr std::size_t probed_between = 2;  ///< after each further one
  static constexpr std::size_t probed_ahead = 32;   ///< while one is probed: of those that take long, none should be
                                                    ///< waited for
  static constexpr std::size_t sampled = 64;        ///< layouts that are bounded before some are probed

  struct entry {
    shapes::candidate known;
    std::vector<seconds> bounds{};  // by batch; empty where none is needed
    std::vector<plan> plans{};      // by batch; of the best ones
    double promised{};              // seconds: its bound, and more where memory is tight
    double tasks{};                 // of a replica's task graph, about: what memory forces into many packs takes long
                                    // to plan
    [[nodiscard]] bool is_planned() const { return known.outcome == shapes::outcome::planned; }
  };

  /// A search that is stopped goes on until it has a plan.
  [[nodiscard]] bool is_over() const { return stop_.stop_requested() && (any_plan_ || progress_.now == round::bounds); }
  [[nodiscard]] std::size_t planned_count() const {
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const entry& e) { return e.is_planned(); }));
  }

  /// Probes those at most that promise most, if they promise to be the best, and takes them out.
  result<void> probe_first_of(std::vector<std::size_t>& waiting, std::size_t most, solvers::search_budget effort) {
    most_promising_first(waiting);
    const seconds best = any_plan_ ? progress_.best : never;
    std::size_t some = 0;
    while (some < std::min(waiting.size(), most) && seconds{entries_[waiting[some]].promised} < best) ++some;
    result<void> done = for_each_index(some, threads_, [&](std::size_t k) -> result<void> {
      entry& e = entries_[waiting[k]];
      if (stop_.stop_requested() && any_plan_) return success();
      plan_one(e, effort, never);
      tell(e.known.step_time, 0);
      return success();
    });
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(some));
    return done;
  }

  void most_promising_first(std::vector<std::size_t>& these) const {
    std::stable_sort(these.begin(), these.end(),
                     [&](std::size_t a, std::size_t b) { return entries_[a].promised < entries_[b].promised; });
  }

  void begin(round what, std::size_t layouts) {
    progress_ = {what, 0, layouts, progress_.best};
    if (listener_) listener_(progress_);
  }
  /// So many more layouts of the round are done; the step time of one, if it has one.
  void tell(seconds step, std::size_t done = 1) {
    const std::lock_guard lock(telling_);
    progress_.done += done;
    progress_.left -= std::min(progress_.left, done);
    if (step > seconds{}) {
      any_plan_ = true;
      if (progress_.best == seconds{} || step < progress_.best) progress_.best = step;
    }
    if (listener_) listener_(progress_);
  }

  /// Of a search that was stopped before it had bounds of all: goes on until it has a plan. Those that divide the model
  /// most, which need the least memory, are the last.
  void probe_any(solvers::search_budget effort) {
    for (auto e = entries_.rbegin(); e != entries_.rend() && !is_over(); ++e) {
      if (e->known.outcome != shapes::outcome::untried) continue;
      if (e->bounds.empty()) bound_one(*e);
      if (!e->bounds.empty()) plan_one(*e, effort, never);
      tell(e->known.step_time);
    }
  }

  /// Plans some entries once more, those that are `worth` it, and keeps what is faster.
  template <class Worth>
  result<void> improve_all(std::size_t from, std::size_t n, solvers::search_budget effort, bool are_finalists,
                           const Worth& worth) {
    return for_each_index(n, threads_, [&](std::size_t i) -> result<void> {
      entry& e = entries_[from + i];
      if (!worth(e)) return success();
      entry again{.known = {.layout = e.known.layout, .lower_bound = e.known.lower_bound}, .bounds = e.bounds};
      plan_one(again, effort, never);
      tell(again.known.step_time);
      if (!again.is_planned()) return success();  // stopped
      if (again.known.step_time <= e.known.step_time) e = std::move(again);
      e.known.finalist = are_finalists;
      return success();
    });
  }

  void bound_one(entry& e) const {
    const shape& on = e.known.layout.shape;
    const auto cost = cost_of_(e.known.layout);
    if (!cost) return refuse(e.known, cost.error());
    if (const char* const fault = forward_only_ ? forward_fault_of(on) : nullptr)
      return refuse(e.known, {errc::invalid_input, fault});
    const result<std::vector<memory_rates>> rates =
        forward_only_ ? evaluation_rates_of(cost.value(), on) : rates_of(cost.value(), on);
    if (!rates) return refuse(e.known, rates.error());
    if (on.memory && exceeds(e.known, *on.memory, rates.value())) return;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      seconds least{};
      for (const slimpack::bound& any : forward_only_
                                            ? simulators::forward_bounds(cost.value(), on, sequences_[b])
                                            : simulators::step_bounds(cost.value(), on, sequences_[b], rates.value()))
        least = std::max(least, any.time);
      if constexpr (bounds_layouts<PlanOf, CostOf>)
        least = std::max(least, plan_of_.least(e.known.layout, cost.value(), std::span<const tokens>(batches_[b])) +
                                    (forward_only_ ? seconds{} : simulators::least_reduction(cost.value(), on)));
      e.bounds.push_back(least);
    }
    e.known.lower_bound = mean(e.bounds);
    const pack_room room(on, rates.value());
    e.promised = room.promised(e.known.lower_bound, longest_);
    e.tasks = room.tasks(std::accumulate(batches_.front().begin(), batches_.front().end(), tokens{}));
  }

  /// Whether no plan fits, and why: of the longest sequence, some replica holds at least an even share at its turn on
  /// every stage, since all its activations are live then, whoever shares it. Evaluations share nothing.
  [[nodiscard]] bool exceeds(shapes::candidate& c, const memory_limit& limit,
                             std::span<const memory_rates> rates) const {
    const auto text = [&](double amount) { return detail::amount(amount, limit.unit); };
    const double share = std::ceil(static_cast<double>(longest_.value) / (forward_only_ ? 1 : c.layout.shape.replicas));
    for (std::size_t r = 0; r < rates.size(); ++r) {
      const double need = rates[r].fixed + rates[r].live_token * share;
      if (need - limit.amount <= c.missing) continue;
      c.missing = need - limit.amount;
      c.why = "stage " + std::to_string(r) + " holds at least " + text(need) + ", " + text(rates[r].fixed) +
              " of it before any token, the limit is " + text(limit.amount) + ": " + text(c.missing) + " are missing";
    }
    if (c.missing > 0) c.outcome = shapes::outcome::too_large;
    return c.missing > 0;
  }

  /// Plans every batch, or stops where the mean can no longer be less than `to_beat`, or the search is over.
  void plan_one(entry& e, solvers::search_budget effort, seconds to_beat) const {
    shapes::candidate& c = e.known;
    c.why.clear();
    e.plans.clear();
    if (e.tasks > static_cast<double>(effort.largest))
      return refuse(
          c, {errc::over_budget, "memory forces packs that are small, about " + std::to_string(std::llround(e.tasks)) +
                                     " tasks; the search may simulate " + std::to_string(effort.largest)});
    const auto cost = cost_of_(c.layout);
    if (!cost) return refuse(c, cost.error());
    std::vector<seconds> times = e.bounds;  // each replaced by the time of its plan
    double waited = 0, useful = 0;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      if (is_over()) return void(c.outcome = shapes::outcome::untried);
      result<plan> made = plan_of_(c.layout, cost.value(), std::span<const tokens>(batches_[b]), effort);
      if (!made) return refuse(c, made.error());
      const plan& p = e.plans.emplace_back(std::move(made).value());
      times[b] = p.step_time;
      waited += p.bubble * p.step_time.value, useful += useful_share(p) * p.step_time.value;
      c.memory_unit = p.memory_unit;
      for (const replica_plan& r : p.replicas)
        for (const double held : r.peak_memory) c.peak_memory = std::max(c.peak_memory, held);
      if (b + 1 < batches_.size() && !(mean(times) < to_beat)) return void(c.outcome = shapes::outcome::slower);
    }
    c.outcome = shapes::outcome::planned;
    c.step_time = mean(times);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    c.fastest = *least, c.slowest = *most;
    const double all = static_cast<double>(batches_.size()) * c.step_time.value;
    c.bubble = all > 0 ? waited / all : 0, c.useful = all > 0 ? useful / all : 1;
  }

  static void refuse(shapes::candidate& c, const error& why) {
    c.outcome = why.code == errc::out_of_memory ? shapes::outcome::no_room
                : why.code == errc::over_budget ? shapes::outcome::too_long
                                                : shapes::outcome::refused;
    c.why = why.detail;
  }

  [[nodiscard]] static seconds mean(std::span<const seconds> times) {
    return std::accumulate(times.begin(), times.end(), seconds{}) * (1.0 / static_cast<double>(times.size()));
  }

  void sort() {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const entry& a, const entry& b) { return shapes::ranks_before(a.known, b.known); });
  }

  std::span<const std::vector<tokens>> batches_;
  const CostOf& cost_of_;
  const PlanOf& plan_of_;
  bool forward_only_;
  std::size_t threads_;
  std::stop_token stop_;
  std::vector<std::vector<sequence>> sequences_;
  tokens longest_{};
  std::vector<entry> entries_;
  std::vector<std::size_t> open_;  // entries to plan, those first that promise most
  const shapes::progress_listener& listener_;
  std::mutex telling_;  // guards progress_ while a round is under way
  shapes::search_progress progress_;
  std::atomic<bool> any_plan_{};
};

}  // namespace slimpack::detail

#endif
