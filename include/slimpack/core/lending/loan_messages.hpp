#ifndef SLIMPACK_CORE_LENDING_LOAN_MESSAGES_HPP
#define SLIMPACK_CORE_LENDING_LOAN_MESSAGES_HPP

#include <slimpack/core/units.hpp>

namespace slimpack {

/// What the messages of a loan take in each layer of a part, each alone on its wire.
struct loan_messages {
  double layers{1};  ///< of the part
  seconds context;   ///< what the lender has before the layer begins: keys and values; backward also queries, outputs
                     ///< and log-sum-exps
  seconds queries;   ///< what it has in the layer: queries; backward gradients of outputs
  seconds results;   ///< what it gets: outputs and log-sum-exps; backward gradients of queries, keys and values

  /// Asks `sound` for each time and for the layers, and returns what it gives in their place.
  template <class Sound>
  [[nodiscard]] constexpr loan_messages checked(const Sound& sound) const {
    loan_messages m{1, sound(context), sound(queries), sound(results)};
    m.layers = sound(seconds{layers}).value;
    return m;
  }

  friend constexpr bool operator==(const loan_messages&, const loan_messages&) = default;
};

}  // namespace slimpack

#endif
