#ifndef SLIMPACK_CORE_BACKWARD_CUTS_HPP
#define SLIMPACK_CORE_BACKWARD_CUTS_HPP

namespace slimpack {

/// Where a trainer's backward may cut a sequence.
enum class backward_cuts : unsigned char {
  forward_cuts,  ///< only where its forward was cut: each backward piece is one forward piece (autograd graphs)
  any,           ///< wherever the plan says: activations can be reached by token
};

}  // namespace slimpack

#endif
