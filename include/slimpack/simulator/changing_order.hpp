#ifndef SLIMPACK_SIMULATOR_CHANGING_ORDER_HPP
#define SLIMPACK_SIMULATOR_CHANGING_ORDER_HPP

#include <slimpack/core/assert.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/workload.hpp>
#include <slimpack/simulator/memory.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::simulator {

/// What the packs at neighbouring places of a pass become: one pack fewer, or as many.
/// Shapes    places: pack numbers, in run order; n of them are left, the first n of a forward change and the last n of
///           a backward one; time, message: [n * stages]; the rest: n each
struct pack_change {
  slimpack::pass pass{};
  std::vector<std::uint32_t> places;
  std::vector<double> time;                    ///< seconds, per-pack overhead included
  std::vector<double> message;                 ///< seconds, 0 where none follows
  std::vector<std::int64_t> size;              ///< tokens
  std::vector<std::int64_t> needs;             ///< backward: forward tokens, in run order, that must have run before
  std::vector<std::int64_t> gradient_running;  ///< backward: as in workload
  std::vector<std::int64_t> gradient_after;    ///< backward: the same once the pack has run
};

/// One replica's programs under small changes: two neighbours of a stage change places, or the borders of neighbouring
/// packs shift. A change stays if the step takes no longer and memory suffices, which only what it touches tells.
///
/// Timing    An instruction's head is when it starts; its tail the longest way from its start to the end of the step.
///           A swap alters paths through its two instructions alone: their new heads, and the tails of what follows them,
///           tell the longest of those. A change of packs alters no head before its first instruction, in a topological
///           order, and no tail after its last: heads are followed from the first to the last, and the longest path is
///           the most of head + duration (+ message) + tail over the edges that cross the order there.
/// Sweep     Changes are tried from the front of the step to its end: heads are brought up to date on the way, and tails
///           behind are as they were when the sweep began. `begin` starts another.
/// Memory    What a stage has room for while an instruction runs, from the same account as stage_memory.
/// Source    heads and tails of disjunctive graphs (J. Carlier and E. Pinson, 1989), on moves that leave the others'
///           order alone (E. Taillard, 1994); the cut makes them exact; derived
/// Requires  one chunk, no weight gradients apart, nothing kept beside tokens; programs that the task graph takes
/// Errors    none
class changing_order {
 public:
  using node = std::uint32_t;

  /// Shapes    tokens: per forward pack, above 0; needs: per backward pack, how many of those tokens, in run order, must
  ///           have run before it
  /// Complexity O(instructions log instructions)
  changing_order(const workload& work, std::span<const program> programs, std::span<const std::int64_t> tokens,
                 std::vector<std::int64_t> needs)
      : stages_(programs.size()), rates_(work.rates), needs_(std::move(needs)) {
    SLIMPACK_ASSERT(work.shape.chunks == 1 && work.weight.apart.empty() && work.forward.kept.empty(),
                    "orders change for one chunk, whole backwards and tokens alone");
    base_[1] = static_cast<node>(work.forward.size() * stages_);
    nodes_.resize(base_[1] + work.backward.size() * stages_);
    for (const pass p : {pass::forward, pass::backward}) gather(work, p);
    for (std::size_t i = 0; i < tokens.size(); ++i) packs_[0][i].tokens = tokens[i];
    gradient_running_ = work.gradient_running;
    gradient_after_.assign(work.gradient_before.begin() + 1, work.gradient_before.end());
    link(work, programs);
    number();
    begin();
  }

  [[nodiscard]] seconds makespan() const noexcept { return {makespan_}; }
  /// Instructions whose times have been computed: the effort so far.
  [[nodiscard]] std::uint64_t visited() const noexcept { return visited_; }

  /// Starts a sweep.            Complexity  O(instructions)
  void begin() {
    std::erase_if(order_, [this](node n) { return nodes_[n].gone; });
    for (node i = 0; i < order_.size(); ++i) nodes_[order_[i]].rank = i;
    makespan_ = 0;
    for (std::size_t i = order_.size(); i-- > 0;) {
      look_ahead(order_[i]);
      makespan_ = std::max(makespan_, nodes_[order_[i]].tail);
    }
    std::int64_t before = 0;
    for (node pack = 0; pack < packs_[0].size(); ++pack) {
      packs_[0][pack].before = before;
      if (!nodes_[pack * stages_].gone) before += packs_[0][pack].tokens;
    }
    up_to_date_ = passed_ = 0;
    front_ = {std::vector<node>(stages_, none), {std::vector<node>(stages_, none), std::vector<node>(stages_, none)}};
    visited_ += order_.size();
  }

  /// The instructions in a topological order, which swaps change.
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  [[nodiscard]] instruction operator[](std::size_t rank) const { return instruction_of(order_[rank]); }

  [[nodiscard]] std::size_t stage(std::size_t rank) const { return nodes_[order_[rank]].stage; }

  /// The next pack of a pass; none past the last.
  [[nodiscard]] node next_pack(pass p, node pack) const { return packs_[p == pass::backward][pack].next; }
  [[nodiscard]] bool has(pass p, node pack) const { return !nodes_[base_[p == pass::backward] + pack * stages_].gone; }
  static constexpr node none = std::numeric_limits<node>::max();

  /// Lets the instruction at `rank` change places with the one that follows it on its stage, if that is of the other pass.
  /// Returns   whether the change stays            Requires  no smaller rank was changed in this sweep
  /// Complexity O(1); O(instructions that run meanwhile) if it stays
  bool swap(std::size_t rank) {
    const node x = order_[rank];
    const node y = nodes_[x].next;
    if (y == none || nodes_[x].backward == nodes_[y].backward) return false;
    const node from = fed_from(y);  // and to, which x feeds, run on one stage: y waits for x if they do
    const node to = fed_by(x);
    if (to != none && from != none && nodes_[to].rank < nodes_[from].rank) return false;
    const std::size_t stage = nodes_[x].stage;
    const bool backward_first = nodes_[x].backward;
    if (!backward_first && to == none && needs_[nodes_[y].pack] > packs_[0][nodes_[x].pack].before) return false;
    ++visited_;
    const node end = nodes_[y].rank;
    bring_up_to_date(end);
    const double y_ends = std::max(end_of(nodes_[x].previous), arrival(from)) + nodes_[y].duration;
    const double x_ends = std::max(y_ends, arrival(fed_from(x))) + nodes_[x].duration;
    const double longest = std::max(y_ends + tail_fed(y), x_ends + std::max(tail_of(nodes_[y].next), tail_fed(x)));
    if (longest > limit()) return false;
    // A forward that runs before a backward finds what this releases held, and the other way about.
    task& forward = nodes_[backward_first ? y : x];
    task& backward = nodes_[backward_first ? x : y];
    const double of_backward = held_by_backward(stage, backward.pack);
    const double of_forward = rates_[stage].live_token * static_cast<double>(packs_[0][forward.pack].size);
    if (backward_first && !(has_room(forward, of_backward) && has_room(backward, of_forward))) return false;
    forward.room -= backward_first ? of_backward : -of_backward;
    backward.room -= backward_first ? of_forward : -of_forward;
    pass_by(static_cast<node>(rank));
    reorder(x, y);
    exchange(x, y);
    static_cast<void>(stays(static_cast<node>(rank), end, std::numeric_limits<double>::infinity()));  // tells how long it is
    settle(static_cast<node>(rank), end);
    return true;
  }

  /// Changes neighbouring packs.
  /// Returns   whether the change stays            Requires  no place earlier in the step was changed in this sweep
  /// Complexity O(instructions that run meanwhile)
  bool recut(const pack_change& change) {
    const auto b = static_cast<std::size_t>(change.pass == pass::backward);
    const std::size_t all = change.places.size();
    const std::size_t left = change.size.size();
    const std::size_t first = b != 0 ? all - left : 0;  // of the places that are left
    add_up(change, first);
    for (std::size_t stage = 0; stage < stages_; ++stage)
      if (!each_held(change, first, stage, [this](task& t, double more) { return has_room(t, more); })) return false;
    if (!in_order(change, first)) return false;
    const std::size_t from = b != 0 ? stages_ - 1 : 0;
    const node begin = nodes_[at(b, change.places.front(), from)].rank;
    const node end = nodes_[at(b, change.places.back(), stages_ - 1 - from)].rank;
    bring_up_to_date(begin);
    pass_by(begin);
    const std::size_t drop = b != 0 ? 0 : left;  // the first place dropped
    const double saved = time_saved(change, first);
    exchange_times(change, first);
    for (std::size_t i = drop; i < drop + all - left; ++i) unlink(b, change.places[i]);
    if (stays(begin, end, saved)) {
      for (std::size_t stage = 0; stage < stages_; ++stage)
        each_held(change, first, stage, [](task& t, double more) { t.room -= more; return true; });
      settle(change, first);
      settle(begin, end);
      return true;
    }
    for (std::size_t i = drop + all - left; i-- > drop;) relink(b, change.places[i]);
    exchange_times(change, first);
    up_to_date_ = begin;
    return false;
  }

  /// The programs, packs numbered by those that are left.            Complexity  O(instructions)
  [[nodiscard]] std::vector<program> programs() const {
    std::array<std::vector<std::uint32_t>, 2> name;
    for (const std::size_t b : {0, 1}) {
      std::uint32_t count = 0;
      for (node pack = 0; pack < packs_[b].size(); ++pack) {
        name[b].push_back(count);
        count += !nodes_[at(b, pack, 0)].gone;
      }
    }
    std::vector<program> made(stages_);
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      for (node n = first_[stage]; n != none; n = nodes_[n].next) {
        instruction i = instruction_of(n);
        i.pack.value = name[is_backward(n)][i.pack.value];
        made[stage].push_back(i);
      }
    }
    return made;
  }

 private:
  struct task {
    double duration{}, message{};     // the message that leaves it
    double head{}, tail{};
    double room{};                    // what the stage could hold more while it runs
    node previous{none}, next{none};  // on its stage
    node rank{};
    node pack{};
    node stage{};
    bool backward{}, gone{};
  };
  struct state {
    std::int64_t size{};  // tokens, as memory counts them
    std::int64_t tokens{}, before{};  // forward: those that run, and run earlier
    node previous{none}, next{none};
  };
  /// How far a part of the order has come: the last instruction of each stage, and its last pack of each pass.
  struct front {
    std::vector<node> last;
    std::array<std::vector<node>, 2> packs;
  };

  [[nodiscard]] node at(std::size_t b, node pack, std::size_t stage) const {
    return static_cast<node>(base_[b] + pack * stages_ + stage);
  }
  [[nodiscard]] bool is_backward(node n) const { return nodes_[n].backward; }
  [[nodiscard]] std::size_t stage_of(node n) const { return nodes_[n].stage; }
  [[nodiscard]] node pack_of(node n) const { return nodes_[n].pack; }
  [[nodiscard]] instruction instruction_of(node n) const {
    return {is_backward(n) ? pass::backward : pass::forward, {pack_of(n)}};
  }
  /// Whose message it waits for, and who waits for its own.
  [[nodiscard]] node fed_from(node n) const {
    const std::size_t stage = stage_of(n);
    if (is_backward(n)) return stage + 1 == stages_ ? none : n + 1;
    return stage == 0 ? none : n - 1;
  }
  [[nodiscard]] node fed_by(node n) const {
    const std::size_t stage = stage_of(n);
    if (is_backward(n)) return stage == 0 ? none : n - 1;
    return stage + 1 == stages_ ? none : n + 1;
  }
  [[nodiscard]] bool has_room(const task& t, double more) const { return more <= 0 || more + margin_ <= t.room; }
  [[nodiscard]] double end_of(node n) const { return n == none ? 0 : nodes_[n].head + nodes_[n].duration; }

  void gather(const workload& work, pass p) {
    const auto b = static_cast<std::size_t>(p == pass::backward);
    const pass_timing& timing = work.of(p);
    for (std::size_t cell = 0; cell < timing.time.size(); ++cell) {
      task& t = nodes_[base_[b] + cell];
      t.duration = timing.time[cell].value;
      t.message = timing.message[cell].value;
      t.pack = static_cast<node>(cell / stages_);
      t.stage = static_cast<node>(cell % stages_);
      t.backward = p == pass::backward;
    }
    for (std::size_t i = 0; i < timing.size(); ++i)
      packs_[b].push_back({timing.before[i + 1] - timing.before[i], 0, 0, i == 0 ? none : static_cast<node>(i - 1),
                           i + 1 == timing.size() ? none : static_cast<node>(i + 1)});
  }

  void link(const workload& work, std::span<const program> programs) {
    double limit = std::numeric_limits<double>::infinity();
    if (work.shape.memory) limit = work.shape.memory->amount;
    // Sums of whole numbers are exact; others stay so far from the limit that no rounding of theirs exceeds it.
    const auto whole = [](double rate) { return std::floor(rate) == rate; };
    for (const memory_rates& r : rates_)
      if (!(whole(r.fixed) && whole(r.live_token) && whole(r.gradient_token) && whole(r.forward_token) && whole(r.backward_token)) &&
          work.shape.memory)
        margin_ = 1e-9 * limit;
    first_.assign(stages_, none);
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      node last = none;
      follow_memory(work, programs[stage], static_cast<int>(stage), [&](const instruction& i, double held) {
        const node n = at(i.pass == pass::backward, i.pack.value, stage);
        nodes_[n].room = limit - held;
        nodes_[n].previous = last;
        (last == none ? first_[stage] : nodes_[last].next) = n;
        last = n;
      });
    }
  }

  /// A topological order by time, so that what runs meanwhile is near.
  void number() {
    std::vector<node> next = first_;
    for (bool more = true; more;) {
      more = false;
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        for (node n = next[stage]; n != none; n = next[stage] = nodes_[n].next, more = true) {
          if (const node from = fed_from(n); from != none && nodes_[from].rank == 0) break;
          follow(n);
          order_.push_back(n);
          nodes_[n].rank = static_cast<node>(order_.size());  // for now: above 0 once it has its turn
        }
      }
    }
    std::sort(order_.begin(), order_.end(), [this](node x, node y) {
      return std::pair(nodes_[x].head, nodes_[x].rank) < std::pair(nodes_[y].head, nodes_[y].rank);
    });
  }

  [[nodiscard]] double limit() const { return makespan_ * (1 + 1e-12); }  // sums in another order round differently
  [[nodiscard]] double arrival(node from) const { return from == none ? 0 : end_of(from) + nodes_[from].message; }
  [[nodiscard]] double tail_of(node n) const { return n == none ? 0 : nodes_[n].tail; }
  /// The longest way from the end of an instruction over its message.
  [[nodiscard]] double tail_fed(node n) const {
    const node to = fed_by(n);
    return to == none ? 0 : nodes_[n].message + nodes_[to].tail;
  }

  /// Computes the head.
  void follow(node n) {
    nodes_[n].head = std::max(end_of(nodes_[n].previous), arrival(fed_from(n)));
    ++visited_;
  }
  /// Computes the tail.
  void look_ahead(node n) {
    nodes_[n].tail = nodes_[n].duration + std::max(tail_of(nodes_[n].next), tail_fed(n));
    ++visited_;
  }
  /// Computes heads up to this rank.
  void bring_up_to_date(node rank) {
    for (; up_to_date_ <= rank; ++up_to_date_)
      if (!nodes_[order_[up_to_date_]].gone) follow(order_[up_to_date_]);
  }
  /// Heads and tails from begin to end, after a change there that stays.
  void settle(node begin, node end) {
    for (node i = end + 1; i-- > begin;)
      if (!nodes_[order_[i]].gone) look_ahead(order_[i]);
    up_to_date_ = end + 1;
  }
  void pass_by(front& of, node n) const {
    of.last[nodes_[n].stage] = n;
    of.packs[nodes_[n].backward][nodes_[n].stage] = nodes_[n].pack;
  }
  /// Brings the front to this rank.
  void pass_by(node rank) {
    for (; passed_ < rank; ++passed_)
      if (!nodes_[order_[passed_]].gone) pass_by(front_, order_[passed_]);
  }

  /// Whether the step takes no longer with packs changed between these ranks; if so, it is as long as found.
  /// saved: by how much tails between may have become shorter, about; those that are longer still are given up early
  bool stays(node begin, node end, double saved) {
    ahead_ = front_;
    const double most = limit();
    for (node i = begin; i <= end; ++i) {
      const node n = order_[i];
      if (nodes_[n].gone) continue;
      follow(n);
      if (nodes_[n].head + nodes_[n].tail > most + saved) return false;
      pass_by(ahead_, n);
    }
    double longest = 0;
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      const node last = ahead_.last[stage];
      longest = std::max(longest, end_of(last) + tail_of(last == none ? first_[stage] : nodes_[last].next));
    }
    for (const std::size_t b : {0, 1}) {
      for (std::size_t from = 0; from < stages_ && longest <= most; ++from) {
        if (b != 0 ? from == 0 : from + 1 == stages_) continue;
        const std::size_t to = b != 0 ? from - 1 : from + 1;
        for (node p = ahead_.packs[b][from]; p != none && p != ahead_.packs[b][to]; p = packs_[b][p].previous)
          longest = std::max(longest, arrival(at(b, p, from)) + nodes_[at(b, p, to)].tail);
      }
    }
    if (longest > most) return false;
    makespan_ = std::min(makespan_, longest);
    return true;
  }

  /// On a path over all stages: what packs that become shorter save, or all of them by being fewer.
  [[nodiscard]] double time_saved(const pack_change& change, std::size_t first) const {
    const auto b = static_cast<std::size_t>(change.pass == pass::backward);
    double most = 0;
    double sum = 0;
    for (std::size_t i = 0; i < change.places.size(); ++i) {
      double less = nodes_[at(b, change.places[i], 0)].duration;
      const bool left = i >= first && i < first + change.size.size();
      if (left) less -= change.time[(i - first) * stages_];
      if (left) most = std::max(most, less);
      sum += less;
    }
    return std::max(most, sum) * static_cast<double>(stages_);
  }

  /// The order from x to y with x behind all that does not wait for it.
  void reorder(node x, node y) {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(nodes_[x].rank);
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(nodes_[y].rank) + 1;
    waiting_.assign(1, x);
    marked_.resize(nodes_.size());
    marked_[x] = true;
    node rank = nodes_[x].rank;
    for (auto i = begin + 1; i != end; ++i) {
      const node n = *i;
      const node from = fed_from(n);
      const node previous = n == y ? none : nodes_[n].previous;
      marked_[n] = (from != none && marked_[from]) || (previous != none && marked_[previous]);
      if (marked_[n])
        waiting_.push_back(n);
      else
        nodes_[n].rank = rank, order_[rank++] = n;
    }
    for (const node n : waiting_) marked_[n] = false, nodes_[n].rank = rank, order_[rank++] = n;
  }

  /// x and the y that follows it on its stage change places.
  void exchange(node x, node y) {
    const node previous = nodes_[x].previous;
    const node next = nodes_[y].next;
    (previous == none ? first_[stage_of(x)] : nodes_[previous].next) = y;
    nodes_[y].previous = previous;
    nodes_[y].next = x;
    nodes_[x].previous = y;
    nodes_[x].next = next;
    if (next != none) nodes_[next].previous = x;
  }

  void unlink(std::size_t b, node dropped) {
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      task& t = nodes_[at(b, dropped, stage)];
      t.gone = true;
      (t.previous == none ? first_[stage] : nodes_[t.previous].next) = t.next;
      if (t.next != none) nodes_[t.next].previous = t.previous;
    }
    const state& p = packs_[b][dropped];
    if (p.previous != none) packs_[b][p.previous].next = p.next;
    if (p.next != none) packs_[b][p.next].previous = p.previous;
  }
  void relink(std::size_t b, node dropped) {
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      const node n = at(b, dropped, stage);
      task& t = nodes_[n];
      t.gone = false;
      (t.previous == none ? first_[stage] : nodes_[t.previous].next) = n;
      if (t.next != none) nodes_[t.next].previous = n;
    }
    const state& p = packs_[b][dropped];
    if (p.previous != none) packs_[b][p.previous].next = dropped;
    if (p.next != none) packs_[b][p.next].previous = dropped;
  }

  /// Times of the places that are left, there and back.
  void exchange_times(const pack_change& change, std::size_t first) {
    const auto b = static_cast<std::size_t>(change.pass == pass::backward);
    const std::size_t cells = change.time.size();
    const bool there = saved_.empty();
    if (there) saved_.resize(2 * cells);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      task& t = nodes_[at(b, change.places[first + cell / stages_], cell % stages_)];
      if (there) {
        saved_[cell] = std::exchange(t.duration, change.time[cell]);
        saved_[cells + cell] = std::exchange(t.message, change.message[cell]);
      } else {
        t.duration = saved_[cell];
        t.message = saved_[cells + cell];
      }
    }
    if (!there) saved_.clear();
  }

  /// Tokens and gradients after each place, as they are and as they would be.
  void add_up(const pack_change& change, std::size_t first) {
    const auto b = static_cast<std::size_t>(change.pass == pass::backward);
    now_.clear(), then_.clear();
    sums now{}, then{};
    const node previous = packs_[b][change.places.front()].previous;
    if (b != 0 && previous != none) now.gradient = then.gradient = gradient_after_[previous];
    for (std::size_t i = 0; i < change.places.size(); ++i) {
      now.tokens += packs_[b][change.places[i]].size;
      if (b != 0) now.gradient = gradient_after_[change.places[i]];
      if (i >= first && i < first + change.size.size()) {
        then.tokens += change.size[i - first];
        if (b != 0) then.gradient = change.gradient_after[i - first];
      }
      now_.push_back(now), then_.push_back(then);
    }
  }

  /// Visits what a stage holds more while it runs each instruction from the first place to the last, until one says no.
  template <class Visit>
  bool each_held(const pack_change& change, std::size_t first, std::size_t stage, Visit&& visit) {
    const auto b = static_cast<std::size_t>(change.pass == pass::backward);
    const memory_rates& rates = rates_[stage];
    for (std::size_t i = 0; i < change.places.size(); ++i) {
      const node place = at(b, change.places[i], stage);
      if (i >= first && i < first + change.size.size()) {
        const auto running = static_cast<double>(change.size[i - first] - packs_[b][change.places[i]].size);
        double more = 0;
        if (b == 0)
          more = rates.live_token * static_cast<double>(then_[i].tokens - now_[i].tokens) + rates.forward_token * running;
        else
          more = rates.live_token * static_cast<double>(i == 0 ? 0 : now_[i - 1].tokens - then_[i - 1].tokens) +
                 rates.gradient_token * static_cast<double>(change.gradient_running[i - first] - gradient_running_[change.places[i]]) +
                 rates.backward_token * running;
        if (!visit(nodes_[place], more)) return false;
      }
      if (i + 1 == change.places.size()) break;
      const std::int64_t tokens = then_[i].tokens - now_[i].tokens;
      const double more = rates.live_token * static_cast<double>(b == 0 ? tokens : -tokens) +
                          rates.gradient_token * static_cast<double>(then_[i].gradient - now_[i].gradient);
      if (more == 0) continue;
      // A place that was dropped still knows who came after it.
      const node until = nodes_[at(b, change.places[i + 1], stage)].rank;
      for (node n = nodes_[place].next; n != none && nodes_[n].rank < until; n = nodes_[n].next)
        if (!visit(nodes_[n], more)) return false;
    }
    return true;
  }

  /// What a backward releases: its tokens, and gradients, or less than nothing where it leaves gradients behind.
  [[nodiscard]] double held_by_backward(std::size_t stage, node pack) const {
    const node previous = packs_[1][pack].previous;
    const std::int64_t before = previous == none ? 0 : gradient_after_[previous];
    return rates_[stage].live_token * static_cast<double>(packs_[1][pack].size) +
           rates_[stage].gradient_token * static_cast<double>(before - gradient_after_[pack]);
  }

  /// Whether each backward still has all forwards of its sequences before it on the last stage; elsewhere it follows.
  [[nodiscard]] bool in_order(const pack_change& change, std::size_t first) const {
    const std::size_t last = stages_ - 1;
    if (change.pass == pass::forward) {
      const std::int64_t before = packs_[0][change.places.front()].before;
      for (std::size_t i = 0; i + 1 < change.places.size(); ++i) {
        if (then_[i].tokens >= now_[i].tokens) continue;
        const node until = at(0, change.places[i + 1], last);
        for (node n = nodes_[at(0, change.places[i], last)].next; n != until; n = nodes_[n].next)
          if (needs_[pack_of(n)] > before + then_[i].tokens) return false;
      }
      return true;
    }
    for (std::size_t i = 0; i < change.needs.size(); ++i) {
      node n = nodes_[at(1, change.places[first + i], last)].previous;
      while (n != none && is_backward(n)) n = nodes_[n].previous;
      const state* const forward = n == none ? nullptr : &packs_[0][pack_of(n)];
      if (change.needs[i] > (forward == nullptr ? 0 : forward->before + forward->tokens)) return false;
    }
    return true;
  }

  void settle(const pack_change& change, std::size_t first) {
    const auto b = static_cast<std::size_t>(change.pass == pass::backward);
    const std::int64_t before = packs_[b][change.places.front()].before;
    for (std::size_t i = 0; i < change.size.size(); ++i) {
      const node place = change.places[first + i];
      packs_[b][place].size = packs_[b][place].tokens = change.size[i];
      if (b == 0) {
        packs_[b][place].before = before + (i == 0 ? 0 : then_[i - 1].tokens);
      } else {
        needs_[place] = change.needs[i];
        gradient_running_[place] = change.gradient_running[i];
        gradient_after_[place] = change.gradient_after[i];
      }
    }
    saved_.clear();
  }

  struct sums {
    std::int64_t tokens{};
    std::int64_t gradient{};
  };

  std::size_t stages_;
  std::vector<memory_rates> rates_;
  std::array<node, 2> base_{};  // the first node of each pass
  std::vector<task> nodes_;     // [pass][pack][stage]
  std::array<std::vector<state>, 2> packs_;
  std::vector<std::int64_t> needs_;
  std::vector<std::int64_t> gradient_running_;
  std::vector<std::int64_t> gradient_after_;
  std::vector<node> first_;  // per stage
  std::vector<node> order_;
  double makespan_{};
  double margin_{};
  std::uint64_t visited_{};
  node up_to_date_{};  // heads of smaller ranks are
  node passed_{};      // by the front
  front front_;
  // Scratch, kept for its capacity.
  front ahead_;
  std::vector<node> waiting_;
  std::vector<std::uint8_t> marked_;
  std::vector<double> saved_;
  std::vector<sums> now_, then_;
};

}  // namespace slimpack::simulator

#endif
