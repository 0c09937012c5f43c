#ifndef SLIMPACK_SIMULATORS_ORDER_DETAIL_FORWARD_NEEDS_HPP
#define SLIMPACK_SIMULATORS_ORDER_DETAIL_FORWARD_NEEDS_HPP

#include <slimpack/core/slice.hpp>
#include <slimpack/simulators/order/detail/stage_chains.hpp>
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

#endif
