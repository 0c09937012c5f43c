#ifndef SLIMPACK_EXECUTORS_ROW_FORMAT_HPP
#define SLIMPACK_EXECUTORS_ROW_FORMAT_HPP

#include <slimpack/core/merge.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/message_format.hpp>

namespace slimpack {

/// What goes round the sharers for one token, in each layer. A width of 0 sends nothing.
struct parcel_format {
  message_format rows;  ///< as launched
  message_format sums;  ///< what each adds to, in the accumulators' element

  friend constexpr bool operator==(const parcel_format&, const parcel_format&) = default;
};

/// What replicas that share a sequence send each other for one token of it, in each layer of a chunk: for the exchanges
/// that the compute says it can run.
struct row_format {
  int layers{};                      ///< of the chunk that attend to earlier tokens
  message_format keys_values;        ///< keep, forward: keys and values of a layer, together
  message_format gradients;          ///< keep, backward: their gradients, in the accumulators' element
  by_pass<parcel_format> queries{};  ///< as a rule queries, and outputs with their log-sum-exp; backward queries,
                                     ///< gradients of outputs and what else they need, and gradients of queries
  by_pass<parcel_format> ring{};     ///< as a rule keys and values; backward these, and their gradients

  /// Of exchange::keep.
  [[nodiscard]] constexpr const message_format& kept(pass p) const noexcept {
    return p == pass::forward ? keys_values : gradients;
  }
  /// Of an exchange whose rows go round.
  [[nodiscard]] constexpr const parcel_format& going_round(exchange e, pass p) const noexcept {
    return (e == exchange::ring ? ring : queries)[p];
  }
  friend constexpr bool operator==(const row_format&, const row_format&) = default;
};

}  // namespace slimpack

#endif
