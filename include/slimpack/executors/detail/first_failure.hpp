#ifndef SLIMPACK_EXECUTORS_DETAIL_FIRST_FAILURE_HPP
#define SLIMPACK_EXECUTORS_DETAIL_FIRST_FAILURE_HPP

#include <slimpack/core/error.hpp>

#include <optional>

namespace slimpack::detail {

/// Makes a call of the compute during which an exchange may fail. What went wrong in the exchange says more than what
/// the compute made of it: the error stays, where the call throws.            failed: of the exchange, set while the
/// call runs
template <class Call>
result<void> or_first_failure(const Call& call, [[maybe_unused]] const std::optional<error>& failed) {
#ifdef __cpp_exceptions
  try {
    return call();
  } catch (...) {
    if (failed) return *failed;
    throw;
  }
#else
  return call();
#endif
}

}  // namespace slimpack::detail

#endif
