#ifndef SLIMPACK_CORE_GRADIENT_REDUCTION_HPP
#define SLIMPACK_CORE_GRADIENT_REDUCTION_HPP

#include <slimpack/core/units.hpp>

#include <vector>

namespace slimpack {

/// Some layers of a part, whose gradients are summed over the copies of the weights as soon as they are final, and
/// whose weights are gathered before the next step needs them.
/// Requires  at in [0, 1]; a part's buckets in order of their layers, at not falling, the first at 0
struct gradient_bucket {
  double at{};      ///< share of a forward pack's time after which its first layer runs. Backward goes the other way:
                    ///< of the last backward pack (of its weight gradients, where they run apart) this share is left
                    ///< when the bucket's gradients are final
  seconds scatter;  ///< its gradients summed, to each copy a share
  seconds gather;   ///< its weights, from all copies

  friend constexpr bool operator==(const gradient_bucket&, const gradient_bucket&) = default;
};

/// A reduction of gradients beside the work. Each stage has one stream for it, which carries one bucket after the
/// other: from the step's begin the gathers of its weights, its share of the words first where all stages have one,
/// then chunk 0, layers in order; then the sums of its gradients, the last chunk first, the last layers of a chunk
/// first, its share of the words at the end, each when it is final on all replicas. The optimizer steps when all sums
/// are there on all stages, as where gradients are clipped by their norm; with that step a batch ends and the next one
/// begins. So the step time is the period of a training on batches like this one.
/// Source    Megatron-LM and torch's FSDP overlap both so; the order is ours
struct gradient_reduction {
  std::vector<std::vector<gradient_bucket>> parts;  ///< buckets of each part (shape::reduced_parts)
  seconds after;                                    ///< what follows all sums on all stages: the optimizer's step

  friend bool operator==(const gradient_reduction&, const gradient_reduction&) = default;
};

/// The last instruction that computes weight gradients of a part: they become final while it runs.
struct gradient_span {
  seconds begin;
  seconds end;

  friend constexpr bool operator==(const gradient_span&, const gradient_span&) = default;
};

}  // namespace slimpack

#endif
