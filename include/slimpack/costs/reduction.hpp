#ifndef SLIMPACK_COSTS_REDUCTION_HPP
#define SLIMPACK_COSTS_REDUCTION_HPP

namespace slimpack::costs {

/// When a trainer sums gradients over the copies of its weights, and gathers the weights.
enum class reduction : unsigned char {
  overlapped,  ///< in buckets of layers, beside the work (core/gradient_reduction.hpp)
  exposed,     ///< all at once, after the work
};

}  // namespace slimpack::costs

#endif
