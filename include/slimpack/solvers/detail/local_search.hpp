#ifndef SLIMPACK_SOLVERS_DETAIL_LOCAL_SEARCH_HPP
#define SLIMPACK_SOLVERS_DETAIL_LOCAL_SEARCH_HPP

#include <slimpack/core/cut_budget.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/problem.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/solution.hpp>
#include <slimpack/core/timed_programs.hpp>
#include <slimpack/costs/price.hpp>
#include <slimpack/schedules/timed.hpp>
#include <slimpack/solvers/assign.hpp>
#include <slimpack/solvers/detail/fill.hpp>
#include <slimpack/solvers/detail/order_search.hpp>
#include <slimpack/solvers/detail/pack_moves.hpp>
#include <slimpack/solvers/detail/pack_size_curve.hpp>
#include <slimpack/solvers/detail/splitmix.hpp>
#include <slimpack/solvers/detail/whole_packs.hpp>
#include <slimpack/solvers/pack_sizes.hpp>
#include <slimpack/solvers/search_budget.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Phase 2 on one replica: an evolution strategy over pack sizes and the order of sequences, then moves of single packs,
/// each candidate filled, priced, scheduled and simulated. Works on local sequence ids (0, 1, ...) and translates its
/// answer.
/// Law       with two candidates or more, never slower than the whole packs of solvers::megatron on the same schedule
///           that the slicer allows, unless they are more than the quickest search could simulate
template <class Slicer, class Cost, class Schedule>
class local_search {
 public:
  struct sizes {
    solvers::pack_sizes forward;
    solvers::pack_sizes backward;
  };

  local_search(std::span<const sequence> group, const problem& batch, const Slicer& slicer, const Cost& cost,
               const Schedule& schedule, std::span<const memory_rates> rates)
      : group_(group), batch_(batch), slicer_(slicer), cost_(cost), schedule_(schedule),
        rates_(rates.begin(), rates.end()) {
    for (const sequence& s : group) rising_.push_back({{static_cast<std::uint32_t>(rising_.size())}, s.length});
    std::stable_sort(rising_.begin(), rising_.end(),
                     [](const sequence& a, const sequence& b) { return a.length < b.length; });
    if (!group.empty()) measure();
  }

  /// The best of the candidates that the budget allows, and at least the first.
  result<replica_solution> best(const sizes& start, solvers::search_budget budget) {
    if (group_.empty()) return replica_solution{{}, {}, std::vector<program>(stages())};
    budget_ = until_ = budget;
    result<seconds> first = consider({.sizes = start, .quantum = batch_.shape.quantum});
    if (!first) first = shrink(start, std::move(first).error());
    if (!first) return std::move(first).error();
    const std::uint64_t settling = nodes_for_order();
    budget_.nodes -= settling;
    until_ = budget_;
    // Some steps that the strategy would take long to find. Where packs cost more than their slices tell, or are cut up
    // among chunks, they had better be of one size; and where times do not add up, fewer cuts may be faster.
    const bool chunked = batch_.shape.chunks > 1;
    const bool cuts_cost = cutting_costs();
    if (prices_packs || chunked) consider_even(batch_.shape.quantum);
    if (cuts_cost || chunked) consider_even(longest_supported);
    if (cuts_cost)
      for (const tokens coarse : {batch_.shape.quantum * 8, batch_.shape.quantum * 64, longest_supported})
        vary([&](candidate& c) { c.quantum = std::min(coarse, longest_supported); });
    vary([](candidate& c) { c.sizes.backward.steady *= 1.6; });
    vary([](candidate& c) { c.front = 1; });
    evolve();
    if (budget.candidates > 1) consider_whole();
    until_ = {nodes_ + budget.nodes / moving, std::numeric_limits<std::uint64_t>::max()};
    move();
    settle(settling);
    return translated();
  }

 private:
  struct candidate {
    local_search::sizes sizes;
    double front{0.23};    ///< share of the sequences that run before the longest, shortest first; the others after it
    double crowding{0.3};  ///< a sequence of a greater part of the room leaves others short of it at its turn
    tokens quantum;        ///< sequences are cut at its multiples
  };

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
    candidate next = *best_;
    change(next);
    static_cast<void>(consider(next));
  }

  /// Tries the packs of solvers::megatron, and be it beyond the budget, unless the slicer insists on cuts, they are more
  /// than the quickest search could simulate, or they are surely too slow: a stage runs them all, and the longest
  /// sequence, which is what a pack may hold and so has one of its own, passes every stage there and back.
  void consider_whole() {
    if (batch_.stop.stop_requested()) return;
    const sequence& longest = rising_.back();
    const slice alone{longest.id, {0}, longest.length};
    const cut_budget all{{std::numeric_limits<double>::infinity()}, cap(), batch_.shape.quantum, part_, true};
    if (slicer_.next(longest, {0}, pass::forward, all, cost_) != alone) return;
    const seconds limit = makespan_ * (1 + 1e-9);  // sums in another order are rounded otherwise
    seconds chain{};
    for (const pass p : passes)
      for (int part = 0; part < batch_.shape.parts(); ++part) chain += pack_time(cost_, std::span(&alone, 1), p, part);
    if (chain > limit) return;
    partition packs = symmetric(first_fit_decreasing(rising_, longest.length));
    if (static_cast<double>(packs.forward.size()) > packs_within(solvers::search_budget::fast().nodes)) return;
    seconds busy{};
    for (const pass p : passes)
      for (int part = part_ % batch_.shape.stages; part < batch_.shape.parts(); part += batch_.shape.stages)
        for (std::size_t i = 0; i < packs.forward.size(); ++i) busy += pack_time(cost_, packs.forward[i], p, part);
    if (busy <= limit) static_cast<void>(score(std::move(packs)));
  }

  /// Tries packs of about equal work, of the size that takes each pass the least: M packs of time c on a part occupy a
  /// stage of k chunks for k M c, and p - 1 of them and of their messages pass before the last stage has its first, or
  /// the first its last. Less ramps, the two passes end no sooner, so nothing is tried where the best has taken less.
  void consider_even(tokens quantum) {
    if (spent()) return;
    candidate next{.sizes = {}, .crowding = 1, .quantum = quantum};
    arrange(next.front);
    double both = 0;
    for (const pass p : passes) {
      const work& all = work_[p == pass::backward];
      solvers::pack_sizes& ratios = p == pass::backward ? next.sizes.backward : next.sizes.forward;
      double least = std::numeric_limits<double>::infinity();
      double chosen = 0;
      // From all work, or as much as a stage has room for beside p packs on their way, down to well below the best.
      const double quanta = room_ / static_cast<double>(batch_.shape.quantum.value) / (batch_.shape.stages + 1);
      for (double size = std::min(all.total, quanta * all.grain); size > chosen / 4; size *= 0.7) {
        ratios.steady = size / (share_ * all.grain);
        ratios.ramp_least = size / all.grain;
        micropacks packs;
        if (!fill_pass(packs, p, next)) return;
        nodes_ += packs.slices().size();
        double sum = 0;
        for (std::size_t i = 0; i < packs.size(); ++i) sum += pack_time(cost_, packs[i], p, part_).value;
        const auto count = static_cast<double>(packs.size());
        double time = sum * (batch_.shape.chunks + (batch_.shape.stages - 1) / count);
        const tokens mean{static_cast<std::int64_t>(tokens_ / count)};
        for (int r = 1; r < batch_.shape.stages; ++r)
          time += message_time(cost_, mean, p, p == pass::forward ? r - 1 : r).value;
        if (time < least) least = time, chosen = size;
      }
      ratios.steady = chosen / (share_ * all.grain);
      ratios.ramp_least = chosen / all.grain;
      both += least;
    }
    const seconds before = of_best_;
    if (both < before.value) static_cast<void>(consider(next));
    if (of_best_ == before) return;
    vary([](candidate& c) { c.sizes.forward.ramp_least *= 0.3, c.sizes.backward.ramp_least *= 0.3; });
    vary([](candidate& c) { c.crowding = 0.3; });
  }

  /// Whether the longest sequence may take less time uncut than its cuts tell.
  [[nodiscard]] bool cutting_costs() const {
    const sequence& longest = rising_.back();
    const slice whole{longest.id, {0}, longest.length};
    return std::any_of(std::begin(passes), std::end(passes), [&](pass p) {
      return least_time(cost_, whole, p, part_) < cost_.time(whole, p, part_);
    });
  }

  /// What candidates share: the work of the batch, of a quantum, and what memory leaves room for.
  void measure() {
    part_ = solvers::busiest_part(cost_, rising_, batch_.shape.parts());
    const double longest = static_cast<double>(rising_.back().length.value);
    const double quantum = static_cast<double>(batch_.shape.quantum.value);
    const slice least{{}, {0}, batch_.shape.quantum};
    for (const sequence& s : rising_) tokens_ += static_cast<double>(s.length.value);
    for (const pass p : passes) {
      work& w = work_[p == pass::backward];
      for (const sequence& s : rising_) w.total += time_of(s, p);
      w.grain = cost_.time(least, p, part_).value;
      w.overhead = pack_time(cost_, std::span(&least, 1), p, part_).value - w.grain;
    }
    if (batch_.shape.memory)
      for (const memory_rates& r : rates_)
        room_ = std::min(room_, (batch_.shape.memory->amount - r.fixed) / (r.live_token + r.gradient_token));
    room_ = std::max(room_, longest);
    // Without a limit, the same shapes as with room for the longest sequence twice, or for an even share; and packs of
    // 50 times their overhead, or short sequences would drown in it.
    const work& forward = work_[0];
    const double quiet =
        forward.grain > 0 ? 50 * forward.overhead / forward.grain * quantum * batch_.shape.stages : 0;
    wanted_ = std::min(room_, std::max({2 * longest, tokens_ / batch_.shape.stages, quiet}));
    share_ = wanted_ / quantum / (batch_.shape.stages + 1);
  }

  [[nodiscard]] double time_of(const sequence& s, pass p) const {
    return cost_.time({s.id, {0}, s.length}, p, part_).value;
  }

  /// Short sequences at both ends, the longest between.
  void arrange(double front) {
    order_.clear();
    for (const bool before : {true, false}) {
      double share = 0.5;  // of a sequence, due to the front
      const std::size_t begin = order_.size();
      for (const sequence& s : rising_) {
        share += front;
        const bool due = share >= 1;
        if (due) share -= 1;
        if (due == before) order_.push_back(s);
      }
      if (!before) std::reverse(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end());
    }
  }

  /// The makespan of a candidate, which is kept if it is the best so far, or why it has no plan.
  result<seconds> consider(const candidate& c) {
    ++candidates_;
    arrange(c.front);
    partition packs;
    for (const pass p : passes)
      if (result<void> filled = fill_pass(p == pass::forward ? packs.forward : packs.backward, p, c); !filled)
        return std::move(filled).error();
    const bool first = !best_;
    result<seconds> time = score(std::move(packs), first);
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

  result<void> fill_pass(micropacks& packs, pass p, const candidate& c) const {
    const bool backward = p == pass::backward;
    const work& all = work_[backward];
    const solvers::pack_sizes& ratios = backward ? c.sizes.backward : c.sizes.forward;
    const bool flowing = ratios.steady * share_ * all.grain > 0;
    // A candidate of more packs than the quickest search can simulate would take too long.
    const double packs_at_most = packs_within(std::max(budget_.nodes, solvers::search_budget::fast().nodes));
    pack_size_curve size(ratios, {.total = all.total,
                                  .share = share_ * all.grain,
                                  .grain = all.grain,
                                  .overhead = all.overhead,
                                  .depth = batch_.shape.parts() - 1.0,
                                  .least = flowing ? all.total / packs_at_most : 0});
    double before = 0;
    for (const sequence& s : order_) {
      const double time = time_of(s, p);
      const auto length = static_cast<double>(s.length.value);
      if (length > c.crowding * wanted_) size.turn(backward ? before : before + time, 1 - length / wanted_);
      before += time;
    }
    // Without a size, because the least memory is wanted or because nothing takes time, no two share a pack.
    const auto apart = [&](const sequence& s) { return !flowing || static_cast<double>(s.length.value) > room_ / 2; };
    return fill(packs, order_, p, slicer_, cost_, {{}, cap(), c.quantum, part_, true}, size, apart);
  }

  /// Packs of a pass that so many nodes simulate.
  [[nodiscard]] double packs_within(std::uint64_t nodes) const {
    return static_cast<double>(nodes) / (6.0 * batch_.shape.parts());
  }

  [[nodiscard]] tokens cap() const {
    return {room_ < 9e15 ? static_cast<std::int64_t>(room_) : std::numeric_limits<std::int64_t>::max()};
  }

  /// Nothing fits: smaller packs need less memory beside the longest sequence. Packs of one slice need the least, since
  /// then, with one chunk, no sequence waits for another: whatever fits alone fits.
  /// No sequence is cut into more than 2^16 slices: more take gigabytes, to save a few tokens of millions.
  result<seconds> shrink(const sizes& start, result<seconds> made) {
    const std::int64_t quanta = rising_.back().length.value / batch_.shape.quantum.value;
    const tokens quantum = batch_.shape.quantum * (1 + quanta / (1 << 16));
    for (double share = 0.5; !made && made.error().code == errc::out_of_memory; share *= 0.25) {
      const bool least = share * share_ < 0.01;  // short sequences share packs of less than a quantum
      candidate small{.sizes = start, .front = 1, .quantum = quantum};
      for (solvers::pack_sizes* p : {&small.sizes.forward, &small.sizes.backward})
        for (double* size : {&p->steady, &p->turn_least, &p->before, &p->after}) *size *= least ? 0 : share;
      made = consider(small);
      if (least) break;
    }
    return made;
  }

  /// A long search begins anew a few times, since a walk ends where chance led it, and goes on from the best.
  void evolve() {
    if (spent()) return;
    splitmix random;
    const candidate first = *best_;
    const seconds of_first = of_best_;
    const solvers::search_budget begun{nodes_, candidates_};
    const std::uint64_t starts = std::min<std::uint64_t>(4, budget_.candidates / 5000);
    for (std::uint64_t i = 1; i <= starts; ++i) {  // of the budget each takes 3 parts of 20
      until_ = {begun.nodes + (budget_.nodes - begun.nodes) / 20 * 3 * i,
                begun.candidates + (budget_.candidates - begun.candidates) / 20 * 3 * i};
      walk(first, of_first, 0.3, random);
    }
    until_ = budget_;
    walk(*best_, of_best_, starts > 0 ? 0.1 : 0.3, random);
  }

  /// An evolution strategy of one parent and one child: a child differs in up to three of the parent's ratios, by
  /// factors that grow with success and shrink with failure; what has helped is done again.
  /// Source    (1+1)-ES with step size control (I. Rechenberg, 1973), on random subspaces; derived
  void walk(candidate parent, seconds of_parent, double step, splitmix& random) {
    constexpr std::size_t ratios = 2 * solvers::pack_sizes::all().size();
    // No exp: libraries choose among implementations by processor, and plans must not.
    const auto factor = [](double up) { return up < 0 ? 1 / (1 - up) : 1 + up; };
    std::array<double, ratios + 1> change{};  // of ratios, what factor takes; of the front, a difference
    for (bool better = false; !spent();) {
      candidate child = parent;
      if (!better) {
        change = {};
        for (int some = 1 + static_cast<int>(3 * random.uniform()); some > 0; --some) {
          const auto which = static_cast<std::size_t>(random.uniform() * static_cast<double>(change.size()));
          change[which] = (2 * random.uniform() - 1) * step * (which == ratios ? 0.3 : 1.0);
        }
        if (random.uniform() < 0.05) child.crowding = 0.1 + 0.6 * random.uniform();
      }
      std::size_t at = 0;
      for (solvers::pack_sizes sizes::*side : {&sizes::forward, &sizes::backward})
        for (double solvers::pack_sizes::*ratio : solvers::pack_sizes::all())
          child.sizes.*side.*ratio *= factor(change[at++]);
      child.front = std::clamp(child.front + change[ratios], 0.0, 1.0);
      const bool again = better;
      const result<seconds> time = consider(child);
      better = time && time.value() < of_parent;
      if (better) {
        parent = child;
        of_parent = time.value();
        step = std::min(0.6, step * 1.3);
      } else if (!again) {
        step = std::max(0.05, step * 0.975);
      }
    }
  }

  /// Changes single packs of the best so far. Where packs are few that finds what no ratios describe; it is not counted
  /// in plans, which cost next to nothing there.
  /// Source    (1+1) evolutionary algorithm: random moves, one plan after the other, the faster kept
  void move() {
    std::vector<sequence> own(rising_.size());
    for (const sequence& s : rising_) own[s.id.value] = s;
    const pack_moves moves(std::span<const sequence>(own), slicer_, cost_,
                           {{}, cap(), batch_.shape.quantum, part_, true});
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
    if constexpr (!starts_orders<Schedule>) return 0;
    const std::size_t packs = answer_.partition.forward.size() + answer_.partition.backward.size();
    const std::uint64_t nodes = budget_.nodes / 2;
    return nodes < 16 * packs * stages() ? 0 : nodes;
  }

  /// Improves the order of the best, and its packs in that order.
  void settle(std::uint64_t nodes) {
    if constexpr (starts_orders<Schedule>) {
      if (nodes == 0) return;
      const workload priced = price(answer_.partition, cost_, batch_.shape, rates_);
      if (!priced.forward.kept.empty()) return;  // it depends on common cuts of both passes, which changes would move
      std::vector<sequence> own(rising_.size());
      for (const sequence& s : rising_) own[s.id.value] = s;
      order_search search(answer_.partition, answer_.programs, priced, std::span<const sequence>(own), slicer_, cost_,
                          {{}, cap(), batch_.shape.quantum, part_, true});
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

  static constexpr pass passes[] = {pass::forward, pass::backward};

  struct work {
    double total{};     // seconds
    double grain{};     // of a sequence's first quantum: sizes are counted in it
    double overhead{};  // of a pack of a quantum, beside the slice's own: launches, reading weights
  };

  std::span<const sequence> group_;
  const problem& batch_;
  const Slicer& slicer_;
  const Cost& cost_;
  const Schedule& schedule_;
  std::vector<memory_rates> rates_;
  std::vector<sequence> rising_;  // the group under local ids, shortest first

  double tokens_{};  // of the batch
  int part_{};    // the busiest
  work work_[2];  // on it, by pass
  double room_{std::numeric_limits<double>::infinity()};  // tokens that the fullest stage can hold
  double wanted_{};  // tokens of it that packs are sized for
  double share_{};   // quanta of a stage's share of them

  solvers::search_budget budget_{};  // of the whole search
  solvers::search_budget until_{};   // of the part of it that is under way
  std::uint64_t nodes_{};
  std::uint64_t last_{};  // nodes of the last candidate, about as many as the next will have
  std::uint64_t candidates_{};
  std::vector<sequence> order_;
  std::optional<candidate> best_;  // of pack sizes; whole packs and moved ones are none
  seconds of_best_{};
  seconds makespan_{};  // of the answer
  replica_solution answer_;
};

}  // namespace slimpack::detail

#endif
