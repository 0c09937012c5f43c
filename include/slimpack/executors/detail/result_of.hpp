#ifndef SLIMPACK_EXECUTORS_DETAIL_RESULT_OF_HPP
#define SLIMPACK_EXECUTORS_DETAIL_RESULT_OF_HPP

#include <slimpack/core/error.hpp>

#include <type_traits>

namespace slimpack::detail {

/// A call's value as a result, whether it gives one or not.
template <class Call>
auto result_of(Call&& call) {
  using given = std::invoke_result_t<Call>;
  if constexpr (std::is_void_v<given>) {
    call();
    return result<void>(success());
  } else if constexpr (requires(given r) { r.error(); }) {
    return call();
  } else {
    return result<given>(boost::outcome_v2::in_place_type<given>, call());  // a given std::any takes anything
  }
}

}  // namespace slimpack::detail

#endif
