#ifndef SLIMPACK_SOLVERS_BASELINES_CONTEXT_PARALLEL_HPP
#define SLIMPACK_SOLVERS_BASELINES_CONTEXT_PARALLEL_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/pricing/shared_rows.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/one_f_one_b.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/slicers/equal_cost.hpp>
#include <slimpack/solvers/baselines/detail/shared_columns.hpp>
#include <slimpack/solvers/baselines/recipe.hpp>
#include <slimpack/solvers/baselines/relaying.hpp>
#include <slimpack/solvers/divide/unfold.hpp>
#include <slimpack/solvers/exchange_set.hpp>
#include <slimpack/solvers/pack/sequence_costs.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/sharing_zones.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iosfwd>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Which replicas share a sequence under context_parallel.
enum class sharing_groups : unsigned char {
  all,           ///< all of them, whatever the sequence's length
  power_of_two,  ///< the fewest neighbouring ones, 1, 2, 4, ..., on which a share of it is within the cap
  zones          ///< as few as have no more than the mean of all work, and a share within the cap, as far as its zone
                 ///< lets them
};

[[nodiscard]] constexpr std::string_view name_of(sharing_groups groups) noexcept {
  switch (groups) {
    case sharing_groups::all:
      return "all";
    case sharing_groups::power_of_two:
      return "power_of_two";
    case sharing_groups::zones:
      return "zones";
  }
  return {};
}

/// Baselines: context parallelism over the replicas, as trainers without slices have it. A micro-step holds whole
/// sequences, at most `cap` tokens on a replica; of a sequence that m replicas share each has two of 2 m equal slices,
/// one from its front and one from its back. There are as many micro-steps as are needed, the same forward and
/// backward. A sequence of fewer quanta than sharers is shared by as many as it has. A cap that is not given is the
/// least that lets the longest sequence in, or that doubled as often as memory lets it: what makes the shortest step.
/// Source    all, ring: Transformer Engine's context parallelism (cp_comm_type p2p), the baseline "TE CP" of Zeppelin
///           (arXiv:2509.21841); all, keep: the same slices after one all-gather of keys and values, which nothing
///           hides, its baseline "LLaMA CP" (Llama 3, arXiv:2407.21783); power_of_two, ring: its "hybrid DP", after
///           Megatron-LM's hybrid context parallelism; zones, ring: Zeppelin's own placement (sharing_zones.hpp), and
///           with relays its routing (relaying.hpp). How sequences come to micro-steps is derived: all: next-fit in
///           arrival order; others: longest first, to the group whose replicas have the fewest tokens so far, or under
///           zones the least work
/// Errors    invalid_input: an exchange that the compute has not, or relays of what is kept; out_of_memory: a sequence
///           is above the cap on as many replicas as may share it; those of the schedule
/// Complexity O(n log n + n * micro-steps * replicas), and as often as a cap is tried
struct context_parallel {
  sharing_groups groups{sharing_groups::all};
  slimpack::exchange exchange{slimpack::exchange::ring};
  tokens cap{0};                              ///< of a replica in a micro-step; 0: chosen
  sharing_zones zone{};                       ///< of groups by zones; as it is, it limits nothing
  relaying relays{};                          ///< of rings, where they take no longer; as it is, each transfer goes
                                              ///< over its sender's adapter
  exchange_set allowed{exchange_set::all()};  ///< by whom shares rows (solvers/hooks.hpp)

  constexpr void share_by(exchange_set these) noexcept { allowed = these; }

  template <class Slicer, class Cost, class Schedule>
  [[nodiscard]] result<solution> solve(const problem& batch, const Slicer& /*cuts into equal slices*/, const Cost& cost,
                                       const Schedule& schedule) const {
    const result<tokens> least = least_cap(batch);
    if (!least) return least.error();
    result<timed_solution> best = within(cap > tokens{} ? cap : least.value(), batch, cost, schedule);
    tokens all{};
    for (const tokens length : batch.lengths) all += length;
    // What does not fit in so many tokens fits in no more.
    for (tokens limit = 2 * least.value(); cap == tokens{} && best && limit < 2 * all && !batch.stop.stop_requested();
         limit = 2 * limit) {
      result<timed_solution> found = within(limit, batch, cost, schedule);
      if (!found) break;
      if (found.value().makespan < best.value().makespan) best = std::move(found);
    }
    if (!best) return std::move(best).error();
    return std::move(best.value().solved);
  }

  friend constexpr bool operator==(const context_parallel&, const context_parallel&) = default;
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                      const context_parallel& s) {
    return out << "solvers::context_parallel{.groups = solvers::sharing_groups::" << name_of(s.groups)
               << ", .exchange = exchange::" << slimpack::name_of(s.exchange) << ", .cap = {" << s.cap.value
               << "}, .zone = " << s.zone << ", .relays = " << s.relays << '}';
  }

 private:
  struct timed_solution {
    solution solved;
    seconds makespan;
  };

  /// With at most so many tokens of a replica in a micro-step.
  template <class Cost, class Schedule>
  [[nodiscard]] result<timed_solution> within(tokens limit, const problem& batch, const Cost& cost,
                                              const Schedule& schedule) const {
    detail::column_packs packed = detail::packs_of(columns_of(batch, limit, cost), batch, exchange);
    relay_where_faster(packed, cost, batch.shape);
    const result<std::vector<memory_rates>> rates = rates_of(cost, batch.shape);
    if (!rates) return rates.error();
    detail::most_of most(packed.columns, batch.shape, rates.value());
    const auto packs_of = [&](std::uint32_t r) -> const partition& { return packed.of[r].packs; };
    std::vector<std::uint32_t> all(packed.of.size());
    std::iota(all.begin(), all.end(), 0u);
    const simulators::rows_of_merges rows(packed.merges, packs_of, all);
    for (const std::uint32_t r : all)
      most.add(price(packed.of[r].packs, cost, batch.shape, rates.value(), weight_gradients_of<Schedule>, rows.of(r)),
               packed.of[r]);
    result<timed_programs> programs = schedules::timed(schedule, std::move(most).work());
    if (!programs) return std::move(programs).error();
    return timed_solution{detail::solution_of(std::move(packed), programs.value().programs), programs.value().makespan};
  }

  /// Gives relays to the merges that take no longer with them: short sequences have strands that latencies outweigh.
  template <class Cost>
  void relay_where_faster(detail::column_packs& packed, const Cost& cost, const shape& on) const {
    if (relays.segments == 0) return;
    const auto packs_of = [&](std::uint32_t r) -> const partition& { return packed.of[r].packs; };
    for (merge& m : packed.merges) {
      const auto waits = [&] {
        const std::uint32_t first = m.replicas.front();
        seconds sum{};
        for (const shared_row& row : simulators::shared_rows(std::span<const merge>(&m, 1), packs_of, first)) {
          std::vector<slice> mine;
          for (const slice& s : packs_of(first).of(row.pass)[row.pack.value])
            if (s.sequence == m.sequence) mine.push_back(s);
          for (int part = 0; part < on.parts(); ++part) sum += exchange_time(cost, row, mine, row.pass, part);
        }
        return sum;
      };
      const seconds without = waits();
      m.relays = relays.between(m.replicas);
      if (!m.relays.empty() && waits() > without) m.relays.clear();
    }
  }

  /// The least tokens on a replica that let the longest sequence in.
  [[nodiscard]] result<tokens> least_cap(const problem& batch) const {
    const auto replicas = static_cast<std::uint32_t>(batch.shape.replicas);
    if (replicas > 1 && !allowed.contains(exchange))
      return error{errc::invalid_input,
                   "the replicas are to share sequences by exchange::" + std::string(slimpack::name_of(exchange)) +
                       ", which the compute does not offer"};
    if (relays.segments > 0 && exchange == slimpack::exchange::keep)
      return error{
          errc::invalid_input,
          "keys and values that are kept are sent over an adapter of each sharer, and relays spread nothing: leave "
          "them out, or choose exchange::ring"};
    const tokens longest = *std::max_element(batch.lengths.begin(), batch.lengths.end());
    const std::uint32_t most = most_sharers(batch.shape);
    const tokens least = detail::share_of(longest, most, batch.shape.quantum);
    if (cap > tokens{} && least > cap)
      return error{errc::out_of_memory, "a sequence of " + std::to_string(longest.value) + " tokens takes " +
                                            std::to_string(least.value) + " on each of " + std::to_string(most) +
                                            " replicas, the cap is " + std::to_string(cap.value)};
    return least;
  }
  [[nodiscard]] std::uint32_t most_sharers(const shape& on) const {
    const auto replicas = static_cast<std::uint32_t>(on.replicas);
    return groups == sharing_groups::power_of_two ? std::bit_floor(replicas) : replicas;
  }

  /// The micro-steps of a batch.
  template <class Cost>
  [[nodiscard]] std::vector<detail::shared_column> columns_of(const problem& batch, tokens limit,
                                                              const Cost& cost) const {
    const auto replicas = static_cast<std::uint32_t>(batch.shape.replicas);
    const std::vector<sequence> all = batch.batch().sequences();
    switch (groups) {
      case sharing_groups::all:
        return detail::in_arrival_order(all, replicas, limit, batch.shape.quantum);
      case sharing_groups::power_of_two:
        return by_cap(all, most_sharers(batch.shape), limit, batch.shape);
      case sharing_groups::zones:
        return by_zones(all, limit, batch.shape, cost);
    }
    return {};
  }

  static std::vector<detail::shared_column> by_cap(const std::vector<sequence>& all, std::uint32_t most, tokens limit,
                                                   const shape& on) {
    const auto sharers = [&](const sequence& s) {
      std::uint32_t fewest = 1;
      while (fewest < most && detail::share_of(s.length, fewest, on.quantum) > limit) fewest *= 2;
      return fewest;
    };
    const auto begins = [](std::uint32_t first, std::uint32_t group) { return first % group == 0; };
    const auto size = [](const sequence& s) { return static_cast<double>(s.length.value); };
    return detail::longest_first(all, on, limit, sharers, begins, size);
  }

  template <class Cost>
  [[nodiscard]] std::vector<detail::shared_column> by_zones(const std::vector<sequence>& all, tokens limit,
                                                            const shape& on, const Cost& cost) const {
    const auto replicas = static_cast<std::uint32_t>(on.replicas);
    const int stage = busiest_stage(cost, all, on);
    std::vector<double> work;  // by sequence
    for (const sequence& s : all) work.push_back(stage_time(cost, s.whole(), stage, on).value);
    double mean = 0;  // of replicas
    for (const double one : work) mean += one / replicas;
    const auto sharers = [&](const sequence& s) {
      std::uint32_t now = 1;
      for (std::uint32_t next; now < replicas; now = next) {
        next = zone.larger(now, replicas);
        const bool must = detail::share_of(s.length, now, on.quantum) > limit;
        if (!must && (work[s.id.value] / now <= mean || !zone.allow(s.length, next))) break;
      }
      return now;
    };
    const auto begins = [&](std::uint32_t first, std::uint32_t group) {
      return zone.may_begin(first, group, replicas);
    };
    return detail::longest_first(all, on, limit, sharers, begins, [&](const sequence& s) { return work[s.id.value]; });
  }
};

}  // namespace slimpack::solvers

namespace slimpack::baselines {

/// Every sequence on all replicas, keys and values in a ring.
/// cap: tokens of a replica in a micro-step; 0: the one of the shortest step
[[nodiscard]] constexpr auto te_cp(const shape& on, tokens cap = {}) {
  return recipe<slicers::equal_cost, solvers::context_parallel, schedules::one_f_one_b>{
      {}, {solvers::sharing_groups::all, exchange::ring, cap}, classic(on)};
}

/// Every sequence on all replicas, keys and values gathered once.
[[nodiscard]] constexpr auto llama_cp(const shape& on, tokens cap = {}) {
  return recipe<slicers::equal_cost, solvers::context_parallel, schedules::one_f_one_b>{
      {}, {solvers::sharing_groups::all, exchange::keep, cap}, classic(on)};
}

/// Each sequence on 1, 2, 4, ... replicas, as few as hold it, keys and values in a ring.
[[nodiscard]] constexpr auto hybrid_dp(const shape& on, tokens cap = {}) {
  return recipe<slicers::equal_cost, solvers::context_parallel, schedules::one_f_one_b>{
      {}, {solvers::sharing_groups::power_of_two, exchange::ring, cap}, classic(on)};
}

/// Sequences in zones: each on as few replicas as work and the cap ask for, and no more than its zone lets share it.
[[nodiscard]] constexpr auto zeppelin(const shape& on, tokens cap = {}, const solvers::sharing_zones& zone = {}) {
  return recipe<slicers::equal_cost, solvers::context_parallel, schedules::one_f_one_b>{
      {}, {solvers::sharing_groups::zones, exchange::ring, cap, zone}, classic(on)};
}

}  // namespace slimpack::baselines

#endif
