#ifndef SLIMPACK_SOLVERS_BASELINES_RELAYING_HPP
#define SLIMPACK_SOLVERS_BASELINES_RELAYING_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/costs/model/gpu.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::solvers {

/// Where rows that go round cross between nodes, whether sharers relay them (core/merge.hpp): over one adapter
/// of each sharer of both nodes, as long as these adapters are different ones.
/// Source    Zeppelin (arXiv:2509.21841), routing; which sharers are proxies is derived: the sender and the hearer, and
///           of each other adapter of their nodes the first sharer
struct relaying {
  std::uint32_t segments{0};  ///< of each strand; 0: nothing is relayed
  std::uint32_t replicas_per_node{1};
  std::uint32_t replicas_per_adapter{1};  ///< those that share one with a neighbour; 1: each has one or more
  friend constexpr bool operator==(const relaying&, const relaying&) = default;

  /// On GPUs, with ranks in the order of costs::placement.
  /// Errors    invalid_input: nodes on which no two whole replicas lie, one node, or one adapter on each
  [[nodiscard]] static result<relaying> of(const costs::gpu& device, const shape& on, std::uint32_t segments) {
    if (segments == 0) return relaying{};
    const int ranks = on.stages * on.tensor * on.context;
    const auto refused = [](std::string why) {
      return error{errc::invalid_input, "relays between nodes: " + std::move(why)};
    };
    if (on.replicas < 2 || on.replicas * ranks <= device.gpus_per_node)
      return refused(std::to_string(on.replicas * ranks) + " GPUs are on one node of " +
                     std::to_string(device.gpus_per_node) + ", and nothing crosses: leave them out");
    if (on.expert > 1)
      return refused("where ranks divide experts, replicas do not lie side by side: leave out one of them");
    if (device.gpus_per_node % ranks != 0 || device.gpus_per_node == ranks)
      return refused("a replica takes pp x tp x cp = " + std::to_string(ranks) +
                     " GPUs, and proxies are other replicas of a node of " + std::to_string(device.gpus_per_node) +
                     ": choose a divisor below that");
    if (device.adapters() < 2) return refused("a node has one adapter, and nothing to spread over: leave them out");
    const int of_adapter = device.gpus_per_node / device.adapters();
    return relaying{segments, static_cast<std::uint32_t>(device.gpus_per_node / ranks),
                    static_cast<std::uint32_t>(std::max(1, of_adapter / ranks))};
  }

  /// Those of sharers that rows go round, wherever a hop leaves a node. None where sharers on the node of either end
  /// have one adapter.
  /// Requires  sharers in ascending order, two or more            Complexity  O(sharers) a crossing
  [[nodiscard]] std::vector<relay> between(std::span<const std::uint32_t> sharers) const {
    std::vector<relay> relays;
    for (std::size_t k = 0; segments > 0 && k < sharers.size(); ++k) {
      const std::uint32_t from = sharers[k], to = sharers[(k + 1) % sharers.size()];
      if (from / replicas_per_node == to / replicas_per_node) continue;
      relay one{beside(from, sharers), beside(to, sharers), segments};
      const std::size_t strands = std::min(one.out.size(), one.in.size());
      one.out.resize(strands), one.in.resize(strands);
      if (strands > 1) relays.push_back(std::move(one));
    }
    return relays;
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const relaying& r) {
    return out << "{.segments = " << r.segments << ", .replicas_per_node = " << r.replicas_per_node
               << ", .replicas_per_adapter = " << r.replicas_per_adapter << '}';
  }

 private:
  /// A replica, and of each other adapter of its node the first sharer.
  [[nodiscard]] std::vector<std::uint32_t> beside(std::uint32_t replica, std::span<const std::uint32_t> sharers) const {
    std::vector<std::uint32_t> found{replica};
    std::uint32_t last = replica / replicas_per_adapter;  // so that the first sharer of another adapter is new
    for (const std::uint32_t other : sharers) {
      if (other / replicas_per_node != replica / replicas_per_node) continue;
      const std::uint32_t adapter = other / replicas_per_adapter;
      if (adapter == replica / replicas_per_adapter || adapter == last) continue;
      found.push_back(other);
      last = adapter;
    }
    return found;
  }
};

}  // namespace slimpack::solvers

#endif
