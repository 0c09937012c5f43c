#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVISION_SEARCH_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVISION_SEARCH_HPP

#include <slimpack/core/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/exchange.hpp>
#include <slimpack/detail/amount.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/place_groups.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/divide/stand_in_cost.hpp>
#include <slimpack/solvers/divide/unfold.hpp>
#include <slimpack/solvers/improve/detail/local_search.hpp>
#include <slimpack/solvers/improve/shipped.hpp>
#include <slimpack/solvers/pack/needs.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_budget.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 1: which sequences which replicas run, alone or shared. Where there is but one division, it is planned with all
/// of the effort. Of several, each is planned with the least effort and simulated, as it is and with more shared in its
/// groups, until one comes near the mean work of a replica; the fastest three are balanced anew by what their replicas
/// took and planned with a quarter of the effort together, the fastest of these so again with as much; of the fastest then
/// who ends last hands a few sequences to who ends first, and that is planned with three quarters. The fastest of all
/// these plans is the answer.
/// Source    DP-Merge of SlimPack (arXiv:2509.26246), whose rule is not public; the choices and their trial are derived
template <class Slicer, class Cost, class Schedule, class Moves = solvers::improve::shipped>
class division_search {
 public:
  /// Requires  what it is given by reference outlives it
  division_search(const problem& batch, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
                  const std::vector<memory_rates>& rates, const partition_rule& start, std::uint32_t most_sharers,
                  exchange_set exchanges, std::size_t threads,
                  const solvers::search_options& options = solvers::default_search_options)
      : batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule), rates_(rates), start_(start),
        most_sharers_(most_sharers), exchanges_(exchanges), threads_(threads), options_(options),
        all_(solvers::sequences_of(batch.lengths)) {
    stage_ = solvers::busiest_stage(cost, all_, batch.shape);
    for (const sequence& s : all_) work_.push_back(work_of({s.id, {0}, s.length}));
    shares_freely_ = exchange_is_free();
  }

  result<solution> best(solvers::search_budget effort) {
    result<std::vector<division>> found = choices();
    if (!found) return std::move(found).error();
    std::vector<division>& all = found.value();
    if (all.size() == 1) {
      result<outcome> only = planned(std::move(all.front()), start_, effort);
      if (!only) return std::move(only).error();
      return std::move(only.value().solved);
    }
    if (result<void> some = try_each(all, effort); !some) return std::move(some).error();
    // First candidates do not tell well who ends first, so the best are balanced by what their replicas took.
    const auto balanced = [&](contender& c) { rebalance(c.units, c.ends); };
    const auto levelled = [&](contender& c) { level(c.units, all_, work_, c.ends); };
    plan_again("balanced", options_.finalists, part_of(effort, options_.balance_quarters), balanced);
    plan_again("balanced", 1, part_of(effort, options_.balance_again_quarters), balanced);
    tried_.assign(1, *fastest_);
    plan_again("levelled", 1, part_of(effort, options_.level_quarters), levelled);
    return std::move(fastest_->solved);
  }

  /// What best() has done, of all replicas and divisions together.
  [[nodiscard]] const solvers::search_report& report() const noexcept { return report_; }

 private:
  /// A division, and when each of its units ended as it was planned last.
  struct contender {
    division units;
    std::vector<seconds> ends;
    [[nodiscard]] seconds end() const { return *std::max_element(ends.begin(), ends.end()); }
  };

  /// A division with its plan.
  struct outcome : contender {
    solution solved;
  };

  /// A number of quarters of the effort.
  struct quarters {
    solvers::search_budget whole;
    std::uint64_t count;
  };
  static quarters part_of(solvers::search_budget whole, std::uint32_t count) { return {whole, count}; }

  /// Divisions that are worth a trial, each once: nothing shared but what memory forces, then ever more of the heavy
  /// sequences; where there are several, also each of these with more shared in its groups.
  [[nodiscard]] result<std::vector<division>> choices() const {
    std::vector<sharers_range> sharers;
    for (const sequence& s : all_) {
      const result<sharers_range> of = sharers_of(s);
      if (!of) return of.error();
      sharers.push_back(of.value());
    }
    std::vector<division> found;
    constexpr double never = 1e9;
    for (const double share :
         {never, options_.part_first, options_.part_second, options_.part_third, options_.part_fourth}) {
      division next = grouped(all_, work_, sharers, replicas(), share, options_.light);
      for (planning_unit& u : next) u.exchanges = exchanges_;
      place_groups(next, cost_, batch_.shape.quantum, stage_);
      if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(std::move(next));
    }
    const std::vector<double> idle(replicas(), 0.0);
    for (division& choice : found) share_out(choice, all_, work_, idle);
    for (std::size_t i = 0, given = found.size(); given > 1 && i < given; ++i) {
      division all_shared = found[i];
      if (!share_more(all_shared, work_, sharers, options_.light)) continue;
      share_out(all_shared, all_, work_, idle);
      found.push_back(std::move(all_shared));
    }
    // What is kept of the others may be what a plan has no room for.
    const exchange_set without = exchanges_.without_keeping();
    for (std::size_t i = 0, given = found.size(); keeping_takes_room() && !without.empty() && i < given; ++i) {
      division lean = found[i];
      for (planning_unit& u : lean)
        if (!u.shared.empty()) u.exchanges = without;
      if (lean != found[i]) found.push_back(std::move(lean));
    }
    return found;
  }

  /// Whether keys and values that are kept of other sharers count under the limit.
  [[nodiscard]] bool keeping_takes_room() const {
    const auto counts = [](const memory_rates& r) { return r.other_token > 0; };
    return exchanges_.keep && batch_.shape.memory && std::any_of(rates_.begin(), rates_.end(), counts);
  }

  /// Plans each with the least effort, until one comes near the mean work of a replica, which no division beats. The fast
  /// effort is content with 1 % more, normal with 0.1 %.
  /// Errors    why the first had no plan, where none has
  result<void> try_each(const std::vector<division>& all, solvers::search_budget effort) {
    std::optional<error> why;
    const double mean = std::accumulate(work_.begin(), work_.end(), 0.0) / static_cast<double>(replicas());
    const auto candidates = static_cast<double>(std::max<std::uint64_t>(1, effort.candidates));
    const seconds near{mean * (1 + options_.near_mean / candidates)};
    for (const division& choice : all) {
      if (fastest_ && (batch_.stop.stop_requested() || fastest_->end() <= near)) break;
      result<outcome> trial = tried_once(choice);
      if (trial)
        keep("divided", std::move(trial).value());
      else
        why = why ? std::move(why) : trial.error();
    }
    if (!fastest_) return *std::move(why);
    return success();
  }

  /// Changes the fastest of those tried last, up to `most`, and plans them with a part of the effort together.
  template <class Change>
  void plan_again(std::string_view called, std::size_t most, quarters effort, const Change& change) {
    std::vector<contender> next = std::exchange(tried_, {});
    std::stable_sort(next.begin(), next.end(), [](const contender& x, const contender& y) { return x.end() < y.end(); });
    next.resize(std::min(next.size(), most));
    const std::uint64_t parts = 4 * next.size();
    for (contender& c : next) {
      if (batch_.stop.stop_requested()) break;
      change(c);
      result<outcome> made = planned(std::move(c.units), start_,
                                     {effort.whole.nodes / parts * effort.count, effort.whole.candidates / parts * effort.count});
      if (made) keep(called, std::move(made).value());
    }
  }

  /// Notes what was tried, and its plan if it is the fastest.
  void keep(std::string_view called, outcome&& made) {
    solvers::move_report& line = report_.of(called);
    ++line.tried;
    tried_.push_back(made);  // without its plan
    const bool taken = !fastest_ || is_better(made, *fastest_);
    if (!taken) return;
    ++line.taken;
    if (fastest_) line.gained += fastest_->end() - made.end();
    fastest_ = std::move(made);
  }

  /// Whether one division's plan is worth more than another's: it ends sooner, and by a margin if it shares more without
  /// a price.
  [[nodiscard]] bool is_better(const contender& one, const contender& other) const {
    const auto shared = [](const division& units) {
      tokens sum{};
      for (const planning_unit& u : units)
        for (const sequence& s : u.shared) sum += s.length;
      return sum;
    };
    const double margin = shares_freely_ ? options_.sharing_gain : 0;
    const tokens more = shared(one.units) - shared(other.units);
    if (more > tokens{}) return one.end() < other.end() * (1 - margin);
    if (more < tokens{}) return one.end() * (1 - margin) < other.end();
    return one.end() < other.end();
  }

  /// Whether the cost model takes no time for what sharers of the longest sequence exchange.
  [[nodiscard]] bool exchange_is_free() const {
    if (replicas() < 2 || exchanges_.empty()) return false;
    const sequence longest = *std::max_element(all_.begin(), all_.end(), [](const sequence& a, const sequence& b) { return a.length < b.length; });
    const slice mine{longest.id, {0}, std::min(longest.length, batch_.shape.quantum)};
    const std::uint32_t sharers[]{0, 1};
    for (const pass p : both_passes)
      if (exchange_time(cost_, whole_row(longest, p, std::span(&mine, 1), sharers, exchanges_), std::span(&mine, 1), p, stage_) > seconds{})
        return false;
    return true;
  }

  [[nodiscard]] std::size_t replicas() const { return static_cast<std::size_t>(batch_.shape.replicas); }
  /// Seconds of the step: what the busiest stage does for a slice, all of its chunks together.
  [[nodiscard]] double work_of(const slice& s) const {
    return solvers::stage_time(cost_, s, stage_, batch_.shape).value;
  }

  /// A sequence's least sharers are the fewest replicas whose memory holds their parts of it.
  [[nodiscard]] result<sharers_range> sharers_of(const sequence& s) const {
    const tokens quantum = batch_.shape.quantum;
    const std::int64_t quanta = (s.length.value + quantum.value - 1) / quantum.value;
    sharers_range range{1, static_cast<std::uint32_t>(std::min<std::int64_t>({batch_.shape.replicas, quanta, most_sharers_}))};
    if (!batch_.shape.memory) return range;
    const double limit = batch_.shape.memory->amount;
    const auto part = [&] {
      return range.least == 1 ? s.length : quantum * ((quanta + range.least - 1) / range.least);
    };
    const auto held = [&](const memory_rates& r) { return solvers::least_held(r, batch_.shape, part()); };
    const auto fits = [&](const memory_rates& r) { return held(r) <= limit; };
    while (range.least < range.most && !std::all_of(rates_.begin(), rates_.end(), fits)) ++range.least;
    const auto full = std::find_if_not(rates_.begin(), rates_.end(), fits);
    if (full == rates_.end()) return range;
    return solvers::does_not_fit(batch_.shape, static_cast<std::size_t>(full - rates_.begin()), s.length, range.least,
                                 held(*full), full->fixed);
  }

  /// Every unit planned by phase 2.
  result<outcome> planned(division units, const partition_rule& start, solvers::search_budget effort) {
    std::vector<solution> of_unit(units.size());
    std::vector<solvers::search_report> reports(units.size());
    std::vector<seconds> ends(units.size());
    result<void> done = for_each_index(units.size(), threads_, [&](std::size_t u) -> result<void> {
      const bool is_alone = units[u].shared.empty();
      result<solution> one = is_alone ? alone(units[u], start, effort, ends[u], reports[u])
                                       : together(units[u], start, effort, reports[u]);
      if (!one) return std::move(one).error();
      of_unit[u] = std::move(one).value();
      return success();
    });
    for (const solvers::search_report& r : reports) report_.add(r);
    if (!done) return std::move(done).error();
    solution found{std::vector<replica_solution>(replicas())};
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (std::size_t sharer = 0; sharer < units[u].replicas.size(); ++sharer)
        found.replicas[units[u].replicas[sharer]] = std::move(of_unit[u].replicas[sharer]);
      for (merge& m : of_unit[u].merges) found.merges.push_back(std::move(m));
    }
    result<void> timed = for_each_index(units.size(), threads_, [&](std::size_t u) -> result<void> {
      if (units[u].shared.empty()) return success();
      result<simulators::priced_group> run =
          simulators::price_group(units[u].replicas, found, cost_, batch_.shape, rates_, weight_gradients_of<Schedule>);
      if (!run) return std::move(run).error();
      ends[u] = run.value().end();
      return success();
    });
    if (!timed) return std::move(timed).error();
    return outcome{{std::move(units), std::move(ends)}, std::move(found)};
  }

  /// end: when it ends
  result<solution> alone(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort,
                         seconds& end, solvers::search_report& report) const {
    local_search<Slicer, Cost, Schedule, Moves> search(unit.own, batch_, slicer_, cost_, schedule_, rates_, options_);
    result<replica_solution> one = search.best(start, effort);
    report.add(search.report());
    if (!one) return std::move(one).error();
    end = search.makespan();
    solution made;
    made.replicas.push_back(std::move(one).value());
    return made;
  }

  result<solution> together(const planning_unit& unit, const partition_rule& start, solvers::search_budget effort,
                            solvers::search_report& report) const {
    std::vector<double> work;
    for (const sequence& s : unit.own) work.push_back(work_[s.id.value]);
    sharing_group on(static_cast<std::int64_t>(unit.replicas.size()), batch_.shape.quantum, unit.shared);
    for (const std::vector<sequence>& tuple : dealt_in_tuples(unit.own, work, shared_work(on), options_)) on.add(tuple);
    const stand_in_cost<Cost> cost(cost_, on, unit.replicas, unit.exchanges, batch_.common_cuts);
    std::vector<tokens> lengths;
    for (const sequence& s : on.stand_ins()) lengths.push_back(s.length);
    problem as_one{lengths, batch_.shape, batch_.stop};
    // Stand-ins tell what sharers hold but for quanta: where a sharer holds more than the limit, they get so much less.
    error why;
    constexpr int most_tries = 4;
    for (int tries = 0; tries < most_tries; ++tries) {
      local_search<Slicer, stand_in_cost<Cost>, Schedule, Moves> search(on.stand_ins(), as_one, slicer_, cost,
                                                                        schedule_,
                                                                        rates_, options_);
      result<replica_solution> one = search.best(start, effort);
      report.add(search.report());
      if (!one && tries > 0) return why;  // not with the limit lowered here
      if (!one) return std::move(one).error();
      const partition& packs = one.value().partition;
      std::vector<sharer_packs> of = cost.unfolded(packs);
      std::vector<workload> works;
      if (batch_.shape.memory) works = cost.priced_sharers(packs, of, batch_.shape, rates_, weight_gradients_of<Schedule>);
      solution made = unfolded(one.value(), on, std::move(of), unit);
      for (const merge& m : made.merges)
        if (m.exchange == exchange::ring && std::max(m.forward.size(), m.backward.size()) > 1) return too_long_for_a_ring(m);
      if (!batch_.shape.memory) return made;
      const double over = excess(made, works);
      if (over <= 0) return made;
      as_one.shape.memory->amount = std::max(0.0, as_one.shape.memory->amount - over);
      why = {errc::out_of_memory, "replicas that share a sequence hold " + amount(over, batch_.shape.memory->unit) + " more than the limit"};
    }
    return why;
  }

  static error too_long_for_a_ring(const merge& m) {
    return {errc::invalid_input, "sequence " + std::to_string(m.sequence.value) + " runs in " +
                                     std::to_string(std::max(m.forward.size(), m.backward.size())) +
                                     " rows, and a ring is for one: allow exchange::keep or exchange::queries"};
  }

  /// What each sharer does of shared sequences.
  [[nodiscard]] std::vector<double> shared_work(const sharing_group& on) const {
    std::vector<double> load(on.count());
    for (const sequence& s : on.stand_ins().first(on.shared().size()))
      for (std::size_t sharer = 0; sharer < load.size(); ++sharer)
        for (const slice& cut : on.slices({s.id, {0}, s.length}, sharer))
          if (cut.length > tokens{0}) load[sharer] += work_of(cut);
    return load;
  }

  /// By how much the fullest stage of any sharer is over the limit.        Requires  a limit
  [[nodiscard]] double excess(const solution& sharers, std::span<const workload> works) const {
    double most = 0;
    for (std::size_t sharer = 0; sharer < works.size(); ++sharer) {
      const std::vector<program>& programs = sharers.replicas[sharer].programs;
      for (const double peak : simulators::peak_memory(settled(works[sharer], programs), programs))
        most = std::max(most, peak - batch_.shape.memory->amount);
    }
    return most;
  }

  /// The plan of stand-ins as that of their replicas: the same programs on each, without the packs that it has not.
  /// of: the packs of each replica
  static solution unfolded(const replica_solution& planned, const sharing_group& on, std::vector<sharer_packs> of,
                           const planning_unit& unit) {
    solution made{{}, merges_of(planned.partition, on, of, unit.replicas, unit.exchanges)};
    for (std::size_t sharer = 0; sharer < of.size(); ++sharer) {
      replica_solution& own = made.replicas.emplace_back();
      own.sequences = on.sequences(sharer);
      own.partition = std::move(of[sharer].packs);
      for (const program& stage : planned.programs) {
        program& code = own.programs.emplace_back();
        for (instruction i : stage) {
          i.pack.value = of[sharer].number[i.pass][i.pack.value];
          if (i.pack.value != sharer_packs::none) code.push_back(i);
        }
      }
    }
    return made;
  }

  /// The faster of a division's plans from packs of the start sizes and from half as large ones: groups may be far from
  /// their best with either, and others must not be chosen for that.
  result<outcome> tried_once(const division& units) {
    partition_rule half = start_;
    half.sizes.forward.steady *= options_.half_steady;
    half.sizes.backward.steady *= options_.half_steady;
    result<outcome> whole = planned(units, start_, {0, 1});
    result<outcome> small = planned(units, half, {0, 1});
    return small && (!whole || small.value().end() < whole.value().end()) ? std::move(small) : std::move(whole);
  }

  /// Balances anew, by what units took beside their work: who came out slow hands some to who came out fast.
  void rebalance(division& units, std::span<const seconds> ends) const {
    std::vector<double> beside(replicas());
    for (std::size_t u = 0; u < units.size(); ++u) {
      double work = 0;
      for (const std::vector<sequence>* list : {&units[u].shared, &units[u].own})
        for (const sequence& s : *list) work += work_[s.id.value] / static_cast<double>(units[u].replicas.size());
      for (const std::uint32_t r : units[u].replicas) beside[r] = std::max(0.0, ends[u].value - work);
    }
    share_out(units, all_, work_, std::move(beside));
  }

  const problem& batch_;
  const Slicer& slicer_;
  const Cost& cost_;
  const Schedule& schedule_;
  const std::vector<memory_rates>& rates_;
  partition_rule start_;
  std::uint32_t most_sharers_;
  exchange_set exchanges_;
  std::size_t threads_;
  const solvers::search_options& options_;
  std::vector<sequence> all_;
  int stage_{};               // the busiest
  std::vector<double> work_;  // of each sequence on it
  bool shares_freely_{};
  std::optional<outcome> fastest_;
  std::vector<contender> tried_;  // since the last choice among them
  solvers::search_report report_;
};

}  // namespace slimpack::detail

#endif
