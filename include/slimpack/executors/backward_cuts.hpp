#ifndef SLIMPACK_EXECUTORS_BACKWARD_CUTS_HPP
#define SLIMPACK_EXECUTORS_BACKWARD_CUTS_HPP

#include <concepts>

namespace slimpack {

/// Where a trainer's backward may cut a sequence.
enum class backward_cuts : unsigned char {
  forward_cuts,  ///< only where its forward was cut: each backward piece is one forward piece (autograd graphs)
  any,           ///< wherever the plan says: activations can be reached by token
};

/// Where a compute's backward may cut: what its `static constexpr backward_cuts cuts` says, else at forward cuts.
template <class Compute>
[[nodiscard]] consteval backward_cuts cuts_of() {
  if constexpr (requires { { Compute::cuts } -> std::convertible_to<backward_cuts>; })
    return Compute::cuts;
  else
    return backward_cuts::forward_cuts;
}

}  // namespace slimpack

#endif
