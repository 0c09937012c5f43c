#ifndef SLIMPACK_COSTS_KERNELS_WORK_HPP
#define SLIMPACK_COSTS_KERNELS_WORK_HPP

namespace slimpack::costs {

/// What a stage spends its time on.
enum class work : unsigned char {
  attention,    ///< of queries to keys, without projections
  products,     ///< of activations and weights
  elementwise,  ///< norms, activations, positions, embedding, loss: bytes moved
  traffic,      ///< collectives that are waited for
};

}  // namespace slimpack::costs

#endif
