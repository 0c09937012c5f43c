#ifndef SLIMPACK_SOLVERS_DIVIDE_DIVISION_PROBLEM_HPP
#define SLIMPACK_SOLVERS_DIVIDE_DIVISION_PROBLEM_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/order/detail/local_ids.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/solvers/divide/division.hpp>
#include <slimpack/solvers/divide/sharer_slices.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/sharing_zones.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::divide {

/// What phase 1 is asked: a batch, what its sequences cost, and who may share them.
struct division_problem {
  slimpack::shape shape;
  std::vector<sequence> batch;         ///< sequence i has id i. Where samples share beginnings, a tree is one: as long
                                       ///< as its longest path
  std::vector<memory_rates> rates;     ///< one per stage
  int stage{};                         ///< the busiest
  std::vector<double> work;            ///< seconds of each sequence on it, both passes and all chunks
  std::vector<sharers_range> sharers;  ///< of each sequence
  solvers::search_options options;
  exchange_set exchanges;                      ///< that may carry what is shared
  bool exchange_is_free{};                     ///< the cost model takes no time for it
  std::vector<std::vector<sequence>> trees{};  ///< what each of the batch stands for, where samples share beginnings

  [[nodiscard]] std::size_t replicas() const { return static_cast<std::size_t>(shape.replicas); }
  /// Work of a replica: no division beats a step of so long.
  [[nodiscard]] double mean() const {
    double all = 0;
    for (const double w : work) all += w;
    return all / static_cast<double>(replicas());
  }

  /// The sequences of some of the batch.
  [[nodiscard]] std::vector<sequence> sequences_of(std::span<const sequence> some) const {
    std::vector<sequence> all;
    for (const sequence& s : some) {
      if (trees.empty())
        all.push_back(s);
      else
        all.insert(all.end(), trees[s.id.value].begin(), trees[s.id.value].end());
    }
    return all;
  }

  /// Whether one of the batch is a tree of several sequences, whose paths are each on one replica.
  [[nodiscard]] bool is_tree(const sequence& s) const { return !trees.empty() && trees[s.id.value].size() > 1; }

  /// Whether keys and values that are kept of other sharers count under the limit.
  [[nodiscard]] bool keeping_takes_room() const {
    const auto counts = [](const memory_rates& r) { return r.other_token > 0; };
    return exchanges.keep && shape.memory && std::any_of(rates.begin(), rates.end(), counts);
  }

  /// Errors    out_of_memory: a sequence does not fit, however many replicas share it
  /// Complexity O(sequences * parts) questions to the cost model
  template <class Cost>
  [[nodiscard]] static result<division_problem> of(const problem& asked, const Cost& cost,
                                                   std::vector<memory_rates> rates, std::uint32_t most_sharers,
                                                   const solvers::sharing_zones& zone, const exchange_set& exchanges,
                                                   const solvers::search_options& options) {
    division_problem made{asked.shape, asked.batch().sequences(), std::move(rates), 0, {}, {}, options, exchanges};
    made.stage = solvers::busiest_stage(cost, made.batch, made.shape);
    if (asked.batch().shares_prefixes()) made.divide_trees();
    made.exchange_is_free = made.replicas() > 1 && slimpack::detail::exchange_is_free(
                                                       cost, made.batch, made.shape.quantum, made.stage, exchanges);
    made.work.reserve(made.batch.size());
    made.sharers.reserve(made.batch.size());
    for (const sequence& s : made.batch) {
      double& work = made.work.emplace_back();
      for (const sequence& one : made.sequences_of({&s, 1}))
        work += solvers::stage_time(cost, one.whole(), made.stage, made.shape).value;
    }
    for (const sequence& s : made.batch) {
      result<sharers_range> range = made.sharers_of(s, most_sharers);
      if (!range) return std::move(range).error();
      range.value().most = std::clamp(zone.most(s.length, static_cast<std::uint32_t>(made.replicas())),
                                      range.value().least, range.value().most);
      made.sharers.push_back(range.value());
    }
    return made;
  }

 private:
  /// Lets each tree stand for its sequences.
  void divide_trees() {
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    const std::vector<std::uint32_t> root = slimpack::detail::roots_of(batch);
    std::vector<std::uint32_t> tree_of(batch.size(), none);  // of roots
    std::vector<sequence> roots;
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      std::uint32_t& tree = tree_of[root[i]];
      if (tree == none) {
        tree = static_cast<std::uint32_t>(roots.size());
        roots.push_back({{tree}, {}});
        trees.emplace_back();
      }
      trees[tree].push_back(batch[i]);
      roots[tree].length = std::max(roots[tree].length, batch[i].end());
    }
    batch = std::move(roots);
  }

  /// What a stage holds at least for each token of another sharer: its keys and values, and their gradients.
  [[nodiscard]] double other_token(const memory_rates& r) const {
    return r.other_token + r.gradient_token / shape.chunks;
  }

  /// A sequence's least sharers are the fewest replicas whose memory holds their parts of it; where they must keep keys
  /// and values of all others, the fewest that hold these beside an even part. Parts differ by a little, so that the
  /// latter says about what they hold, and refuses nothing.
  [[nodiscard]] result<sharers_range> sharers_of(const sequence& s, std::uint32_t most_sharers) const {
    const tokens quantum = shape.quantum;
    const std::int64_t quanta = (s.length.value + quantum.value - 1) / quantum.value;
    const std::int64_t most = is_tree(s) ? 1 : most_sharers;
    sharers_range range{1, static_cast<std::uint32_t>(std::min<std::int64_t>({shape.replicas, quanta, most}))};
    if (!shape.memory) return range;
    const auto part = [&](std::uint32_t k) { return k == 1 ? s.end() : quantum * ((quanta + k - 1) / k); };
    const auto held = [&](const memory_rates& r, std::uint32_t k) {
      return solvers::least_held(r, shape, part(k), is_tree(s) ? tokens{1} : part(k));
    };
    const auto held_beside = [&](const memory_rates& r, std::uint32_t k) {
      return held(r, k) + other_token(r) * static_cast<double>((s.length - part(k)).value);
    };
    const auto fewest = [&](const auto& holds) {  // one more than the most where none are enough
      const auto is_full = [&](const memory_rates& r) { return holds(r, range.least) > shape.memory->amount; };
      while (range.least <= range.most && std::any_of(rates.begin(), rates.end(), is_full)) ++range.least;
      return range.least;
    };
    if (fewest(held) > range.most) {
      const auto is_full = [&](const memory_rates& r) { return held(r, range.most) > shape.memory->amount; };
      const auto full = std::find_if(rates.begin(), rates.end(), is_full);
      return solvers::does_not_fit(shape, static_cast<std::size_t>(full - rates.begin()), s.end(), range.most,
                                   held(*full, range.most), full->fixed);
    }
    range.of_parts = range.least;
    if (range.least == 1 || !exchanges.without_keeping().empty()) return range;
    if (result<void> fits = keeping_fits(s, range.most); !fits) return std::move(fits).error();
    if (fewest(held_beside) > range.most) range.least = range.of_parts;
    return range;
  }

  /// Whether the most sharers that a sequence may have hold what they keep of it. Who has its last part keeps keys and
  /// values of all others beside its own tokens: for each token, whosever it is, it holds the less of both at least.
  [[nodiscard]] result<void> keeping_fits(const sequence& s, std::uint32_t most) const {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const memory_rates& r = rates[i];
      const double least = r.fixed + std::min(r.live_token, other_token(r)) * static_cast<double>(s.length.value);
      if (least <= shape.memory->amount) continue;
      error why = solvers::does_not_fit(shape, i, s.length, most, least, r.fixed);
      why.detail += "; each keeps the keys and values of all others, as exchange::queries and exchange::ring do not";
      return why;
    }
    return success();
  }
};

}  // namespace slimpack::divide

namespace slimpack::detail {

/// A division with its plan, and when each of its units ends.
struct planned_division {
  division units;
  std::vector<seconds> ends;
  solution solved;
  [[nodiscard]] seconds end() const { return *std::max_element(ends.begin(), ends.end()); }
};

}  // namespace slimpack::detail

#endif
