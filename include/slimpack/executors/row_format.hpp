#ifndef SLIMPACK_EXECUTORS_ROW_FORMAT_HPP
#define SLIMPACK_EXECUTORS_ROW_FORMAT_HPP

#include <slimpack/executors/message_format.hpp>

namespace slimpack {

/// What replicas that share a sequence send each other for one token of it, in each layer of a chunk.
struct row_format {
  int layers{};                ///< of the chunk that attend to earlier tokens
  message_format keys_values;  ///< forward: keys and values of a layer, together
  message_format gradients;    ///< backward: their gradients, in the accumulators' element

  friend constexpr bool operator==(const row_format&, const row_format&) = default;
};

}  // namespace slimpack

#endif
