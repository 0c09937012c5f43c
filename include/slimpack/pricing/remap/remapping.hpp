#ifndef SLIMPACK_PRICING_REMAP_REMAPPING_HPP
#define SLIMPACK_PRICING_REMAP_REMAPPING_HPP

#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace slimpack {

/// Tokens whose rows one replica sends another.
struct moved_tokens {
  std::uint32_t from{};
  std::uint32_t to{};
  tokens count;
  friend bool operator==(const moved_tokens&, const moved_tokens&) = default;
};

/// From a layout balanced for attention to one balanced for tokens: which rows replicas send each other before modules
/// that work token by token, so that all have as many; the rows come back behind them, the same way.
/// Formula   each replica's target is the mean, rounded down; those that hold most have one more, as many as are left
///           over, of equal ones the first. A token that is moved inside a node costs a, one between nodes b >= a. With
///           surplus S_n and deficit D_n of node n, the cost is a I + b (S - I): S = sum of S_n tokens move, I = sum of
///           min(S_n, D_n) of them inside
/// Law       no transfers that reach the targets cost less: each token above a target leaves its replica, so S tokens
///           move at least once; what a node has too much of, max(0, S_n - D_n), leaves it, so S - I tokens cross at
///           least once; and a transfer is one or the other. Law and formula hold whatever a and b are
/// Source    Zeppelin (arXiv:2509.21841), its remapping layer: a least-cost transfer matrix over link costs. Formula
///           and proof are derived
/// Errors    none            Complexity  O(replicas log replicas)
struct remapping {
  std::vector<tokens> target{};       ///< per replica
  std::vector<moved_tokens> moves{};  ///< inside nodes first; at most one less than there are replicas
  tokens inside{};                    ///< moved inside a node
  tokens between{};                   ///< moved between nodes

  /// held: per replica; replicas_per_node: neighbours on one node, 0: all are
  [[nodiscard]] static remapping of(std::span<const tokens> held, std::uint32_t replicas_per_node = 0) {
    std::vector<std::uint32_t> node_of;
    for (std::uint32_t r = 0; r < held.size(); ++r)
      node_of.push_back(replicas_per_node == 0 ? 0 : r / replicas_per_node);
    return of(held, node_of);
  }
  /// node_of: per replica, ascending
  [[nodiscard]] static remapping of(std::span<const tokens> held, std::span<const std::uint32_t> node_of) {
    remapping made;
    const std::size_t count = held.size();
    if (count == 0) return made;
    std::int64_t all = 0;
    for (const tokens one : held) all += one.value;
    const auto replicas = static_cast<std::int64_t>(count);
    made.target.assign(count, {all / replicas});
    std::vector<std::uint32_t> most(count);
    std::iota(most.begin(), most.end(), 0u);
    std::stable_sort(most.begin(), most.end(), [&](std::uint32_t a, std::uint32_t b) { return held[a] > held[b]; });
    for (std::int64_t i = 0; i < all % replicas; ++i) made.target[most[static_cast<std::size_t>(i)]] += tokens{1};
    std::vector<std::int64_t> above(count);  // its target; below it is negative
    for (std::size_t r = 0; r < count; ++r) above[r] = (held[r] - made.target[r]).value;
    for (std::size_t first = 0, last = 0; first < count; first = last) {
      while (last < count && node_of[last] == node_of[first]) ++last;
      made.inside += made.move(above, first, last);
    }
    made.between = made.move(above, 0, count);
    return made;
  }

  [[nodiscard]] tokens moved() const { return inside + between; }

 private:
  /// Moves what replicas [first, last) have too much of to those of them that have too little.
  tokens move(std::vector<std::int64_t>& above, std::size_t first, std::size_t last) {
    tokens sum{};
    std::size_t to = first;
    for (std::size_t from = first; from < last; ++from) {
      while (above[from] > 0) {
        while (to < last && above[to] >= 0) ++to;
        if (to == last) return sum;
        const std::int64_t some = std::min(above[from], -above[to]);
        moves.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), {some}});
        above[from] -= some, above[to] += some, sum += tokens{some};
      }
    }
    return sum;
  }
};

}  // namespace slimpack

#endif
