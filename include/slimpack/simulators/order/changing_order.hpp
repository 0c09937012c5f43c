#ifndef SLIMPACK_SIMULATORS_ORDER_CHANGING_ORDER_HPP
#define SLIMPACK_SIMULATORS_ORDER_CHANGING_ORDER_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/order/detail/forward_needs.hpp>
#include <slimpack/simulators/order/detail/stage_chains.hpp>
#include <slimpack/simulators/order/detail/stage_room.hpp>
#include <slimpack/simulators/order/detail/timed_order.hpp>
#include <slimpack/simulators/order/window_change.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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
