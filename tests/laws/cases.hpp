#ifndef SLIMPACK_TESTS_LAWS_CASES_HPP
#define SLIMPACK_TESTS_LAWS_CASES_HPP

#include <cstdlib>

namespace slimpack::tests {

/// How many random cases to try: few by default, twenty times as many where SLIMPACK_FULL is set.
[[nodiscard]] inline int cases(int few) {
  return std::getenv("SLIMPACK_FULL") != nullptr ? 20 * few : few;
}

}  // namespace slimpack::tests

#endif
