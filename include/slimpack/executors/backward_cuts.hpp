#ifndef SLIMPACK_EXECUTORS_BACKWARD_CUTS_HPP
#define SLIMPACK_EXECUTORS_BACKWARD_CUTS_HPP

#include <slimpack/detail/has_member.hpp>

#include <concepts>
#include <type_traits>

namespace slimpack {

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(cuts);
}  // namespace detail

/// Where a trainer's backward may cut a sequence.
enum class backward_cuts : unsigned char {
  forward_cuts,  ///< only where its forward was cut: each backward piece is one forward piece (autograd graphs)
  any,           ///< wherever the plan says: activations can be reached by token
};

/// Where a compute's backward may cut: what its `static constexpr backward_cuts cuts` says, else at forward cuts.
template <class Compute>
[[nodiscard]] consteval backward_cuts cuts_of() {
  if constexpr (requires {
                  { Compute::cuts } -> std::same_as<const backward_cuts&>;
                  typename std::integral_constant<backward_cuts, Compute::cuts>;
                }) {
    return Compute::cuts;
  } else {
    static_assert(!detail::has_member_cuts<Compute>,
                  "a stage compute's cuts is a public static constexpr backward_cuts");
    return backward_cuts::forward_cuts;
  }
}

}  // namespace slimpack

#endif
