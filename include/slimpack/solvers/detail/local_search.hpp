#ifndef SLIMPACK_SOLVERS_DETAIL_LOCAL_SEARCH_HPP
#define SLIMPACK_SOLVERS_DETAIL_LOCAL_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/problem.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/core/timed_programs.hpp>
#include <slimpack/costs/price.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/solvers/detail/evolve.hpp>
#include <slimpack/solvers/detail/order_search.hpp>
#include <slimpack/solvers/detail/pack_moves.hpp>
#include <slimpack/solvers/detail/packer.hpp>
#include <slimpack/solvers/detail/packing.hpp>
#include <slimpack/solvers/detail/splitmix.hpp>
#include <slimpack/solvers/pack_sizes.hpp>
#include <slimpack/solvers/search_budget.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 2 on one replica: an evolution strategy over packings, then moves of single packs, then changes of the order
/// where the schedule lets it change, each candidate priced, scheduled and simulated. Works on local sequence ids
/// (0, 1, ...) and translates its answer.
/// Law       with two candidates or more, never slower than the whole packs of solvers::megatron on the same schedule
///           that the slicer allows, unless they are more than the quickest search could simulate
template <class Slicer, class Cost, class Schedule>
class local_search {
 public:
  local_search(std::span<const sequence> group, const problem& batch, const Slicer& slicer, const Cost& cost,
               const Schedule& schedule, std::span<const memory_rates> rates)
      : group_(group), batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule),
        rates_(rates.begin(), rates.end()) {
    if (!group.empty()) packer_.emplace(group, batch.shape, slicer, cost, rates);
  }

  /// The best of the candidates that the budget allows, and at least the first.
  result<replica_solution> best(const packing& start, solvers::search_budget budget) {
    if (group_.empty()) return replica_solution{{}, {}, std::vector<program>(stages())};
    budget_ = until_ = budget;
    result<seconds> first = consider(start);
    if (!first) first = shrink(start, std::move(first).error());
    if (!first) return std::move(first).error();
    const std::uint64_t settling = nodes_for_order();
    budget_.nodes -= settling;
    until_ = budget_;
    // Some steps that the strategy would take long to find. Where packs cost more than their slices tell, or are cut up
    // among chunks, they had better be of one size; and where times do not add up, fewer cuts may be faster.
    const bool chunked = batch_.shape.chunks > 1;
    const bool cuts_cost = packer_->cuts_cost();
    if (prices_packs || chunked) consider_even(batch_.shape.quantum);
    if (cuts_cost || chunked) consider_even(longest_supported);
    if (cuts_cost)
      for (const tokens coarse : {batch_.shape.quantum * 8, batch_.shape.quantum * 64, longest_supported})
        vary([&](packing& c) { c.quantum = std::min(coarse, longest_supported); });
    vary([](packing& c) { c.backward.steady *= 1.6; });
    vary([](packing& c) { c.front = 1; });
    explore();
    if (budget.candidates > 1) consider_whole();
    until_ = {nodes_ + budget.nodes / moving, std::numeric_limits<std::uint64_t>::max()};
    move();
    settle(settling);
    return translated();
  }

 private:
  static constexpr bool prices_packs =
      requires(const Cost& cost, std::span<const slice> pack) { cost.time(pack, pass::forward, 0); };

  [[nodiscard]] std::size_t stages() const { return static_cast<std::size_t>(batch_.shape.stages); }
  [[nodiscard]] bool spent() const {
    return nodes_ + last_ > until_.nodes || candidates_ >= until_.candidates || batch_.stop.stop_requested();
  }

  /// Tries the best with a change, if the budget allows.
  template <class Change>
  void vary(const Change& change) {
    if (spent()) return;
    packing next = *best_;
    change(next);
    static_cast<void>(consider(next));
  }

  /// Tries the packs of solvers::megatron, and be it beyond the budget, unless they cannot be the fastest, or are more
  /// than the quickest search could simulate.
  void consider_whole() {
    if (batch_.stop.stop_requested()) return;
    const seconds limit = makespan_ * (1 + 1e-9);  // sums in another order are rounded otherwise
    std::optional<partition> packs = packer_->whole(limit, packs_within(solvers::search_budget::fast().nodes));
    if (packs) static_cast<void>(score(*std::move(packs)));
  }

  /// Tries even packs, unless the best has taken less than they will.
  void consider_even(tokens quantum) {
    if (spent()) return;
    const auto even = packer_->even(quantum, most_packs(), nodes_);
    if (!even) return;
    const seconds before = of_best_;
    if (even->least < before) static_cast<void>(consider(even->of));
    if (of_best_ == before) return;
    vary([](packing& c) { c.forward.ramp_least *= 0.3, c.backward.ramp_least *= 0.3; });
    vary([](packing& c) { c.crowding = 0.3; });
  }

  /// The makespan of a candidate, which is kept if it is the best so far, or why it has no plan.
  result<seconds> consider(const packing& c) {
    ++candidates_;
    result<partition> packs = packer_->packs(c, most_packs());
    if (!packs) return std::move(packs).error();
    const bool first = !best_;
    result<seconds> time = score(std::move(packs).value(), first);
    if (time && (first || time.value() < of_best_)) best_ = c, of_best_ = time.value();
    return time;
  }

  /// The makespan of packs as scheduled, which are kept if they are the fastest so far, or why they cannot run.
  result<seconds> score(partition packs, bool first = false) {
    const workload priced = price(packs, cost_, batch_.shape, rates_, weight_gradients_of<Schedule>);
    // On each part: instructions, a message for nearly each, and slices to price.
    last_ = (2 * (packs.forward.size() + packs.backward.size()) + packs.forward.slices().size() +
             packs.backward.slices().size()) * static_cast<std::size_t>(batch_.shape.parts());
    nodes_ += last_;
    result<timed_programs> timed = schedules::timed(schedule_, priced);
    if (!timed) return std::move(timed).error();
    const seconds time = timed.value().makespan;
    if (first || time < makespan_) {
      makespan_ = time;
      answer_.partition = std::move(packs);
      answer_.programs = std::move(timed.value().programs);
    }
    return time;
  }

  /// Packs of a pass that so many nodes simulate.
  [[nodiscard]] double packs_within(std::uint64_t nodes) const {
    return static_cast<double>(nodes) / (6.0 * batch_.shape.parts());
  }

  /// A candidate of more packs than the quickest search can simulate would take too long.
  [[nodiscard]] double most_packs() const {
    return packs_within(std::max(budget_.nodes, solvers::search_budget::fast().nodes));
  }

  /// Nothing fits: smaller packs need less memory beside the longest sequence. Packs of one slice need the least, since
  /// then, with one chunk, no sequence waits for another: whatever fits alone fits.
  /// No sequence is cut into more than 2^16 slices: more take gigabytes, to save a few tokens of millions.
  result<seconds> shrink(const packing& start, result<seconds> made) {
    const std::int64_t quanta = packer_->longest().length.value / batch_.shape.quantum.value;
    const tokens quantum = batch_.shape.quantum * (1 + quanta / (1 << 16));
    for (double share = 0.5; !made && made.error().code == errc::out_of_memory; share *= 0.25) {
      const bool least = share * packer_->share() < 0.01;  // short sequences share packs of less than a quantum
      packing small = start;
      small.front = 1, small.quantum = quantum;
      for (solvers::pack_sizes* p : {&small.forward, &small.backward})
        for (double* size : {&p->steady, &p->turn_least, &p->before, &p->after}) *size *= least ? 0 : share;
      made = consider(small);
      if (least) break;
    }
    return made;
  }

  /// A long search begins anew a few times, since a walk ends where chance led it, and goes on from the best.
  void explore() {
    if (spent()) return;
    splitmix random;
    const auto walk = [&](const packing& from, seconds of_from, double step) {
      evolve(from, of_from, step, random, [&](const packing& c) { return consider(c); }, [&] { return spent(); });
    };
    const packing first = *best_;
    const seconds of_first = of_best_;
    const solvers::search_budget begun{nodes_, candidates_};
    const std::uint64_t starts = std::min<std::uint64_t>(4, budget_.candidates / 5000);
    for (std::uint64_t i = 1; i <= starts; ++i) {  // of the budget each takes 3 parts of 20
      until_ = {begun.nodes + (budget_.nodes - begun.nodes) / 20 * 3 * i,
                begun.candidates + (budget_.candidates - begun.candidates) / 20 * 3 * i};
      walk(first, of_first, 0.3);
    }
    until_ = budget_;
    walk(*best_, of_best_, starts > 0 ? 0.1 : 0.3);
  }

  /// Changes single packs of the best so far. Where packs are few that finds what no ratios describe; it is not counted
  /// in plans, which cost next to nothing there.
  /// Source    (1+1) evolutionary algorithm: random moves, one plan after the other, the faster kept
  void move() {
    const pack_moves moves(packer_->sequences(), slicer_, cost_, packer_->limits(batch_.shape.quantum));
    splitmix random;
    while (!spent()) {
      std::optional<partition> next = moves.neighbour(answer_.partition, random);
      if (next && *next != answer_.partition)
        static_cast<void>(score(*std::move(next)));
      else
        nodes_ += last_;
    }
  }

  /// Of a schedule whose orders may change, half of the nodes are for that, if they are enough for some sweeps.
  [[nodiscard]] std::uint64_t nodes_for_order() const {
    if constexpr (!orders_may_change_of<Schedule>) return 0;
    const std::size_t packs = answer_.partition.forward.size() + answer_.partition.backward.size();
    const std::uint64_t nodes = budget_.nodes / 2;
    return nodes < 32 * packs * stages() ? 0 : nodes;
  }

  /// Improves the order of the best, and its packs in that order.
  void settle(std::uint64_t nodes) {
    if constexpr (orders_may_change_of<Schedule>) {
      if (nodes == 0) return;
      workload priced = price(answer_.partition, cost_, batch_.shape, rates_);
      if (!batch_.shape.memory) priced.forward.kept.clear(), priced.backward.kept.clear();  // nothing limits it
      if (!priced.forward.kept.empty()) return;  // it depends on common cuts of both passes, which changes would move
      order_search search(answer_.partition, answer_.programs, priced, packer_->sequences(), slicer_, cost_,
                          packer_->limits(batch_.shape.quantum));
      search.run(nodes, batch_.stop);
      answer_.partition = search.packs();
      answer_.programs = search.programs();
    }
  }

  /// The answer in the batch's sequence ids.
  replica_solution translated() {
    for (const sequence& s : group_) answer_.sequences.push_back(s.id);
    for (micropacks* packs : {&answer_.partition.forward, &answer_.partition.backward}) {
      micropacks renamed;
      for (std::size_t i = 0; i < packs->size(); ++i) {
        for (slice s : (*packs)[i]) {
          s.sequence = group_[s.sequence.value].id;
          renamed.push(s);
        }
        renamed.close();
      }
      *packs = std::move(renamed);
    }
    return std::move(answer_);
  }

  static constexpr std::uint64_t moving = 32;  // moves of packs take one of so many parts of the nodes, beside the rest

  std::span<const sequence> group_;
  const problem& batch_;
  const Slicer& slicer_;
  const Cost& cost_;
  const Schedule& schedule_;
  std::vector<memory_rates> rates_;
  std::optional<packer<Slicer, Cost>> packer_;  // none of an empty group

  solvers::search_budget budget_{};  // of the whole search
  solvers::search_budget until_{};   // of the part of it that is under way
  std::uint64_t nodes_{};
  std::uint64_t last_{};  // nodes of the last candidate, about as many as the next will have
  std::uint64_t candidates_{};
  std::optional<packing> best_;  // of pack sizes; whole packs and moved ones are none
  seconds of_best_{};
  seconds makespan_{};  // of the answer
  replica_solution answer_;
};

}  // namespace slimpack::detail

#endif
