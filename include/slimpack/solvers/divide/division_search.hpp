#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVISION_SEARCH_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVISION_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/detail/amount.hpp>
#include <slimpack/simulators/memory.hpp>
#include <slimpack/solvers/detail/parallel.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/priced_group.hpp>
#include <slimpack/solvers/divide/lane_cost.hpp>
#include <slimpack/solvers/divide/lanes.hpp>
#include <slimpack/solvers/divide/place_groups.hpp>
#include <slimpack/solvers/divide/unfold.hpp>
#include <slimpack/solvers/improve/local_search.hpp>
#include <slimpack/solvers/pack/needs.hpp>
#include <slimpack/solvers/pack/packing.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_budget.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
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
template <class Slicer, class Cost, class Schedule>
class division_search {
 public:
  division_search(const problem& batch, const Slicer& slicer, const Cost& cost, const Schedule& schedule,
                  const std::vector<memory_rates>& rates, const packing& start, std::uint32_t most_sharers, std::size_t threads)
      : batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule), rates_(rates), start_(start),
        most_sharers_(most_sharers), threads_(threads), all_(solvers::sequences_of(batch.lengths)) {
    part_ = solvers::busiest_part(cost, all_, batch.shape.parts());
    for (const sequence& s : all_) work_.push_back(work_of(slice{s.id, {0}, s.length}));
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
      division next = grouped(all_, work_, sharers, replicas(), share);
      place_groups(next, cost_, batch_.shape.quantum, part_);
      if (std::find(choices.begin(), choices.end(), next) == choices.end()) choices.push_back(std::move(next));
    }
    const std::vector<double> idle(replicas(), 0.0);
    for (division& choice : choices) share_out(choice, all_, work_, idle);
    if (choices.size() == 1) {
      result<outcome> only = planned(std::move(choices.front()), start_, effort);
      if (!only) return std::move(only).error();
      return std::move(only.value().solved);
    }
    for (std::size_t i = 0, given = choices.size(); i < given; ++i) {
      division all_shared = choices[i];
      if (!share_more(all_shared, work_, sharers)) continue;
      share_out(all_shared, all_, work_, idle);
      choices.push_back(std::move(all_shared));
    }

    std::optional<outcome> fastest;
    std::optional<error> why;
    std::vector<contender> tried_so_far;
    const auto keep = [&](outcome&& made) {
      tried_so_far.push_back(made);  // without its plan
      if (!fastest || made.end() < fastest->end()) fastest = std::move(made);
    };
    // No division beats the mean work of a replica. The fast effort is content with 1 % more, normal with 0.1 %.
    const double mean = std::accumulate(work_.begin(), work_.end(), 0.0) / static_cast<double>(replicas());
    const seconds near{mean * (1 + 0.4 / static_cast<double>(std::max<std::uint64_t>(1, effort.candidates)))};
    for (division& choice : choices) {
      if (fastest && (batch_.stop.stop_requested() || fastest->end() <= near)) break;
      result<outcome> trial = tried_once(choice);
      if (trial)
        keep(std::move(trial).value());
      else
        why = why ? std::move(why) : trial.error();
    }
    if (!fastest) return *std::move(why);
    // First candidates do not tell well who ends first, so the best are balanced by what their replicas took.
    const auto plan_again = [&](std::size_t most, std::uint64_t quarters, const auto& change) {
      std::vector<contender> next = std::exchange(tried_so_far, {});
      std::stable_sort(next.begin(), next.end(), [](const contender& x, const contender& y) { return x.end() < y.end(); });
      next.resize(std::min(next.size(), most));
      const std::uint64_t parts = 4 * next.size();
      for (contender& c : next) {
        if (batch_.stop.stop_requested()) break;
        change(c);
        result<outcome> made = planned(std::move(c.units), start_,
                                       {effort.nodes / parts * quarters, effort.candidates / parts * quarters});
        if (made) keep(std::move(made).value());
      }
    };
    const auto balanced = [&](contender& c) { rebalance(c.units, c.ends); };
    const auto levelled = [&](contender& c) { level(c.units, all_, work_, c.ends); };
    plan_again(3, 1, balanced);
    plan_again(1, 1, balanced);
    tried_so_far.assign(1, *fastest);
    plan_again(1, 3, levelled);
    return std::move(fastest->solved);
  }

 private:
  /// A replica's most part of the mean work that one sequence may be: never shared, shared where it is all of it, ...
  static constexpr std::array<double, 5> shares{1e9, 1.0, 0.67, 0.5, 0.35};

  [[nodiscard]] std::size_t replicas() const { return static_cast<std::size_t>(batch_.shape.replicas); }
  [[nodiscard]] double work_of(const slice& s) const {
    return (cost_.time(s, pass::forward, part_) + cost_.time(s, pass::backward, part_)).value;
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

  /// Every unit planned by phase 2.
  result<outcome> planned(division units, const packing& start, solvers::search_budget effort) const {
    std::vector<solution> of_unit(units.size());
    std::vector<seconds> ends(units.size());
    result<void> done = for_each_index(units.size(), threads_, [&](std::size_t u) -> result<void> {
      const bool is_alone = units[u].shared.empty();
      result<solution> one = is_alone ? alone(units[u], start, effort, ends[u]) : together(units[u], start, effort);
      if (!one) return std::move(one).error();
      of_unit[u] = std::move(one).value();
      return success();
    });
    if (!done) return std::move(done).error();
    solution found{std::vector<replica_solution>(replicas())};
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (std::size_t lane = 0; lane < units[u].replicas.size(); ++lane)
        found.replicas[units[u].replicas[lane]] = std::move(of_unit[u].replicas[lane]);
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
  result<solution> alone(const planning_unit& unit, const packing& start, solvers::search_budget effort,
                         seconds& end) const {
    local_search search(unit.own, batch_, slicer_, cost_, schedule_, rates_);
    result<replica_solution> one = search.best(start, effort);
    if (!one) return std::move(one).error();
    end = search.makespan();
    solution made;
    made.replicas.push_back(std::move(one).value());
    return made;
  }

  result<solution> together(const planning_unit& unit, const packing& start, solvers::search_budget effort) const {
    std::vector<double> work;
    for (const sequence& s : unit.own) work.push_back(work_[s.id.value]);
    lanes on(static_cast<std::int64_t>(unit.replicas.size()), batch_.shape.quantum, unit.shared);
    for (const std::vector<sequence>& tuple : dealt_in_tuples(unit.own, work, shared_work(on))) on.add(tuple);
    const lane_cost cost(cost_, on, unit.replicas);
    std::vector<tokens> lengths;
    for (const sequence& s : on.stand_ins()) lengths.push_back(s.length);
    problem as_one{lengths, batch_.shape, batch_.stop};
    // Stand-ins tell what lanes hold but for quanta: where a lane holds more than the limit, they get so much less.
    error why;
    for (int tries = 0; tries < 4; ++tries) {
      local_search search(on.stand_ins(), as_one, slicer_, cost, schedule_, rates_);
      result<replica_solution> one = search.best(start, effort);
      if (!one && tries > 0) return why;  // not with the limit lowered here
      if (!one) return std::move(one).error();
      const partition& packs = one.value().partition;
      std::vector<lane_packs> of = cost.unfolded(packs);
      if (!batch_.shape.memory) return unfolded(one.value(), on, std::move(of), unit.replicas);
      const std::vector<workload> works =
          cost.priced_lanes(packs, of, batch_.shape, rates_, weight_gradients_of<Schedule>);
      solution made = unfolded(one.value(), on, std::move(of), unit.replicas);
      const double over = excess(made, works);
      if (over <= 0) return made;
      as_one.shape.memory->amount = std::max(0.0, as_one.shape.memory->amount - over);
      why = {errc::out_of_memory, "replicas that share a sequence hold " + amount(over, batch_.shape.memory->unit) + " more than the limit"};
    }
    return why;
  }

  /// What each lane does of shared sequences.
  [[nodiscard]] std::vector<double> shared_work(const lanes& on) const {
    std::vector<double> load(on.count());
    for (const sequence& s : on.stand_ins().first(on.shared().size()))
      for (std::size_t lane = 0; lane < load.size(); ++lane)
        for (const slice& piece : on.pieces({s.id, {0}, s.length}, lane))
          if (piece.length > tokens{0}) load[lane] += work_of(piece);
    return load;
  }

  /// By how much the fullest stage of any lane is over the limit.        Requires  a limit
  [[nodiscard]] double excess(const solution& lanes, std::span<const workload> works) const {
    double most = 0;
    for (std::size_t lane = 0; lane < works.size(); ++lane) {
      const std::vector<program>& programs = lanes.replicas[lane].programs;
      for (const double peak : simulators::peak_memory(settled(works[lane], programs), programs))
        most = std::max(most, peak - batch_.shape.memory->amount);
    }
    return most;
  }

  /// The plan of stand-ins as that of their replicas: the same programs on each, without the packs that it has not.
  /// of: the packs of each replica
  static solution unfolded(const replica_solution& planned, const lanes& on, std::vector<lane_packs> of,
                           std::span<const std::uint32_t> replicas) {
    solution made{{}, merges_of(planned.partition, on, of, replicas)};
    for (std::size_t lane = 0; lane < of.size(); ++lane) {
      replica_solution& own = made.replicas.emplace_back();
      own.sequences = on.sequences(lane);
      own.partition = std::move(of[lane].packs);
      for (const program& stage : planned.programs) {
        program& code = own.programs.emplace_back();
        for (instruction i : stage) {
          i.pack.value = of[lane].of(i.pass)[i.pack.value];
          if (i.pack.value != lane_packs::none) code.push_back(i);
        }
      }
    }
    return made;
  }

  /// The faster of a division's plans from packs of the start sizes and from half as large ones: groups may be far from
  /// their best with either, and others must not be chosen for that.
  result<outcome> tried_once(const division& units) const {
    packing half = start_;
    half.forward.steady /= 2;
    half.backward.steady /= 2;
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
  packing start_;
  std::uint32_t most_sharers_;
  std::size_t threads_;
  std::vector<sequence> all_;
  int part_{};                // the busiest
  std::vector<double> work_;  // of each sequence on it
};

}  // namespace slimpack::detail

#endif
