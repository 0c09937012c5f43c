#ifndef SLIMPACK_SOLVERS_DIVIDE_DETAIL_UNIT_ESTIMATE_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DETAIL_UNIT_ESTIMATE_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/division_problem.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
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

#endif
