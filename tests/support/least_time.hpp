#ifndef SLIMPACK_TESTS_SUPPORT_LEAST_TIME_HPP
#define SLIMPACK_TESTS_SUPPORT_LEAST_TIME_HPP

#include <algorithm>
#include <chrono>

namespace slimpack::tests {

/// The least that a call takes, of five: for tests of how time grows, which other work on the machine must not fail.
template <class Call>
[[nodiscard]] std::chrono::steady_clock::duration least_time(const Call& call) {
  auto least = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    least = std::min(least, std::chrono::steady_clock::now() - begin);
  }
  return least;
}

}  // namespace slimpack::tests

#endif
