#ifndef SLIMPACK_COSTS_NETWORK_HPP
#define SLIMPACK_COSTS_NETWORK_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/gpu.hpp>

#include <algorithm>

namespace slimpack::costs {

/// What messages and collectives cost on nodes of GPUs: latency + bytes / bandwidth, by whether a node is left.
/// Ranks fill nodes tensor first, then context, stages, replicas.
/// Source    alpha-beta model; ring volumes of NCCL: (n - 1) / n of the buffer for a gather or a scatter
/// Units     bytes in, seconds out
struct network {
  link inside;
  link between;
  int gpus_per_node{1};

  [[nodiscard]] static network of(const gpu& g) { return {g.inside, g.between, g.gpus_per_node}; }

  [[nodiscard]] static constexpr seconds over(const link& l, bytes size) noexcept {
    return {l.latency.value + size.value / l.bandwidth};
  }

  /// The link that a message from stage r to r + 1 (or back) takes; the worst over replicas and ranks of a stage.
  /// With chunks, messages also go from the last stage to the first, and every boundary has the worst link's price.
  [[nodiscard]] const link& boundary(const shape& s, int r) const {
    const int ranks = s.tensor * s.context;
    if (s.chunks > 1) return s.stages * ranks * s.replicas <= gpus_per_node ? inside : between;
    for (int first = 0; first < s.replicas * s.stages * ranks; first += s.stages * ranks)
      for (int rank = first + r * ranks; rank < first + (r + 1) * ranks; ++rank)
        if (rank / gpus_per_node != (rank + ranks) / gpus_per_node) return between;
    return inside;
  }

  /// The link between the tensor-parallel ranks of a stage.
  [[nodiscard]] const link& of_tensor(const shape& s) const { return s.tensor <= gpus_per_node ? inside : between; }

  /// The link between copies of a stage's weights: its context-parallel ranks and all replicas.
  [[nodiscard]] const link& of_replicas(const shape& s) const {
    return s.tensor * s.context * s.stages * s.replicas <= gpus_per_node ? inside : between;
  }

  /// All-gather or reduce-scatter over n ranks; `size` is the gathered buffer.
  [[nodiscard]] static seconds gather(const link& l, bytes size, int n) {
    return n < 2 ? seconds{} : over(l, size * ((n - 1.0) / n));
  }
};

}  // namespace slimpack::costs

#endif
