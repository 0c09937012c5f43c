#ifndef SLIMPACK_SIMULATORS_ORDER_DETAIL_TIMED_ORDER_HPP
#define SLIMPACK_SIMULATORS_ORDER_DETAIL_TIMED_ORDER_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/order/detail/stage_chains.hpp>
#include <slimpack/simulators/order/window_change.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// The instructions of one replica in a topological order, with their times. It tells how long the step takes after a
/// small change of the order, without simulating the whole step again.
///
/// Heads     The head of an instruction is the time at which it starts. Its tail is the length of the longest path from
///           its start to the end of the step.
/// Swap      A swap alters only those paths that go through one of its two instructions. The longest of them follows
///           from the new heads of the two, and from the tails of the instructions that wait for them.
/// Recut     A recut alters no head before its first instruction in the order, and no tail after its last one. So heads
///           are computed anew from the first to the last. Every path through what has changed crosses the order after
///           the last one on some edge, and the longest has, over these edges, the largest head + duration (+ message)
///           + tail.
/// Sweep     A sweep tries changes from the front of the step to its end. On the way it brings heads up to date. The
///           tails of what lies ahead of it are still those from when the sweep began, and they are right, since
///           nothing there has changed. `begin` starts another sweep.
/// Source    heads and tails of disjunctive graphs (J. Carlier and E. Pinson, 1989), on moves that leave the others'
///           order alone (E. Taillard, 1994); the cut makes them exact; derived
/// Requires  what stage_chains does; programs that the task graph takes
/// Errors    none
class timed_order {
 public:
  using node = stage_chains::node;
  static constexpr node none = stage_chains::none;

  /// Complexity O(instructions log instructions)
  timed_order(const workload& work, std::span<const program> programs) : chains_(work, programs) {
    number();
    begin();
  }

  [[nodiscard]] const stage_chains& chains() const noexcept { return chains_; }
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  [[nodiscard]] node operator[](std::size_t position) const { return order_[position]; }
  [[nodiscard]] seconds makespan() const noexcept { return {makespan_}; }
  /// Instructions whose times have been computed.
  [[nodiscard]] std::uint64_t visited() const noexcept { return visited_; }

  /// Starts a sweep.            Complexity  O(instructions)
  void begin() {
    std::erase_if(order_, [this](node n) { return chains_[n].gone; });
    for (node i = 0; i < order_.size(); ++i) chains_[order_[i]].position = i;
    makespan_ = 0;
    for (std::size_t i = order_.size(); i-- > 0;) {
      look_ahead(order_[i]);
      makespan_ = std::max(makespan_, chains_[order_[i]].tail);
    }
    shortest_ = std::min(shortest_, makespan_);
    up_to_date_ = passed_ = 0;
    const std::vector<node> nobody(chains_.parts(), none);
    front_ = {std::vector<node>(chains_.stages(), none), {nobody, nobody}};
    visited_ += order_.size();
  }

  /// Whether y, which follows x on its stage, waits for x, as far as a look tells: it does if it is its W, if it takes
  /// its message, or if on another stage that message is awaited by what runs before the one that sends y's.
  /// Complexity O(1)
  [[nodiscard]] bool waits(node y, node x) const {
    if (chains_.is_weights_of(y, x)) return true;
    const node from = chains_.fed_from(y);
    return from != none && (from == x || (may_wait(from, chains_.fed_by(x)) && is_beside(from, chains_.fed_by(x))));
  }
  /// Whether it waits for x by way of several other stages, as it may with several chunks.
  /// Complexity O(1); O(instructions that run meanwhile) where positions leave it open
  [[nodiscard]] bool waits_on_the_way(node y, node x) {
    const node from = chains_.fed_from(y);
    const node to = chains_.fed_by(x);
    if (from == none || !may_wait(from, to) || is_beside(from, to)) return false;
    mark_waiting(to, chains_[from].position);
    const bool found = marked_[from];
    for (const node n : waiting_) marked_[n] = false;
    return found;
  }

  /// Whether the step takes no longer if x and the y that follows it on its stage change places.
  /// Requires  y does not wait for x; nothing before x was changed in this sweep            Complexity  O(1), amortized
  [[nodiscard]] bool allows_swap(node x, node y) {
    ++visited_;
    bring_up_to_date(chains_[y].position);
    const double y_ends = std::max(end_of(chains_[x].previous), arrival(chains_.fed_from(y))) + chains_[y].duration;
    const double x_ends = std::max(y_ends, arrival(chains_.fed_from(x))) + chains_[x].duration;
    return std::max(y_ends + tail_fed(y), x_ends + std::max(tail_of(chains_[y].next), tail_fed(x))) <= limit();
  }

  /// Lets x and y change places.            Requires  allows_swap            Complexity  O(instructions from x to y)
  void swap(node x, node y) {
    const node begin = chains_[x].position;
    const node end = chains_[y].position;
    pass_by(begin);
    reorder(x, y);
    chains_.swap(x, y);
    static_cast<void>(stays(begin, end, std::numeric_limits<double>::infinity()));  // tells how long it is
    settle(begin, end);
  }

  /// Changes neighbouring packs, if the step takes no longer.
  /// Returns   whether the change stays            Requires  nothing before it was changed in this sweep
  /// Complexity O(instructions that run meanwhile)
  bool recut(const simulators::window_change& change) {
    const pass p = change.pass;
    const std::size_t parts = chains_.parts();
    const node begin = chains_[chains_.at(p, change.places.front(), nth_place(p, std::size_t{0}, parts))].position;
    const node end = chains_[chains_.at(p, change.places.back(), nth_place(p, parts - 1, parts))].position;
    bring_up_to_date(begin);
    pass_by(begin);
    const double saved = time_saved(change);
    time_ = change.time, message_ = change.message;
    chains_.swap_times(change, time_, message_);
    for (std::size_t i = 0; i < change.places.size(); ++i)
      if (!change.is_left(i)) chains_.drop(p, change.places[i]);
    if (stays(begin, end, saved)) {
      settle(begin, end);
      return true;
    }
    for (std::size_t i = change.places.size(); i-- > 0;)
      if (!change.is_left(i)) chains_.restore(p, change.places[i]);
    chains_.swap_times(change, time_, message_);
    up_to_date_ = begin;
    return false;
  }

 private:
  /// How far a part of the order has come: the last instruction of each stage, and the last pack of each part and pass.
  struct front {
    std::vector<node> last;
    std::array<std::vector<node>, 2> packs;
  };

  [[nodiscard]] bool may_wait(node from, node to) const {
    return to != none && chains_[to].position <= chains_[from].position;
  }
  [[nodiscard]] bool is_beside(node from, node to) const { return chains_[to].stage == chains_[from].stage; }

  /// Sums in another order round differently; of the shortest, so that roundings do not add up.
  [[nodiscard]] double limit() const { return shortest_ * (1 + 1e-12); }
  [[nodiscard]] double end_of(node n) const { return n == none ? 0 : chains_[n].head + chains_[n].duration; }
  [[nodiscard]] double arrival(node from) const { return from == none ? 0 : end_of(from) + chains_[from].message; }
  [[nodiscard]] double tail_of(node n) const { return n == none ? 0 : chains_[n].tail; }
  /// The longest way from the end of an instruction over its message.
  [[nodiscard]] double tail_fed(node n) const {
    const node to = chains_.fed_by(n);
    return to == none ? 0 : chains_[n].message + chains_[to].tail;
  }

  /// A topological order by time, so that what runs meanwhile is near.
  void number() {
    std::vector<node> next;
    for (std::size_t stage = 0; stage < chains_.stages(); ++stage) next.push_back(chains_.first_of(stage));
    for (bool more = true; more;) {
      more = false;
      for (std::size_t stage = 0; stage < chains_.stages(); ++stage) {
        for (node n = next[stage]; n != none; n = next[stage] = chains_[n].next, more = true) {
          if (const node from = chains_.fed_from(n); from != none && chains_[from].position == 0) break;
          follow(n);
          order_.push_back(n);
          chains_[n].position = static_cast<node>(order_.size());  // for now: above 0 once it has its turn
        }
      }
    }
    std::sort(order_.begin(), order_.end(), [this](node x, node y) {
      return std::pair(chains_[x].head, chains_[x].position) < std::pair(chains_[y].head, chains_[y].position);
    });
  }

  /// Computes the head.
  void follow(node n) {
    chains_[n].head = std::max(end_of(chains_[n].previous), arrival(chains_.fed_from(n)));
    ++visited_;
  }
  /// Computes the tail.
  void look_ahead(node n) {
    chains_[n].tail = chains_[n].duration + std::max(tail_of(chains_[n].next), tail_fed(n));
    ++visited_;
  }
  /// Computes heads up to this position.
  void bring_up_to_date(node position) {
    for (; up_to_date_ <= position; ++up_to_date_)
      if (!chains_[order_[up_to_date_]].gone) follow(order_[up_to_date_]);
  }
  /// Computes tails from begin to end, after a change there that stays; heads are known.
  void settle(node begin, node end) {
    for (node i = end + 1; i-- > begin;)
      if (!chains_[order_[i]].gone) look_ahead(order_[i]);
    up_to_date_ = end + 1;
  }
  void pass_by(front& of, node n) const {
    const stage_chains::entry& t = chains_[n];
    of.last[t.stage] = n;
    if (!t.weights) of.packs[t.backward][t.part] = t.pack;
  }
  /// Brings the front to this position.
  void pass_by(node position) {
    for (; passed_ < position; ++passed_)
      if (!chains_[order_[passed_]].gone) pass_by(front_, order_[passed_]);
  }

  /// Whether the step takes no longer with what changed between these positions; if so, it is as long as found.
  /// saved: by how much tails between may have become shorter, about; those that are longer still are given up early
  bool stays(node begin, node end, double saved) {
    ahead_ = front_;
    const double most = limit();
    for (node i = begin; i <= end; ++i) {
      const node n = order_[i];
      if (chains_[n].gone) continue;
      follow(n);
      if (chains_[n].head + chains_[n].tail > most + saved) return false;
      pass_by(ahead_, n);
    }
    const double longest = longest_across(ahead_, most);
    if (longest > most) return false;
    makespan_ = std::min(makespan_, longest);
    shortest_ = std::min(shortest_, makespan_);
    return true;
  }

  /// The longest path across a front: along each stage, and over the messages that are under way.
  /// Once a path is longer than `most`, others are left out.
  [[nodiscard]] double longest_across(const front& at, double most) const {
    double longest = 0;
    for (std::size_t stage = 0; stage < chains_.stages(); ++stage)
      longest = std::max(longest, end_of(at.last[stage]) + tail_of(chains_.after(at.last[stage], stage)));
    for (const pass p : {pass::forward, pass::backward}) {
      const std::vector<node>& packs = at.packs[p == pass::backward];
      for (std::size_t i = 0; i + 1 < chains_.parts() && longest <= most; ++i) {
        const std::size_t from = p == pass::forward ? i : i + 1;
        const std::size_t to = p == pass::forward ? i + 1 : i;
        for (node pack = packs[from]; pack != none && pack != packs[to]; pack = chains_.previous_pack(p, pack))
          longest = std::max(longest, arrival(chains_.at(p, pack, from)) + chains_[chains_.at(p, pack, to)].tail);
      }
    }
    return longest;
  }

  /// On a path over all parts: what packs that become shorter save, or all of them by being fewer.
  [[nodiscard]] double time_saved(const simulators::window_change& change) const {
    double most = 0;
    double sum = 0;
    for (std::size_t i = 0; i < change.places.size(); ++i) {
      double less = chains_[chains_.at(change.pass, change.places[i], 0)].duration;
      if (change.is_left(i)) {
        less -= change.time[(i - change.first_left()) * chains_.parts()];
        most = std::max(most, less);
      }
      sum += less;
    }
    return std::max(most, sum) * static_cast<double>(chains_.parts());
  }

  /// The order from x to y with x behind all that does not wait for it.
  void reorder(node x, node y) {
    const node begin = chains_[x].position, end = chains_[y].position;
    mark_waiting(x, end, y);
    node position = begin;
    for (node at = begin; at <= end; ++at)
      if (const node n = order_[at]; !marked_[n]) chains_[n].position = position, order_[position++] = n;
    for (const node n : waiting_) marked_[n] = false, chains_[n].position = position, order_[position++] = n;
  }

  /// Marks, and lists in order, x and what waits for it up to a position; `y` does not wait for what runs before it on
  /// its stage.
  void mark_waiting(node x, node end, node y = none) {
    waiting_.assign(1, x);
    marked_.resize(chains_.size());
    marked_[x] = true;
    for (node at = chains_[x].position + 1; at <= end; ++at) {
      const node n = order_[at];
      const node from = chains_.fed_from(n);
      const node previous = n == y ? none : chains_[n].previous;
      marked_[n] = (from != none && marked_[from]) || (previous != none && marked_[previous]);
      if (marked_[n]) waiting_.push_back(n);
    }
  }

  stage_chains chains_;
  std::vector<node> order_;  // topological
  double makespan_{};
  double shortest_{std::numeric_limits<double>::infinity()};  // of all makespans so far
  std::uint64_t visited_{};
  node up_to_date_{};  // heads of smaller positions are
  node passed_{};      // by the front
  front front_;
  // Scratch, kept for its capacity.
  front ahead_;
  std::vector<node> waiting_;
  std::vector<std::uint8_t> marked_;
  std::vector<double> time_, message_;
};

}  // namespace slimpack::detail

#endif
