#ifndef SLIMPACK_SOLVERS_IMPROVE_LOCAL_SEARCH_HPP
#define SLIMPACK_SOLVERS_IMPROVE_LOCAL_SEARCH_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/partition.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/pricing/price.hpp>
#include <slimpack/schedules/hooks.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/schedules/timed_programs.hpp>
#include <slimpack/solvers/improve/evolve.hpp>
#include <slimpack/solvers/improve/order_search.hpp>
#include <slimpack/solvers/improve/pack_moves.hpp>
#include <slimpack/solvers/improve/splitmix.hpp>
#include <slimpack/solvers/pack/packer.hpp>
#include <slimpack/solvers/pack/packing.hpp>
#include <slimpack/solvers/pack_sizes.hpp>
#include <slimpack/solvers/problem.hpp>
#include <slimpack/solvers/search_budget.hpp>
#include <slimpack/solvers/solution.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 2 on one replica: an evolution strategy over packings, then moves of single packs, then changes of the order
/// where the schedule lets it change, and all this again while its budget lasts; each candidate priced, scheduled and
/// simulated. Works on local sequence ids (0, 1, ...) and translates its answer.
/// Law       with two candidates or more, never slower than the whole packs of solvers::megatron on the same schedule
///           that the slicer allows, unless they are more than the quickest search could simulate
template <class Slicer, class Cost, class Schedule>
class local_search {
 public:
  local_search(std::span<const sequence> group, const problem& batch, const Slicer& slicer, const Cost& cost,
               const Schedule& schedule, std::span<const memory_rates> rates)
      : group_(group), batch_(batch), slicer_(slicer), cost_(cost), given_(schedule), schedule_(schedule),
        rates_(rates.begin(), rates.end()) {
    if (!group.empty()) packer_.emplace(group, batch.shape, slicer, cost, rates);
  }

  /// The best of the candidates that the budget allows, and at least the first.
  result<replica_solution> best(const packing& start, solvers::search_budget budget) {
    if (group_.empty()) return replica_solution{{}, {}, std::vector<program>(stages())};
    budget_ = until_ = budget;
    if (is_long()) schedule_ = longer_of(schedule_);
    result<seconds> first = consider(start);
    if (!first) first = shrink(start, std::move(first).error());
    if (!first) return std::move(first).error();
    // Orders of small plans are soon found, which leaves nodes for other walks and other orders.
    for (bool again = false;; again = true) {
      const std::uint64_t ordering = nodes_for_order();
      if (again && (ordering == 0 || candidates_ >= budget.candidates)) return translated();
      until_ = {budget_.nodes - ordering, budget_.candidates};
      if (!again) consider_kinds();
      explore();
      if (!again && budget.candidates > 1) consider_whole();
      move();
      if (ordering > 0) improve_order(ordering);
    }
  }

  /// Of what best() has found.
  [[nodiscard]] seconds makespan() const noexcept {
    return group_.empty() ? seconds{} : std::min(listed_.makespan, improved_.makespan);
  }

 private:
  struct ordered {
    partition packs;
    std::vector<program> programs;
    seconds makespan{std::numeric_limits<double>::infinity()};
  };

  [[nodiscard]] std::size_t stages() const { return static_cast<std::size_t>(batch_.shape.stages); }
  [[nodiscard]] bool is_long() const { return budget_.candidates >= 5000; }
  [[nodiscard]] bool spent() const {
    return nodes_ + last_ > until_.nodes || candidates_ >= until_.candidates || batch_.stop.stop_requested();
  }

  /// Tries some steps that the strategy would take long to find. Where packs cost more than their slices tell, or are
  /// cut up among chunks, they had better be of one size; and where times do not add up, fewer cuts may be faster.
  void consider_kinds() {
    const bool chunked = batch_.shape.chunks > 1;
    const bool cuts_cost = packer_->cuts_cost();
    if (prices_packs<Cost> || chunked) consider_even(batch_.shape.quantum);
    if (cuts_cost || chunked) consider_even(longest_supported);
    if (cuts_cost)
      for (const tokens coarse : {batch_.shape.quantum * 8, batch_.shape.quantum * 64, longest_supported})
        vary([&](packing& c) { c.quantum = std::min(coarse, longest_supported); });
    vary([](packing& c) { c.backward.steady *= 1.6; });
    vary([](packing& c) { c.front = 1; });
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
    const seconds limit = listed_.makespan * (1 + 1e-9);  // sums in another order are rounded otherwise
    std::optional<partition> packs = packer_->whole(limit, packs_within(solvers::search_budget::fast().nodes));
    if (packs) static_cast<void>(score(*std::move(packs), given_));
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
    result<seconds> time = score(std::move(packs).value(), schedule_);
    if (time && (first || time.value() < of_best_)) best_ = c, of_best_ = time.value();
    return time;
  }

  /// The makespan of packs as scheduled, which are kept if they are the fastest so far, or why they cannot run.
  result<seconds> score(partition packs, const Schedule& schedule) {
    const workload priced = price(packs, cost_, batch_.shape, rates_, weight_gradients_of<Schedule>);
    keeps_beside_tokens_ = !priced.forward.kept.empty();
    // On each part: instructions, a message for nearly each, and slices to price. Those of lanes take their time, too; a
    // short search does not count them, or it would try too few candidates to tell one division from another.
    std::size_t lanes = 1;
    if constexpr (prices_together<Cost>)
      if (is_long()) lanes += cost_.count();
    last_ = (2 * (packs.forward.size() + packs.backward.size()) +
             lanes * (packs.forward.slices().size() + packs.backward.slices().size())) *
            static_cast<std::size_t>(batch_.shape.parts());
    nodes_ += last_;
    result<timed_programs> timed = schedules::timed(schedule, priced);
    if (!timed) return std::move(timed).error();
    const seconds time = timed.value().makespan;
    if (time < listed_.makespan) listed_ = {std::move(packs), std::move(timed.value().programs), time};
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
    const auto walk = [&](const packing& from, seconds of_from, double step) {
      evolve(from, of_from, step, random_, [&](const packing& c) { return consider(c); }, [&] { return spent(); });
    };
    const packing first = *best_;
    const seconds of_first = of_best_;
    const solvers::search_budget begin{nodes_, candidates_};
    const solvers::search_budget end = until_;
    const std::uint64_t starts = is_long() ? 4 : 0;
    for (std::uint64_t i = 1; i <= starts; ++i) {  // of the budget each takes 3 parts of 20
      until_ = {begin.nodes + (end.nodes - begin.nodes) / 20 * 3 * i,
                begin.candidates + (end.candidates - begin.candidates) / 20 * 3 * i};
      walk(first, of_first, 0.3);
    }
    until_ = end;
    walk(*best_, of_best_, is_long() ? 0.1 : 0.3);
  }

  /// Changes single packs of the best so far. Where packs are few that finds what no ratios describe; it is not counted
  /// in plans, which cost next to nothing there.
  /// Source    (1+1) evolutionary algorithm: random moves, one plan after the other, the faster kept
  void move() {
    until_ = {nodes_ + budget_.nodes / moving, std::numeric_limits<std::uint64_t>::max()};
    const pack_moves moves(packer_->sequences(), slicer_, cost_, packer_->limits(batch_.shape.quantum));
    while (!spent()) {
      std::optional<partition> next = moves.neighbour(listed_.packs, moved_);
      if (next && *next != listed_.packs)
        static_cast<void>(score(*std::move(next), schedule_));
      else
        nodes_ += last_;
    }
  }

  /// How much of the nodes that are left is for the order, if the schedule lets it change and they are enough for some
  /// sweeps: half; and more, where packs change with it, once the walks have theirs.
  [[nodiscard]] std::uint64_t nodes_for_order() const {
    if (!changes_order() || nodes_ >= budget_.nodes || batch_.stop.stop_requested()) return 0;
    const std::uint64_t left = budget_.nodes - nodes_;
    const std::uint64_t nodes = left - std::clamp(300 * last_, left / (prices_together<Cost> ? 2 : 10), left / 2);
    const std::size_t packs = listed_.packs.forward.size() + listed_.packs.backward.size();
    return nodes < 32 * packs * stages() ? 0 : nodes;
  }

  /// Not where anything is kept beside tokens under a limit: it depends on common cuts of both passes, which changes of
  /// one would move.
  [[nodiscard]] bool changes_order() const {
    return orders_may_change_of<Schedule> && (!batch_.shape.memory || !keeps_beside_tokens_);
  }

  /// Improves the order of the fastest that the schedule found, and its packs in that order.
  void improve_order(std::uint64_t nodes) {
    if constexpr (orders_may_change_of<Schedule>) {
      workload priced = price(listed_.packs, cost_, batch_.shape, rates_);
      priced.forward.kept.clear(), priced.backward.kept.clear();  // nothing limits it, says changes_order
      order_search search(listed_.packs, listed_.programs, priced, packer_->sequences(), slicer_, cost_,
                          packer_->limits(batch_.shape.quantum), random_);
      search.run(nodes, batch_.stop);
      nodes_ += search.spent();
      if (search.makespan() < improved_.makespan) improved_ = {search.packs(), search.programs(), search.makespan()};
    }
  }

  /// The fastest in the batch's sequence ids.
  replica_solution translated() {
    ordered& fastest = improved_.makespan < listed_.makespan ? improved_ : listed_;
    replica_solution answer{{}, {}, std::move(fastest.programs)};
    for (const sequence& s : group_) answer.sequences.push_back(s.id);
    for (const pass p : {pass::forward, pass::backward}) {
      const micropacks& packs = fastest.packs.of(p);
      micropacks& renamed = p == pass::forward ? answer.partition.forward : answer.partition.backward;
      for (std::size_t i = 0; i < packs.size(); ++i) {
        for (slice s : packs[i]) {
          s.sequence = group_[s.sequence.value].id;
          renamed.push(s);
        }
        renamed.close();
      }
    }
    return answer;
  }

  static constexpr std::uint64_t moving = 32;  // moves of packs take one of so many parts of the nodes, beside the rest

  std::span<const sequence> group_;
  const problem& batch_;
  const Slicer& slicer_;
  const Cost& cost_;
  const Schedule& given_;
  Schedule schedule_;  // that, or its longer()
  std::vector<memory_rates> rates_;
  std::optional<packer<Slicer, Cost>> packer_;  // none of an empty group

  solvers::search_budget budget_{};  // of the whole search
  solvers::search_budget until_{};   // of the part of it that is under way
  std::uint64_t nodes_{};
  std::uint64_t last_{};  // nodes of the last candidate, about as many as the next will have
  std::uint64_t candidates_{};
  std::optional<packing> best_;  // of pack sizes; whole packs and moved ones are none
  seconds of_best_{};
  bool keeps_beside_tokens_{};
  splitmix random_;  // of walks and orders
  splitmix moved_;   // of moves, so that how many there are does not change what follows
  ordered listed_;    // the fastest as the schedule orders it
  ordered improved_;  // and in another order
};

}  // namespace slimpack::detail

#endif
