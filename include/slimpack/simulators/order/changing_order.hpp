#ifndef SLIMPACK_SIMULATORS_ORDER_CHANGING_ORDER_HPP
#define SLIMPACK_SIMULATORS_ORDER_CHANGING_ORDER_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/order/detail/stage_chains.hpp>
#include <slimpack/simulators/order/detail/stage_room.hpp>
#include <slimpack/simulators/order/detail/timed_order.hpp>
#include <slimpack/simulators/order/window_change.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Says which changes keep each backward after all forwards of its sequences. Only the last part is checked. On the
/// other parts it follows: a backward reaches them from the last part, so the forwards have passed them before.
/// Requires  forward packs run in the order of their numbers, on every part
/// Errors    none
class forward_needs {
 public:
  using node = stage_chains::node;

  /// Shapes    tokens: per forward pack; needs: per backward pack, how many of those tokens must have run before it
  forward_needs(std::span<const std::int64_t> tokens, std::vector<std::int64_t> needs)
      : tokens_(tokens.begin(), tokens.end()), before_(tokens.size()), needs_(std::move(needs)) {}

  /// Counts tokens anew, as a sweep begins.            Complexity  O(packs)
  void begin(const stage_chains& chains) {
    std::int64_t before = 0;
    for (node pack = 0; pack < tokens_.size(); ++pack) {
      before_[pack] = before;
      if (chains.has(pass::forward, pack)) before += tokens_[pack];
    }
  }

  /// Whether y, which follows x on its stage, may run before it.            Complexity  O(1)
  [[nodiscard]] bool allow_swap(const stage_chains& chains, node x, node y) const {
    const bool turns = !chains[x].backward && chains[y].backward && is_last(chains, x) && is_last(chains, y);
    return !turns || needs_[chains[y].pack] <= before_[chains[x].pack];
  }

  /// Whether packs may change.            Complexity  O(instructions of the last stage meanwhile)
  [[nodiscard]] bool allow(const stage_chains& chains, const simulators::window_change& change) const {
    return change.pass == pass::forward ? forwards_suffice(chains, change) : backwards_wait(chains, change);
  }

  /// Changes packs.            Requires  the change is allowed            Complexity  O(places)
  void recut(const simulators::window_change& change) {
    const std::span<const node> left = std::span(change.places).subspan(change.first_left(), change.size.size());
    if (change.pass == pass::backward) {
      for (std::size_t i = 0; i < left.size(); ++i) needs_[left[i]] = change.needs[i];
      return;
    }
    std::int64_t before = before_[change.places.front()];
    for (std::size_t i = 0; i < left.size(); ++i) {
      tokens_[left[i]] = change.size[i];
      before_[left[i]] = std::exchange(before, before + change.size[i]);
    }
  }

 private:
  /// Whether it is a forward or a backward of the last part.
  [[nodiscard]] static bool is_last(const stage_chains& chains, node n) {
    return chains[n].part + 1 == chains.parts() && !chains[n].weights;
  }

  /// Between two places fewer tokens may have run than did: enough for the backwards there?
  [[nodiscard]] bool forwards_suffice(const stage_chains& chains, const simulators::window_change& change) const {
    const std::size_t last = chains.parts() - 1;
    std::int64_t now = before_[change.places.front()];
    std::int64_t then = now;
    for (std::size_t i = 0; i + 1 < change.places.size(); ++i) {
      now += tokens_[change.places[i]];
      if (change.is_left(i)) then += change.size[i];
      if (then >= now) continue;
      const node until = chains.at(pass::forward, change.places[i + 1], last);
      for (node n = chains[chains.at(pass::forward, change.places[i], last)].next; n != until; n = chains[n].next)
        if (chains[n].backward && is_last(chains, n) && needs_[chains[n].pack] > then) return false;
    }
    return true;
  }

  /// Has the last forward before each place come far enough?
  [[nodiscard]] bool backwards_wait(const stage_chains& chains, const simulators::window_change& change) const {
    for (std::size_t i = 0; i < change.needs.size(); ++i) {
      const node place = change.places[change.first_left() + i];
      node n = chains[chains.at(pass::backward, place, chains.parts() - 1)].previous;
      while (n != stage_chains::none && (chains[n].backward || !is_last(chains, n))) n = chains[n].previous;
      const std::int64_t ran = n == stage_chains::none ? 0 : before_[chains[n].pack] + tokens_[chains[n].pack];
      if (change.needs[i] > ran) return false;
    }
    return true;
  }

  std::vector<std::int64_t> tokens_;  // of each forward pack
  std::vector<std::int64_t> before_;  // that run before it
  std::vector<std::int64_t> needs_;   // of each backward pack
};

}  // namespace slimpack::detail

namespace slimpack::simulators {

/// One replica's programs under small changes: two neighbours of a stage change places, or the borders of neighbouring
/// packs shift. A change stays if the step takes no longer and memory suffices, which only what it touches tells.
///
/// Sweep     Changes are tried from the front of the step to its end. `begin` starts another sweep.
/// Timing    simulators/order/detail/timed_order.hpp: the longest path across what a change touches, exact
/// Memory    What a stage has room for while an instruction runs, from the same account as stage_memory.
/// Requires  a workload that it `takes`; programs that the task graph takes
/// Errors    none
class changing_order {
 public:
  using node = detail::stage_chains::node;
  static constexpr node none = detail::stage_chains::none;

  /// Whether the order of this workload may change at all: tokens alone in memory.
  [[nodiscard]] static bool takes(const workload& work) noexcept { return work.times.kept.forward.empty(); }

  /// Shapes    tokens: per forward pack, above 0; needs: per backward pack, how many of those tokens, in run order,
  ///           must have run before it            Requires  takes(work)
  /// Complexity O(instructions log instructions)
  changing_order(const workload& work, std::span<const program> programs, std::span<const std::int64_t> tokens,
                 std::vector<std::int64_t> needs)
      : order_(taken(work), programs), room_(work, programs, order_.chains()), needs_(tokens, std::move(needs)) {
    needs_.begin(order_.chains());
  }

  [[nodiscard]] seconds makespan() const noexcept { return order_.makespan(); }
  /// Instructions whose times have been computed: the effort so far.
  [[nodiscard]] std::uint64_t visited() const noexcept { return order_.visited(); }

  /// Starts a sweep.            Complexity  O(instructions)
  void begin() {
    order_.begin();
    needs_.begin(order_.chains());
  }

  /// The instructions in a topological order, which swaps change; until a sweep begins, those of dropped packs too.
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  [[nodiscard]] instruction operator[](std::size_t position) const {
    return order_.chains().instruction_of(order_[position]);
  }
  /// The part of the model that it runs.
  [[nodiscard]] std::size_t part(std::size_t position) const { return order_.chains()[order_[position]].part; }

  /// The next pack of a pass; none past the last.
  [[nodiscard]] node next_pack(pass p, node pack) const { return order_.chains().next_pack(p, pack); }
  [[nodiscard]] bool has(pass p, node pack) const { return order_.chains().has(p, pack); }

  /// Lets the instruction at `position` change places with the one that follows it on its stage, if that is of the
  /// other pass or another chunk, or weight gradients.
  /// Returns   whether the change stays            Requires  no smaller position was changed in this sweep
  /// Complexity O(1); O(instructions that run meanwhile) if it stays, or with several chunks may do so
  bool swap(std::size_t position) {
    const detail::stage_chains& chains = order_.chains();
    const node x = order_[position];
    const node y = chains[x].next;
    if (y == none || stays_behind(chains[x], chains[y])) return false;
    if (order_.waits(y, x) || !needs_.allow_swap(chains, x, y)) return false;
    if (!order_.allows_swap(x, y) || order_.waits_on_the_way(y, x) || !room_.swap(chains, x, y)) return false;
    order_.swap(x, y);
    return true;
  }

  /// Whether the weight gradients of a backward pack run apart: such packs cannot be cut anew.
  [[nodiscard]] bool splits(node pack) const { return order_.chains().splits(pack); }

  /// Changes neighbouring packs.
  /// Returns   whether the change stays            Requires  none `splits`; no place earlier in the step was changed in
  ///           this sweep; every pack counts as memory all the tokens it runs
  /// Complexity O(instructions that run meanwhile)
  bool recut(const window_change& change) {
    if (!room_.allows(order_.chains(), change) || !needs_.allow(order_.chains(), change)) return false;
    if (!order_.recut(change)) return false;
    room_.recut(order_.chains(), change);
    needs_.recut(change);
    return true;
  }

  /// The programs, packs numbered by those that are left.            Complexity  O(instructions)
  [[nodiscard]] std::vector<program> programs() const { return order_.chains().programs(); }

 private:
  /// Packs pass each part in one order, and weight gradients pass a stage in one.
  static bool stays_behind(const detail::stage_chains::entry& x, const detail::stage_chains::entry& y) {
    return x.backward == y.backward && x.weights == y.weights && (x.weights || x.part == y.part);
  }

  /// Asked before anything is built on it.
  static const workload& taken(const workload& work) {
    SLIMPACK_ASSERT(takes(work), "orders change for tokens alone");
    return work;
  }

  detail::timed_order order_;
  detail::stage_room room_;
  detail::forward_needs needs_;
};

}  // namespace slimpack::simulators

#endif
