#ifndef SLIMPACK_COSTS_NETWORK_COLLECTIVE_TABLE_HPP
#define SLIMPACK_COSTS_NETWORK_COLLECTIVE_TABLE_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/kernels/detail/time_curve.hpp>
#include <slimpack/costs/kernels/origin.hpp>
#include <slimpack/costs/network/collective.hpp>
#include <slimpack/costs/network/collective_sample.hpp>
#include <slimpack/costs/network/placement.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Times of collectives as measured on one kind of node: a curve over bytes for each operation, number of ranks, and
/// number of nodes.
///
/// Between and outside the measured numbers of ranks, with L the time of the smallest size, f = traffic_per_byte:
///   between a < n < b ranks   t = t_a + (t_b - t_a) log(n / a) / log(b / a), at the same bytes
///   beyond a ranks            t = L_a steps(n) / steps(a) + (t_a - L_a) f(n) / f(a), steps(n) = 1 + ceil(log2 n), a
///                             tree's depth and a launch; 1 for an all-to-all, whose messages do not wait for others
///   k ranks a node for k_a    (t_a - L_a) k_a / k: every GPU brings a network adapter, and rings through all nodes
///                             share them; not for an all-to-all, where each rank uses its own
/// Measurements of groups inside an island, inside a node and across nodes never stand for each other.
///
/// A node is one island (a switch) unless its times say otherwise: where a larger group has less than half the bus
/// bandwidth of the next smaller one, the fast links end at the smaller: boxes whose GPUs are wired in pairs.
///
/// Source    derived. Found from 2 and 8 ranks inside a node, 4 ranks are 5 % to 12 % off on average in the published
///           NCCL times of A100 and H100, by operation; 8 from 4, 8 % to 22 %; 8 from 2, 17 % to 54 %
/// Law       time does not fall with size            Complexity  O(curves + log sizes) a question
class collective_table {
 public:
  struct answer {
    seconds time;
    origin source;
  };
  /// What a link of each GPU carries at most.
  struct peak {
    double bandwidth;  ///< bytes on the wire per second
    bytes wire;        ///< that were on it then
  };

  /// Requires  samples of one kind of node
  /// Errors    invalid_input: none at all; fewer than 2 ranks, less than 1 a node; a size or time not above 0; a single
  ///           size of some operation and ranks. The detail names which            Complexity  O(samples^2)
  [[nodiscard]] static result<collective_table> make(std::span<const collective_sample> samples) {
    if (samples.empty()) return error{errc::invalid_input, "no times of collectives"};
    std::vector<const collective_sample*> order;
    for (const collective_sample& s : samples) {
      if (const char* wrong = fault(s)) return error{errc::invalid_input, said(s) + ": " + wrong};
      order.push_back(&s);
    }
    const auto key = [](const collective_sample& s) { return std::tuple(s.op, nodes(s), s.ranks); };
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return key(*a) < key(*b); });
    collective_table made;
    for (std::size_t first = 0; first < order.size();) {
      const collective_sample& s = *order[first];
      std::vector<slimpack::detail::sized_time> points;
      bool two_sizes = false;
      for (; first < order.size() && key(*order[first]) == key(s); ++first) {
        two_sizes = two_sizes || order[first]->size != s.size;
        points.push_back({order[first]->size, order[first]->time});
      }
      if (!two_sizes) return error{errc::invalid_input, said(s) + ": times of one size only say nothing of others"};
      made.curves_.push_back({s.op, s.ranks, nodes(s), slimpack::detail::time_curve(std::move(points))});
    }
    made.find_island();
    return made;
  }

  /// Nothing where no group of this reach was measured: in an island, in a node, across nodes.
  [[nodiscard]] std::optional<answer> operator()(collective op, const rank_group& group, bytes size) const {
    const double asked = density(group.ranks, group.nodes);
    const curve* likest = nullptr;
    for (const curve& c : curves_)
      if (fits(c, op, group) && (likest == nullptr || unlike(c, asked) < unlike(*likest, asked))) likest = &c;
    if (likest == nullptr) return std::nullopt;
    const curve* below = nullptr;
    const curve* above = nullptr;
    for (const curve& c : curves_) {
      if (!fits(c, op, group) || density(c.ranks, c.nodes) != density(likest->ranks, likest->nodes)) continue;
      if (c.ranks <= group.ranks) below = &c;
      if (c.ranks >= group.ranks && above == nullptr) above = &c;
    }
    if (below == nullptr || above == nullptr)
      return answer{spread(below == nullptr ? *above : *below, group.ranks, asked, size), origin::extrapolated};
    const seconds low = spread(*below, below->ranks, asked, size);
    const bool same_nodes = density(below->ranks, below->nodes) == asked;
    const origin known = same_nodes ? below->times.source(size) : origin::extrapolated;
    if (below == above) return answer{low, known};
    const seconds high = spread(*above, above->ranks, asked, size);
    const double share = std::log2(1.0 * group.ranks / below->ranks) / std::log2(1.0 * above->ranks / below->ranks);
    return answer{low + (high - low) * share, std::max(known, origin::interpolated)};
  }

  /// GPUs of a node that fast links join, where the times tell: see above.
  [[nodiscard]] std::optional<int> island() const noexcept { return island_; }

  /// At the largest size of the fastest operation: of the largest group inside a node; or of any across nodes, by the
  /// share that one adapter has. Nothing if there are none.
  [[nodiscard]] std::optional<peak> bandwidth(bool across_nodes) const noexcept {
    std::optional<peak> most;
    int ranks = 0;
    for (const curve& c : curves_) {
      if ((c.nodes > 1) != across_nodes || (!across_nodes && c.ranks < ranks)) continue;
      if (!across_nodes && c.ranks > ranks) most.reset(), ranks = c.ranks;
      const bytes size = c.times.largest();
      const bytes wire = size * (traffic_per_byte(c.op, c.ranks) / adapters(c));
      const double here = wire.value / c.times(size).value;
      if (!most || here > most->bandwidth) most = peak{here, wire};
    }
    return most;
  }

  /// Mean of |time / measured - 1| over all points: how much had to change so that no time falls with size.
  [[nodiscard]] double noise() const noexcept {
    double sum = 0;
    std::size_t points = 0;
    for (const curve& c : curves_) sum += c.times.change(), points += c.times.sizes();
    return sum / static_cast<double>(points);
  }

 private:
  enum class reach : unsigned char { island, node, cluster };
  struct curve {
    collective op;
    int ranks;
    int nodes;
    slimpack::detail::time_curve times;
  };

  collective_table() = default;

  static int nodes(const collective_sample& s) noexcept { return (s.ranks + s.ranks_per_node - 1) / s.ranks_per_node; }
  static const char* fault(const collective_sample& s) {
    if (s.ranks < 2) return "a collective needs at least 2 ranks";
    if (s.ranks_per_node < 1) return "a node needs at least 1 rank";
    if (!(s.size > bytes{}) || !std::isfinite(s.size.value)) return "its size must be more than 0 bytes";
    if (!(s.time > seconds{}) || !std::isfinite(s.time.value)) return "its time must be more than 0 s";
    return nullptr;
  }
  static std::string said(const collective_sample& s) {
    return std::string(name_of(s.op)) + " of " + std::to_string(s.ranks) + " ranks, " +
           std::to_string(s.ranks_per_node) + " a node" + (s.gpu.empty() ? "" : ", " + s.gpu) +
           (s.node.empty() ? "" : ", " + s.node);
  }

  static double bandwidth(const curve& c, bytes size) noexcept {
    return traffic_per_byte(c.op, c.ranks) * size.value / c.times(size).value;
  }

  void find_island() {
    for (const curve& small : curves_) {
      const curve* large = nullptr;  // the next larger group inside a node
      for (const curve& c : curves_)
        if (c.op == small.op && c.nodes == 1 && c.ranks > small.ranks && (large == nullptr || c.ranks < large->ranks))
          large = &c;
      if (small.nodes > 1 || large == nullptr) continue;
      const bytes size = std::min(small.times.largest(), large->times.largest());
      if (bandwidth(small, size) > 2 * bandwidth(*large, size))
        island_ = std::min(island_.value_or(small.ranks), small.ranks);
    }
  }

  [[nodiscard]] reach reach_of(int ranks, int nodes) const noexcept {
    return nodes > 1 ? reach::cluster : ranks > island_.value_or(ranks) ? reach::node : reach::island;
  }
  [[nodiscard]] bool fits(const curve& c, collective op, const rank_group& group) const noexcept {
    const reach asked = group.nodes > 1 ? reach::cluster : group.islands > 1 ? reach::node : reach::island;
    return c.op == op && reach_of(c.ranks, c.nodes) == asked;
  }

  /// Ranks on each of several nodes; 0 within one, where it plays no part.
  static double density(int ranks, int nodes) noexcept { return nodes > 1 ? 1.0 * ranks / nodes : 0; }
  static double unlike(const curve& c, double asked) noexcept {
    return c.nodes > 1 ? std::abs(std::log2(density(c.ranks, c.nodes) / asked)) : 0;
  }

  /// Of a node that carry one rank's traffic: rings share them all, an all-to-all uses its own.
  static double adapters(const curve& c) noexcept {
    return c.nodes > 1 && c.op != collective::all_to_all ? density(c.ranks, c.nodes) : 1;
  }

  /// The curve's time with other ranks, and other ranks a node.
  static seconds spread(const curve& c, int ranks, double asked, bytes size) noexcept {
    const seconds latency = c.times.latency();
    const double shared = c.nodes > 1 && c.op != collective::all_to_all ? adapters(c) / asked : 1;
    return latency * (steps(c.op, ranks) / steps(c.op, c.ranks)) +
           (c.times(size) - latency) * (traffic_per_byte(c.op, ranks) / traffic_per_byte(c.op, c.ranks) * shared);
  }
  static double steps(collective op, int ranks) noexcept {
    return op == collective::all_to_all ? 1 : 1 + std::bit_width(static_cast<unsigned>(ranks - 1));
  }

  std::vector<curve> curves_;  ///< in order of operation, nodes, ranks
  std::optional<int> island_;
};

}  // namespace slimpack::costs

#endif
