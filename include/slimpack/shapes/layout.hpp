#ifndef SLIMPACK_SHAPES_LAYOUT_HPP
#define SLIMPACK_SHAPES_LAYOUT_HPP

#include <slimpack/core/shape.hpp>
#include <slimpack/costs/memory/saved_tensors.hpp>

#include <cstdint>
#include <vector>

namespace slimpack::shapes {

/// One way to lay a model over GPUs: a shape, which layers stand where, and what backward computes again.
struct layout {
  slimpack::shape shape{};
  costs::recompute recompute{costs::recompute::none};
  std::vector<int> layers{};  ///< on each part; empty: as the cost model spreads them

  [[nodiscard]] std::int64_t gpus() const noexcept {
    return std::int64_t{shape.replicas} * shape.stages * shape.tensor * shape.context;
  }
  /// How many of dp, pp, tp, cp, ep, vpp, vocabulary and recompute are not those of `other`.
  [[nodiscard]] int changes(const layout& other) const noexcept {
    int n = (recompute != other.recompute ? 1 : 0) + (shape.vocabulary != other.shape.vocabulary ? 1 : 0);
    using of = slimpack::shape;
    for (int of::*degree : {&of::replicas, &of::stages, &of::tensor, &of::context, &of::expert, &of::chunks})
      n += shape.*degree != other.shape.*degree ? 1 : 0;
    return n;
  }
  friend bool operator==(const layout&, const layout&) = default;
};

}  // namespace slimpack::shapes

#endif
