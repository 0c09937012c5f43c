#ifndef SLIMPACK_SOLVERS_DETAIL_DIVISION_SEARCH_HPP
#define SLIMPACK_SOLVERS_DETAIL_DIVISION_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/problem.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/simulator/group_run.hpp>
#include <slimpack/solvers/assign.hpp>
#include <slimpack/solvers/detail/division.hpp>
#include <slimpack/solvers/detail/lane_cost.hpp>
#include <slimpack/solvers/detail/lanes.hpp>
#include <slimpack/solvers/detail/local_search.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/detail/unfold.hpp>
#include <slimpack/solvers/search_budget.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 1: which sequences which replicas run, alone or shared. A few divisions are planned with the least effort and
/// simulated; the fastest is planned again with all of it.
/// Source    DP-Merge of SlimPack (arXiv:2509.26246), whose rule is not public; the choices and their trial are derived
template <class Slicer, class Cost, class Schedule>
class division_search {
 public:
  using sizes = typename local_search<Slicer, Cost, Schedule>::sizes;

  division_search(const problem& batch, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
                  const std::vector<memory_rates>& rates, const sizes& start, std::uint32_t most_sharers, std::size_t threads)
      : batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule), rates_(rates), start_(start),
        most_sharers_(most_sharers), threads_(threads), all_(solvers::sequences_of(batch.lengths)) {
    part_ = solvers::busiest_part(cost, all_, batch.shape.parts());
    for (const sequence& s : all_) work_.push_back(work_of(s));
  }

  result<solution> best(solvers::search_budget effort) {
    std::vector<sharers_range> sharers;
    for (const sequence& s : all_) {
      const result<sharers_range> of = sharers_of(s);
      if (!of) return of.error();
      sharers.push_back(of.value());
    }
    std::vector<division> choices;
    for (const double share : shares) {
      division next = divided(all_, work_, sharers, replicas(), share);
      const auto known = [&](const division& d) { return groups_of(d) == groups_of(next); };
      if (std::none_of(choices.begin(), choices.end(), known)) choices.push_back(std::move(next));
    }
    if (choices.size() == 1) return planned(choices.front(), effort);
    const division* fastest = nullptr;
    seconds least_time{};
    std::optional<error> why;
    for (const division& choice : choices) {
      if (fastest && batch_.stop.stop_requested()) break;
      const result<solution> trial = planned(choice, {0, 1});
      const result<seconds> time = trial ? slowest(choice, trial.value()) : trial.error();
      if (!time) {
        if (!why) why = time.error();
      } else if (!fastest || time.value() < least_time) {
        fastest = &choice;
        least_time = time.value();
      }
    }
    if (!fastest) return *std::move(why);
    return planned(*fastest, effort);
  }

 private:
  /// A replica's most part of the mean work that one sequence may be: never shared, shared where it is all of it, ...
  static constexpr std::array<double, 5> shares{1e9, 1.0, 0.67, 0.5, 0.35};

  [[nodiscard]] std::size_t replicas() const { return static_cast<std::size_t>(batch_.shape.replicas); }
  [[nodiscard]] double work_of(const sequence& s) const {
    const slice whole{s.id, {0}, s.length};
    return (cost_.time(whole, pass::forward, part_) + cost_.time(whole, pass::backward, part_)).value;
  }

  /// Which replicas share which sequences.
  [[nodiscard]] static std::vector<planning_unit> groups_of(division units) {
    std::erase_if(units, [](const planning_unit& u) { return u.shared.empty(); });
    for (planning_unit& u : units) u.own.clear();
    return units;
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
  result<solution> planned(const division& units, solvers::search_budget effort) const {
    solution found{std::vector<replica_solution>(replicas())};
    std::vector<solution> of_unit(units.size());
    result<void> done = for_each_index(units.size(), threads_, [&](std::size_t u) -> result<void> {
      result<solution> one = units[u].shared.empty() ? alone(units[u], effort) : together(units[u], effort);
      if (!one) return std::move(one).error();
      of_unit[u] = std::move(one).value();
      return success();
    });
    if (!done) return std::move(done).error();
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (std::size_t lane = 0; lane < units[u].replicas.size(); ++lane)
        found.replicas[units[u].replicas[lane]] = std::move(of_unit[u].replicas[lane]);
      for (merge& m : of_unit[u].merges) found.merges.push_back(std::move(m));
    }
    return found;
  }

  result<solution> alone(const planning_unit& unit, solvers::search_budget effort) const {
    local_search search(unit.own, batch_, slicer_, cost_, schedule_, rates_);
    result<replica_solution> one = search.best(start_, effort);
    if (!one) return std::move(one).error();
    solution made;
    made.replicas.push_back(std::move(one).value());
    return made;
  }

  result<solution> together(const planning_unit& unit, solvers::search_budget effort) const {
    std::vector<double> work;
    for (const sequence& s : unit.own) work.push_back(work_[s.id.value]);
    const lanes on(static_cast<std::int64_t>(unit.replicas.size()), batch_.shape.quantum, unit.shared,
                   dealt_in_tuples(unit.own, work, unit.replicas.size()));
    const lane_cost cost(cost_, on, unit.replicas);
    std::vector<tokens> lengths;
    for (const sequence& s : on.stand_ins()) lengths.push_back(s.length);
    problem as_one{lengths, batch_.shape, batch_.stop};
    if (as_one.shape.memory) {  // a lane may hold a quantum more of each shared sequence than its stand-in says
      double most = 0;
      for (const memory_rates& r : rates_)
        most = std::max(most, r.live_token + r.gradient_token + std::max(r.forward_token, r.backward_token));
      as_one.shape.memory->amount -= most * static_cast<double>(batch_.shape.quantum.value) * static_cast<double>(unit.shared.size());
    }
    local_search search(on.stand_ins(), as_one, slicer_, cost, schedule_, rates_);
    result<replica_solution> one = search.best({start_.forward, start_.backward}, effort);
    if (!one) return std::move(one).error();
    return unfolded(one.value(), on, unit.replicas);
  }

  /// The slowest replica of a solution.
  result<seconds> slowest(const division& units, const solution& solved) const {
    std::vector<seconds> ends(units.size());
    result<void> done = for_each_index(units.size(), threads_, [&](std::size_t u) -> result<void> {
      result<simulator::group_run> run = simulator::run_group(units[u].replicas, solved, cost_, batch_.shape, rates_,
                                                             weight_gradients_of<Schedule>);
      if (!run) return std::move(run).error();
      ends[u] = run.value().end();
      return success();
    });
    if (!done) return std::move(done).error();
    return *std::max_element(ends.begin(), ends.end());
  }

  const problem& batch_;
  const Slicer& slicer_;
  const Cost& cost_;
  const Schedule& schedule_;
  const std::vector<memory_rates>& rates_;
  sizes start_;
  std::uint32_t most_sharers_;
  std::size_t threads_;
  std::vector<sequence> all_;
  int part_{};                // the busiest
  std::vector<double> work_;  // of each sequence on it
};

}  // namespace slimpack::detail

#endif
