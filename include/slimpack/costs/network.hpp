#ifndef SLIMPACK_COSTS_NETWORK_HPP
#define SLIMPACK_COSTS_NETWORK_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/gpu.hpp>

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
    for (int from = 0; from < s.replicas * s.stages * ranks; ++from) {
      const int stage = from / ranks % s.stages;
      const int to = from + (stage + 1 < s.stages ? ranks : (1 - s.stages) * ranks);
      if ((stage == r || s.chunks > 1) && apart(from, to)) return between;
    }
    return inside;
  }

  /// The link between the tensor-parallel ranks of a stage, the worst over all.
  [[nodiscard]] const link& of_tensor(const shape& s) const {
    for (int first = 0; first < s.replicas * s.stages * s.context * s.tensor; first += s.tensor)
      if (apart(first, first + s.tensor - 1)) return between;
    return inside;
  }

  /// The link between copies of a stage's weights, its context-parallel ranks on all replicas; the worst over stages.
  [[nodiscard]] const link& of_replicas(const shape& s) const {
    const int ranks = s.tensor * s.context;
    const int last_copy = (s.replicas - 1) * s.stages * ranks + ranks - s.tensor;
    for (int r = 0; r < s.stages; ++r)
      for (int first = r * ranks; first < r * ranks + s.tensor; ++first)
        if (apart(first, first + last_copy)) return between;
    return inside;
  }

  /// All-gather or reduce-scatter over n ranks; `size` is the gathered buffer.
  [[nodiscard]] static seconds gather(const link& l, bytes size, int n) {
    return n < 2 ? seconds{} : over(l, size * ((n - 1.0) / n));
  }

 private:
  [[nodiscard]] bool apart(int rank, int other) const noexcept { return rank / gpus_per_node != other / gpus_per_node; }
};

}  // namespace slimpack::costs

#endif
