#ifndef SLIMPACK_SOLVERS_DIVIDE_ESTIMATED_HPP
#define SLIMPACK_SOLVERS_DIVIDE_ESTIMATED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/place_groups.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What makes the busiest stage of one unit's replicas lose more time than another's, in seconds. divide::estimated
/// weighs them. What all units lose alike, such as the ramps at both ends, moves no choice and is left out. Ramps: the
/// overhead of a forward and a backward pack on the way.
struct loss_terms {
  double peak{};      ///< ramps, by how much of the work is one sequence, at whose turn nothing else fills the stages
  double tail{};      ///< the last quantum of that sequence on the way, likewise: the longest that is not cut
  double alike{};     ///< ramps, by how much of the work is shared: rows wait for all sharers, with little else to run
  double uneven{};    ///< by how much the longest of neighbouring own sequences exceed their mean: sharers wait for it
  double exchange{};  ///< of as many rows as a shared sequence has packs
  double rows{};      ///< a quantum here for each shared sequence: rows that sharers do not have alike
};

/// Closed forms of loss_terms.
/// Source    derived; what terms matter was found on 3,000 units of random batches, planned at normal effort
template <class Cost>
class unit_estimate {
 public:
  /// Requires  both outlive it            Complexity  O(parts)
  unit_estimate(const divide::division_problem& asked, const Cost& cost)
      : asked_(asked), cost_(cost), ways_(asked.shape.parts() - 1), here_(here({{}, {0}, asked.shape.quantum})) {
    for (int part = 0; part < ways_; ++part)
      for (const pass p : both_passes) ramps_ += pack_overhead(cost, p, part).value;
  }

  /// own: by falling work            Complexity  O(sequences)
  [[nodiscard]] loss_terms operator()(std::span<const std::uint32_t> replicas, std::span<const sequence> shared,
                                      std::span<const sequence> own) const {
    const double part = 1 / static_cast<double>(replicas.size());
    double work = 0;
    for (const std::span<const sequence> list : {shared, own})
      for (const sequence& s : list) work += work_of(s) * part;
    if (!(work > 0)) return {};
    loss_terms t;
    double most = 0;
    sequence heaviest;
    double together = 0;
    for (const sequence& s : shared) {
      together += work_of(s) * part / work;
      if (work_of(s) * part > most) most = work_of(s) * part, heaviest = s;
    }
    if (!own.empty() && work_of(own.front()) > most) most = work_of(own.front()), heaviest = own.front();
    const double peak = eighth(most / work);
    const tokens size = std::min(asked_.shape.quantum, heaviest.length);
    t.peak = peak * ramps_;
    t.tail = peak * (most / work) * (most / work) * ways_ * here({heaviest.id, heaviest.length - size, size});
    if (replicas.size() == 1) return t;
    t.alike = eighth(together) * ramps_;
    // Neighbours by work stand in one tuple, none where a sharer has no more.
    for (std::size_t at = 0; at < own.size(); at += replicas.size()) {
      double sum = 0;
      for (const sequence& s : own.subspan(at, std::min(own.size() - at, replicas.size()))) sum += work_of(s);
      t.uneven += work_of(own[at]) - sum * part;
    }
    for (const sequence& s : shared) {
      t.exchange += exchanged(s, replicas, work_of(s) * part / work);
      t.rows += here_;
    }
    return t;
  }

 private:
  [[nodiscard]] double work_of(const sequence& s) const { return asked_.work[s.id.value]; }
  [[nodiscard]] double here(const slice& s) const {
    return solvers::stage_time(cost_, s, asked_.stage, asked_.shape).value;
  }

  /// x^8: next to nothing where no single thing prevails.
  static double eighth(double x) {
    const double fourth = x * x * x * x;
    return fourth * fourth;
  }

  /// What a shared sequence's exchange takes here, if rows are as many as the packs of so much work, and the mean is
  /// that of the middle one.
  [[nodiscard]] double exchanged(const sequence& s, std::span<const std::uint32_t> replicas, double share) const {
    const double rows = std::max(1.0, asked_.options.tuning.loss_packs * asked_.shape.parts() * share);
    const auto sharers = static_cast<std::int64_t>(replicas.size());
    const tokens quantum = asked_.shape.quantum;
    const std::int64_t quanta = (s.length.value + quantum.value - 1) / quantum.value;
    const std::int64_t size =
        std::min(quanta, std::max(sharers, static_cast<std::int64_t>(static_cast<double>(quanta) / rows)));
    const tokens begin = quantum * ((quanta - size) / 2);
    const slice row{s.id, begin, std::min(quantum * size, s.length - begin)};
    const sharer_slices mine = slices_of_sharer(row, 0, sharers, quantum);
    double both = 0;
    for (const pass p : both_passes)
      both += exchange_time(cost_, likely_row(row, p, mine, replicas, asked_.exchanges.best(2)), mine, p, asked_.stage)
                  .value;
    return rows * both;
  }

  const divide::division_problem& asked_;
  const Cost& cost_;
  int ways_;
  double here_;
  double ramps_{};
};

}  // namespace slimpack::detail

namespace slimpack::divide {

/// Divides by estimates of the step, in closed form, and plans nothing. Divisions are those that divide::searched
/// tries: nothing shared but what memory forces, then ever more of the heavy sequences. In each, every group shares as
/// many of its own sequences as its estimate likes best. The division with the least step is balanced anew by what its
/// units are estimated to lose.
/// Formula   end of a unit = work + loss; loss = the sum of the weights of search_tuning (loss_peak and the like)
///           times loss_terms (detail/unit_estimate.hpp); step = the largest of the mean end of all replicas and, of
///           each unit, the end that balance cannot lower: its shared work, its heaviest own sequence and its loss
/// Source    derived; weights by least squares over units of random batches (benchmarks/plan_quality/constants.md)
/// Law       equal problems get equal divisions
/// Errors    none            Complexity  O(choices (n log n + heavy replicas)), n sequences
struct estimated {
  template <class Cost>
  [[nodiscard]] result<division> divide(const division_problem& asked, const Cost& cost) const {
    const double mean = asked.mean();
    const slimpack::detail::unit_estimate<Cost> terms(asked, cost);
    contender best;
    const solvers::search_options& o = asked.options;
    std::vector<division> tried;
    for (const double share : o.tuning.parts()) {
      division next =
          slimpack::detail::grouped(asked.batch, asked.work, asked.sharers, asked.replicas(), share, o.light);
      if (std::find(tried.begin(), tried.end(), next) != tried.end()) continue;
      tried.push_back(next);
      slimpack::detail::share_out(next, asked.batch, asked.work, std::vector<double>(asked.replicas()));
      contender made = estimate(std::move(next), asked, terms, mean);
      if (made.step < best.step) best = std::move(made);
    }
    const double least = *std::min_element(best.loss.begin(), best.loss.end());
    std::vector<double> beside(asked.replicas());
    for (std::size_t u = 0; u < best.units.size(); ++u)
      for (const std::uint32_t r : best.units[u].replicas) beside[r] = best.loss[u] - least;
    slimpack::detail::share_out(best.units, asked.batch, asked.work, std::move(beside));
    slimpack::detail::place_groups(best.units, cost, asked.shape.quantum, asked.stage, asked.exchanges);
    return std::move(best.units);
  }

  friend constexpr bool operator==(const estimated&, const estimated&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const estimated&) {
    return out << "divide::estimated{}";
  }

 private:
  struct contender {
    division units;
    std::vector<double> loss;  // of each unit
    double step{std::numeric_limits<double>::infinity()};
  };

  [[nodiscard]] static double weighed(const slimpack::detail::loss_terms& t, const solvers::search_options& options) {
    const slimpack::detail::search_tuning& o = options.tuning;
    return o.loss_peak * t.peak + o.loss_tail * t.tail + o.loss_alike * t.alike + o.loss_uneven * t.uneven +
           o.loss_exchange * t.exchange + o.loss_rows * t.rows;
  }

  /// Lets each group share what it likes best, and says how long the step takes then.
  template <class Terms>
  [[nodiscard]] contender estimate(division units, const division_problem& asked, const Terms& terms,
                                   double mean) const {
    contender made{{}, {}, 0};
    double sum = 0;
    std::vector<sequence> own;
    for (planning_unit& u : units) {
      own.assign(u.own.begin(), u.own.end());
      std::stable_sort(own.begin(), own.end(), [&](const sequence& a, const sequence& b) {
        return asked.work[a.id.value] > asked.work[b.id.value];
      });
      const double loss = u.shared.empty() ? weighed(terms(u.replicas, u.shared, own), asked.options)
                                           : shared_best(u, own, asked, terms, mean);
      const auto members = static_cast<double>(u.replicas.size());
      double work = 0;
      for (const sequence& s : u.shared) work += asked.work[s.id.value] / members;
      const double floor = work + (own.empty() ? 0 : asked.work[own.front().id.value]);
      for (const sequence& s : own) work += asked.work[s.id.value] / members;
      sum += members * (work + loss);
      made.step = std::max(made.step, floor + loss);
      made.loss.push_back(loss);
    }
    made.step = std::max(made.step, sum / static_cast<double>(asked.replicas()));
    made.units = std::move(units);
    return made;
  }

  /// Shares those of a group's own sequences that are heavier than the best of a few limits, and takes them out of
  /// `own`, which is sorted by falling work.            Returns  what the group then loses
  template <class Terms>
  [[nodiscard]] double shared_best(planning_unit& u, std::vector<sequence>& own, const division_problem& asked,
                                   const Terms& terms, double mean) const {
    const solvers::search_options& o = asked.options;
    const auto may = [&](const sequence& s) { return asked.sharers[s.id.value].most >= u.replicas.size(); };
    // What cannot be shared by so many stays behind all that can.
    const auto fixed = static_cast<std::size_t>(std::stable_partition(own.begin(), own.end(), may) - own.begin());
    const auto heavier = [&](double limit) {
      const auto end = own.begin() + static_cast<std::ptrdiff_t>(fixed);
      return static_cast<std::size_t>(
          std::partition_point(own.begin(), end,
                               [&](const sequence& s) { return asked.work[s.id.value] > limit * mean; }) -
          own.begin());
    };
    const std::size_t given = u.shared.size();
    double best = weighed(terms(u.replicas, u.shared, own), asked.options);
    std::size_t chosen = 0, last = 0;
    const auto attempt = [&](double limit) {
      const std::size_t count = heavier(limit);
      if (count <= last) return;  // nothing more, or less where limits do not fall
      u.shared.insert(u.shared.end(), own.begin() + static_cast<std::ptrdiff_t>(last),
                      own.begin() + static_cast<std::ptrdiff_t>(count));
      last = count;
      const double loss =
          weighed(terms(u.replicas, u.shared, std::span<const sequence>(own).subspan(count)), asked.options);
      if (loss < best) best = loss, chosen = count;
    };
    attempt(o.tuning.heavy);
    attempt(o.light);
    u.shared.resize(given + chosen);
    own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(chosen));
    return best;
  }
};

}  // namespace slimpack::divide

#endif
