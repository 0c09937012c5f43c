#ifndef SLIMPACK_SOLVERS_DIVIDE_SEARCHED_HPP
#define SLIMPACK_SOLVERS_DIVIDE_SEARCHED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/place_groups.hpp>
#include <slimpack/solvers/divide/sharing_group.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/partition_rule.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Tries divisions by planning them (divide::searched says how).
template <class UnitPlanner>
class division_search {
 public:
  /// Requires  both outlive it
  division_search(const divide::division_problem& asked, UnitPlanner& plan, const partition_rule& start)
      : asked_(asked), plan_(plan), start_(start) {}

  result<solution> best(solvers::search_budget effort) {
    const solvers::search_options& o = asked_.options;
    std::vector<division> all = choices(asked_.sharers);
    result<void> some = success();
    if (all.size() == 1) {
      result<planned_division> only = plan_.planned(std::move(all.front()), start_, effort);
      if (only) return beside_baselines(std::move(only).value(), effort);
      some = std::move(only).error();
    } else {
      some = try_each(std::move(all), effort);
    }
    if (!some && !try_fewer_sharers(some.error(), effort)) return of_baselines(std::move(some).error(), effort);
    // First candidates do not tell well who ends first, so the best are balanced by what their replicas took.
    const auto balanced = [&](contender& c) { rebalance(c.units, c.ends); };
    const auto levelled = [&](contender& c) { level(c.units, asked_.batch, asked_.work, c.ends); };
    plan_again("balanced", o.finalists, 1, part_of(effort, o.tuning.balance_quarters), balanced);
    plan_again("balanced", 1, 0, part_of(effort, o.tuning.balance_again_quarters), balanced);
    tried_.assign(1, {fastest_->units, fastest_->ends});
    plan_again("levelled", 1, 0, part_of(effort, o.tuning.level_quarters), levelled);
    return beside_baselines(*std::move(fastest_), effort);
  }

 private:
  /// A division, and when each of its units ended as it was planned last.
  struct contender {
    division units;
    std::vector<seconds> ends;
    [[nodiscard]] seconds end() const { return *std::max_element(ends.begin(), ends.end()); }
  };

  /// Whether baselines take part. Not where less than the normal effort is asked for, of which they would take too
  /// large a part; nor where both passes are cut alike afterwards, which changes what their packs take.
  [[nodiscard]] bool asks_baselines(solvers::search_budget effort) const {
    return effort.candidates >= solvers::search_budget::normal().candidates && !plan_.cuts_alike() && !plan_.stopped();
  }

  solution beside_baselines(planned_division found, solvers::search_budget effort) {
    if (asks_baselines(effort)) found = *plan_.beside_baselines(std::move(found), start_, effort);
    return std::move(found.solved);
  }

  /// Where memory has no room for any division's plan: a baseline's, which needs less where it cuts no sequence, or
  /// else why.
  result<solution> of_baselines(error why, solvers::search_budget effort) {
    if (why.code != errc::out_of_memory || !asks_baselines(effort)) return why;
    std::optional<planned_division> found = plan_.beside_baselines(std::nullopt, start_, effort);
    if (!found) return why;
    return std::move(found->solved);
  }

  /// A number of quarters of the effort.
  struct quarters {
    solvers::search_budget whole;
    std::uint64_t count;
  };
  static quarters part_of(solvers::search_budget whole, std::uint32_t count) { return {whole, count}; }

  /// Where no division has room for what its sharers keep: tries those with as few sharers as hold their parts alone.
  bool try_fewer_sharers(const error& why, solvers::search_budget effort) {
    std::vector<sharers_range> fewer = asked_.sharers;
    bool any = false;
    for (sharers_range& s : fewer) any |= s.of_parts < s.least, s.least = s.of_parts;
    return any && why.code == errc::out_of_memory && try_each(choices(fewer), effort);
  }

  /// Divisions that are worth a trial, each once: nothing shared but what memory forces, then ever more of the heavy
  /// sequences; where there are several, also each of these with more shared in its groups.
  [[nodiscard]] std::vector<division> choices(std::span<const sharers_range> sharers) const {
    const solvers::search_options& o = asked_.options;
    std::vector<division> found;
    for (const double share : o.tuning.parts()) {
      division next = grouped(asked_.batch, asked_.work, sharers, asked_.replicas(), share, o.light);
      place_groups(next, plan_.cost(), asked_.shape.quantum, asked_.stage, asked_.exchanges);
      if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(std::move(next));
    }
    const std::vector<double> idle(asked_.replicas(), 0.0);
    for (division& choice : found) share_out(choice, asked_.batch, asked_.work, idle);
    for (std::size_t i = 0, given = found.size(); given > 1 && i < given; ++i) {
      division all_shared = found[i];
      if (!share_more(all_shared, asked_.work, sharers, o.light)) continue;
      share_out(all_shared, asked_.batch, asked_.work, idle);
      found.push_back(std::move(all_shared));
    }
    // What is kept of the others may be what a plan has no room for.
    const exchange_set without = asked_.exchanges.without_keeping();
    for (std::size_t i = 0, given = found.size(); asked_.keeping_takes_room() && !without.empty() && i < given; ++i) {
      division lean = found[i];
      for (planning_unit& u : lean)
        if (!u.shared.empty()) u.exchanges = without;
      if (lean != found[i]) found.push_back(std::move(lean));
    }
    return found;
  }

  /// Puts divisions first whose busiest replica has the least to do, so that a search that is stopped early has planned
  /// one of them, and the others are soon left. Those that differ by less than `enough` of the mean stay as they are.
  void put_promising_first(std::vector<division>& all, double enough) const {
    const double mean = asked_.mean();
    const auto over = [&](const division& units) {
      double most = mean;
      for (const planning_unit& u : units) most = std::max(most, work_of_each(u));
      if (most <= mean) return 0.0;
      return enough > 0 ? std::floor((most - mean) / (enough * mean)) : most - mean;
    };
    std::stable_sort(all.begin(), all.end(), [&](const division& a, const division& b) { return over(a) < over(b); });
  }

  /// What each replica of a unit has to do, in the mean.
  [[nodiscard]] double work_of_each(const planning_unit& u) const {
    double work = 0;
    for (const std::vector<sequence>* list : {&u.shared, &u.own})
      for (const sequence& s : *list) work += asked_.work[s.id.value] / static_cast<double>(u.replicas.size());
    return work;
  }

  /// Plans each with the least effort, until one comes near the mean work of a replica, which no division beats. The
  /// fast effort is content with 1 % more, normal with 0.1 %.
  /// Errors    why the first had no plan, where none has
  result<void> try_each(std::vector<division> all, solvers::search_budget effort) {
    const auto candidates = static_cast<double>(std::max<std::uint64_t>(1, effort.candidates));
    const double enough = asked_.options.near_mean / candidates;
    const seconds near{asked_.mean() * (1 + enough)};
    put_promising_first(all, enough);
    std::optional<error> why;
    for (const division& choice : all) {
      if (fastest_ && (plan_.stopped() || fastest_->end() <= near)) break;
      result<planned_division> trial = tried_once(choice, {0, 1, effort.largest});
      if (!trial && !why) why = trial.error();
      keep("divided", std::move(trial));
    }
    if (!fastest_) return *std::move(why);
    return success();
  }

  /// Changes the fastest of those tried last, up to `most`, and plans them with a part of the effort together. Of
  /// these, up to `wanted` are for another time.
  template <class Change>
  void plan_again(std::string_view called, std::size_t most, std::size_t wanted, quarters effort,
                  const Change& change) {
    std::vector<contender> next = std::exchange(tried_, {});
    std::stable_sort(next.begin(), next.end(),
                     [](const contender& x, const contender& y) { return x.end() < y.end(); });
    next.resize(std::min(next.size(), most));
    const std::uint64_t parts = 4 * next.size();
    for (contender& c : next) {
      if (plan_.stopped()) break;
      change(c);
      keep(called, plan_.planned(std::move(c.units), start_,
                                 {effort.whole.tasks / parts * effort.count,
                                  effort.whole.candidates / parts * effort.count, effort.whole.largest},
                                 latest(wanted)));
    }
  }

  /// Notes what was tried, and its plan if it is the fastest.
  void keep(std::string_view called, result<planned_division>&& made) {
    if (!made && made.error().code != errc::not_faster) return;
    solvers::move_report& line = plan_.report().of(called);
    ++line.tried;
    if (!made) return;
    tried_.push_back({made.value().units, made.value().ends});
    const bool taken = !fastest_ || is_better(made.value(), *fastest_);
    if (!taken) return;
    ++line.taken;
    if (fastest_) line.gained += fastest_->end() - made.value().end();
    fastest_ = std::move(made).value();
  }

  /// When a division must end at the latest, to be among the `wanted` fastest of those tried since the last choice, or
  /// the fastest of all.
  [[nodiscard]] seconds latest(std::size_t wanted) const {
    if (!fastest_ || tried_.size() < wanted) return seconds{std::numeric_limits<double>::infinity()};
    seconds last = fastest_->end();
    if (wanted > 0) {
      std::vector<seconds> ends;
      for (const contender& c : tried_) ends.push_back(c.end());
      const auto slowest = ends.begin() + static_cast<std::ptrdiff_t>(wanted) - 1;
      std::nth_element(ends.begin(), slowest, ends.end());
      last = std::max(last, *slowest);
    }
    return last * (1 / (1 - margin()));
  }

  /// Share of its step that a division which shares more must gain.
  [[nodiscard]] double margin() const { return asked_.exchange_is_free ? double{asked_.options.sharing_gain} : 0; }

  /// Whether one division's plan is worth more than another's: it ends sooner, and by a margin if it shares more
  /// without a price.
  [[nodiscard]] bool is_better(const planned_division& one, const planned_division& other) const {
    const auto shared = [](const division& units) {
      tokens sum{};
      for (const planning_unit& u : units)
        for (const sequence& s : u.shared) sum += s.length;
      return sum;
    };
    const tokens more = shared(one.units) - shared(other.units);
    if (more > tokens{}) return one.end() < other.end() * (1 - margin());
    if (more < tokens{}) return one.end() * (1 - margin()) < other.end();
    return one.end() < other.end();
  }

  /// The faster of a division's plans from packs of the start sizes and from half as large ones: groups may be far from
  /// their best with either, and others must not be chosen for that.
  result<planned_division> tried_once(const division& units, solvers::search_budget least) {
    seconds last = latest(asked_.options.finalists);
    result<planned_division> whole = plan_.planned(units, start_, least, last);
    if (!whole && whole.error().code == errc::over_budget) return whole;  // smaller packs are more
    if (whole) last = std::min(last, whole.value().end());
    result<planned_division> little = plan_.planned(units, plan_.small(start_), least, last);
    return little && (!whole || little.value().end() < whole.value().end()) ? std::move(little) : std::move(whole);
  }

  /// Balances anew, by what units took beside their work: who came out slow hands some to who came out fast.
  void rebalance(division& units, std::span<const seconds> ends) const {
    std::vector<double> beside(asked_.replicas());
    for (std::size_t u = 0; u < units.size(); ++u)
      for (const std::uint32_t r : units[u].replicas) beside[r] = std::max(0.0, ends[u].value - work_of_each(units[u]));
    share_out(units, asked_.batch, asked_.work, std::move(beside));
  }

  const divide::division_problem& asked_;
  UnitPlanner& plan_;
  partition_rule start_;
  std::optional<planned_division> fastest_;
  std::vector<contender> tried_;  // since the last choice among them
};

}  // namespace slimpack::detail

namespace slimpack::divide {

/// Divides by trial, the default of two_phase. Where there is but one division, it is planned with all of the effort.
/// Of several, each is planned with the least effort and simulated, as it is and with more shared in its groups, those
/// first whose busiest replica has the least to do, until one comes near the mean work of a replica; the fastest three
/// are balanced anew by what their replicas took and planned with a quarter of the effort together, the fastest of
/// these so again with as much; of the fastest then who ends last hands a few sequences to who ends first, and that is
/// planned with three quarters. The fastest of all these plans, and from normal effort on of what the shipped baselines
/// would do (two_phase/detail/baseline_contest.hpp), is the answer.
/// It plans all replicas: where each rank is to plan its own, divide::estimated is for that.
/// Source    DP-Merge of SlimPack (arXiv:2509.26246), whose rule is not public; the choices and their trial are derived
/// Errors    why the first division had no plan, where none has, and for want of memory no baseline either
/// Complexity up to 22 plans of every replica, most of them of the least effort; a division is left at the first
/// replica
///           that ends too late for it to be chosen
struct searched {
  /// The plan of the division that it finds. UnitPlanner: detail::unit_planner
  template <class UnitPlanner>
  [[nodiscard]] result<solution> solve(const division_problem& asked, UnitPlanner& plan,
                                       const slimpack::detail::partition_rule& start,
                                       solvers::search_budget effort) const {
    return slimpack::detail::division_search<UnitPlanner>(asked, plan, start).best(effort);
  }

  friend constexpr bool operator==(const searched&, const searched&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const searched&) {
    return out << "divide::searched{}";
  }
};

}  // namespace slimpack::divide

#endif
