#ifndef SLIMPACK_DETAIL_THROWN_HPP
#define SLIMPACK_DETAIL_THROWN_HPP

#include <exception>

namespace slimpack::detail {

/// Makes a call and returns what it threw, to be rethrown on another thread; null when it returned.
template <class Call>
[[nodiscard]] std::exception_ptr thrown_by(const Call& call) {
#ifdef __cpp_exceptions
  try {
    call();
  } catch (...) {
    return std::current_exception();
  }
#else
  call();
#endif
  return nullptr;
}

}  // namespace slimpack::detail

#endif
