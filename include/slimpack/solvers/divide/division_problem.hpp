#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVISION_PROBLEM_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVISION_PROBLEM_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/solvers/baselines/sharing_zones.hpp>
#include <slimpack/solvers/divide/detail/likely_row.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/needs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::divide {

/// What phase 1 is asked: a batch, what its sequences cost, and who may share them.
struct division_problem {
  slimpack::shape shape;
  std::vector<sequence> batch;          ///< sequence i has id i
  std::vector<memory_rates> rates;      ///< one per stage
  int stage{};                          ///< the busiest
  std::vector<double> work;             ///< seconds of each sequence on it, both passes and all chunks
  std::vector<sharers_range> sharers;   ///< of each sequence
  solvers::search_options options;
  exchange_set exchanges;               ///< that may carry what is shared
  bool exchange_is_free{};              ///< the cost model takes no time for it

  [[nodiscard]] std::size_t replicas() const { return static_cast<std::size_t>(shape.replicas); }
  /// Work of a replica: no division beats a step of so long.
  [[nodiscard]] double mean() const {
    double all = 0;
    for (const double w : work) all += w;
    return all / static_cast<double>(replicas());
  }

  /// Whether keys and values that are kept of other sharers count under the limit.
  [[nodiscard]] bool keeping_takes_room() const {
    const auto counts = [](const memory_rates& r) { return r.other_token > 0; };
    return exchanges.keep && shape.memory && std::any_of(rates.begin(), rates.end(), counts);
  }

  /// Errors    out_of_memory: a sequence does not fit, however many replicas share it
  /// Complexity O(sequences * parts) questions to the cost model
  template <class Cost>
  [[nodiscard]] static result<division_problem> of(const problem& asked, const Cost& cost, std::vector<memory_rates> rates,
                                                   std::uint32_t most_sharers, const solvers::sharing_zones& zone,
                                                   const exchange_set& exchanges, const solvers::search_options& options) {
    division_problem made{asked.shape, solvers::sequences_of(asked.lengths), std::move(rates), 0, {}, {}, options, exchanges};
    made.stage = solvers::busiest_stage(cost, made.batch, made.shape);
    made.exchange_is_free = made.replicas() > 1 && slimpack::detail::exchange_is_free(cost, made.batch, made.shape.quantum, made.stage, exchanges);
    made.work.reserve(made.batch.size());
    made.sharers.reserve(made.batch.size());
    for (const sequence& s : made.batch)
      made.work.push_back(solvers::stage_time(cost, {s.id, {0}, s.length}, made.stage, made.shape).value);
    for (const sequence& s : made.batch) {
      result<sharers_range> range = made.sharers_of(s, most_sharers);
      if (!range) return std::move(range).error();
      range.value().most = std::clamp(zone.most(s.length, static_cast<std::uint32_t>(made.replicas())), range.value().least, range.value().most);
      made.sharers.push_back(range.value());
    }
    return made;
  }

 private:
  /// A sequence's least sharers are the fewest replicas whose memory holds their parts of it.
  [[nodiscard]] result<sharers_range> sharers_of(const sequence& s, std::uint32_t most_sharers) const {
    const tokens quantum = shape.quantum;
    const std::int64_t quanta = (s.length.value + quantum.value - 1) / quantum.value;
    sharers_range range{1, static_cast<std::uint32_t>(std::min<std::int64_t>({shape.replicas, quanta, most_sharers}))};
    if (!shape.memory) return range;
    const double limit = shape.memory->amount;
    const auto part = [&] {
      return range.least == 1 ? s.length : quantum * ((quanta + range.least - 1) / range.least);
    };
    const auto held = [&](const memory_rates& r) { return solvers::least_held(r, shape, part()); };
    const auto fits = [&](const memory_rates& r) { return held(r) <= limit; };
    while (range.least < range.most && !std::all_of(rates.begin(), rates.end(), fits)) ++range.least;
    const auto full = std::find_if_not(rates.begin(), rates.end(), fits);
    if (full == rates.end()) return range;
    return solvers::does_not_fit(shape, static_cast<std::size_t>(full - rates.begin()), s.length, range.least, held(*full),
                                 full->fixed);
  }
};

}  // namespace slimpack::divide

#endif
