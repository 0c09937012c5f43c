#ifndef SLIMPACK_COSTS_KERNELS_ORIGIN_HPP
#define SLIMPACK_COSTS_KERNELS_ORIGIN_HPP

namespace slimpack::costs {

/// Where a time comes from, from the best to the least known.
enum class origin : unsigned char {
  measured,      ///< a table has this very point
  interpolated,  ///< between points of a table
  extrapolated,  ///< outside a table, as its points grow
  derived,       ///< from measurements of something else
  modelled,      ///< from a description of the machine, nothing measured
};

/// What a stage spends its time on.
enum class work : unsigned char {
  attention,    ///< of queries to keys, without projections
  products,     ///< of activations and weights
  elementwise,  ///< norms, activations, positions, embedding, loss: bytes moved
  traffic,      ///< collectives that are waited for
};

}  // namespace slimpack::costs

#endif
