#ifndef SLIMPACK_TESTS_LAWS_CASES_HPP
#define SLIMPACK_TESTS_LAWS_CASES_HPP

#include "../support/sanitizers.hpp"

#include <algorithm>
#include <cstdlib>

namespace slimpack::tests {

#if defined(SLIMPACK_TESTS_ADDRESS_SANITIZER) || defined(SLIMPACK_TESTS_THREAD_SANITIZER)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif

/// Under a sanitizer a case takes about ten times as long, so that one in so many is tried.
inline constexpr int one_in = under_sanitizer ? 5 : 1;

/// How many random cases to try: few by default, twenty times as many where SLIMPACK_FULL is set.
[[nodiscard]] inline int cases(int few) {
  return std::max(1, (std::getenv("SLIMPACK_FULL") != nullptr ? 20 * few : few) / one_in);
}

/// As cases, and as many under a sanitizer: for plans that run, which takes less than making them, and where fewer show
/// too little.
[[nodiscard]] inline int steps(int few) { return cases(few * one_in); }

/// Whether to try the k-th of cases that are counted up: all of them where SLIMPACK_FULL is set, else one of `each`,
/// and fewer where a sanitizer makes them slow. Of a matrix each row and column still has its turn, where `each`
/// divides neither's length.
[[nodiscard]] inline bool is_tried(int k, int each = 1) {
  return std::getenv("SLIMPACK_FULL") != nullptr || k % std::max(each, one_in) == 0;
}

}  // namespace slimpack::tests

#endif
