#ifndef SLIMPACK_SOLVERS_SHARING_ZONES_HPP
#define SLIMPACK_SOLVERS_SHARING_ZONES_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/core/units.hpp>

#include <algorithm>
#include <cstdint>
#include <iosfwd>

namespace slimpack::solvers {

/// How many replicas may share a sequence so that attention covers what they send each other: g of them where it has at
/// least (g - 1) times so many tokens.
/// A ring of g ranks computes 2 h s^2 / (g F) seconds of causal attention over s tokens, and sends 4 k s (g - 1) / (g
/// W) seconds of keys and values in bfloat16, h and k being their widths in elements, F a GPU's attention in operations
/// per second, and W its link in bytes per second: covered where s >= 2 (g - 1) (k / h) F / W. Tensor parallelism
/// divides both.
/// Source    the zones of Zeppelin (arXiv:2509.21841), local, inside a node, between nodes, where costs cross; the
///           formula is derived
/// Units     tokens for each sharer after the first
struct sharing_zones {
  double inside{};                     ///< sharers on one node
  double between{};                    ///< on several
  std::uint32_t replicas_per_node{0};  ///< whose ranks of a stage are on one node; 0: all
  friend constexpr bool operator==(const sharing_zones&, const sharing_zones&) = default;

  /// Of a model on GPUs, with ranks in the order of costs::placement: where a replica takes a node or more, no two
  /// share one. A template, so that planners without models need not include theirs.
  /// Shapes    Model: costs::model_shape, Gpu: costs::gpu
  template <class Model, class Gpu>
  [[nodiscard]] static constexpr sharing_zones of(const Model& model, const Gpu& device, const shape& on) noexcept {
    const double keys = static_cast<double>(model.kv_rank > 0 ? model.kv_rank : model.head_dim * model.kv_heads);
    const double queries = static_cast<double>(model.head_dim) * model.heads;
    const double operations = device.peak_bf16_flops * device.attention_efficiency;
    const auto tokens_over = [&](const auto& wire) { return 2 * (keys / queries) * operations / wire.bandwidth; };
    return {tokens_over(device.inside), tokens_over(device.between),
            static_cast<std::uint32_t>(std::max(1, device.gpus_per_node / (on.stages * on.tensor * on.context)))};
  }

  [[nodiscard]] constexpr bool on_one_node(std::uint32_t sharers) const noexcept {
    return replicas_per_node == 0 || sharers <= replicas_per_node;
  }
  [[nodiscard]] constexpr bool allow(tokens length, std::uint32_t sharers) const noexcept {
    return static_cast<double>(length.value) >= (sharers - 1) * (on_one_node(sharers) ? inside : between);
  }
  /// The largest group that it lets share so long a sequence, wherever the group begins.        Requires   replicas > 0
  [[nodiscard]] constexpr std::uint32_t most(tokens length, std::uint32_t replicas) const noexcept {
    const auto covered = [&](double each, std::uint32_t at_most) {
      const double more = static_cast<double>(length.value) / each;  // infinite where nothing is limited
      return more < at_most ? std::min(static_cast<std::uint32_t>(more) + 1, at_most) : at_most;
    };
    const std::uint32_t over_nodes = covered(between, replicas), node = node_of(replicas);
    return over_nodes > node ? over_nodes : covered(inside, node);
  }
  /// The next larger group: twice as many on a node, as long as these fit; then one node more.
  [[nodiscard]] constexpr std::uint32_t larger(std::uint32_t sharers, std::uint32_t replicas) const noexcept {
    const std::uint32_t node = node_of(replicas);
    if (sharers < node) return std::min(2 * sharers, node);
    return std::min(sharers + node, replicas);
  }
  /// Whether a group may begin at that replica: side by side on a node, or on whole nodes.
  [[nodiscard]] constexpr bool may_begin(std::uint32_t first, std::uint32_t sharers,
                                         std::uint32_t replicas) const noexcept {
    const std::uint32_t node = node_of(replicas), place = first % node;
    return sharers > node ? place == 0 : place % sharers == 0 && place + sharers <= node;
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const sharing_zones& z) {
    return out << "{.inside = " << z.inside << ", .between = " << z.between
               << ", .replicas_per_node = " << z.replicas_per_node << '}';
  }

 private:
  [[nodiscard]] constexpr std::uint32_t node_of(std::uint32_t replicas) const noexcept {
    return replicas_per_node == 0 ? replicas : std::min(replicas_per_node, replicas);
  }
};

}  // namespace slimpack::solvers

#endif
