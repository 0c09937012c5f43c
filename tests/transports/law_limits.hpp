#ifndef SLIMPACK_TESTS_TRANSPORTS_LAW_LIMITS_HPP
#define SLIMPACK_TESTS_TRANSPORTS_LAW_LIMITS_HPP

#include "../laws/cases.hpp"
#include "../support/sanitizers.hpp"

#include <algorithm>
#include <cstddef>

namespace slimpack {

/// How long waits of laws last: a sanitizer of threads slows ranks down tenfold.
#ifdef SLIMPACK_TESTS_THREAD_SANITIZER
inline constexpr double law_time_out = 5;
#else
inline constexpr double law_time_out = 2;
#endif

/// Bytes of the largest message. A sanitizer pays for every byte, and what it looks for does not depend on how many
/// there are.
inline constexpr std::size_t law_largest = tests::under_sanitizer ? std::size_t{1} << 16 : std::size_t{1} << 20;

/// Random rounds of each kind for a transport that is right, of which a sanitizer sees two.
[[nodiscard]] constexpr int law_cases(int cases) { return tests::under_sanitizer ? std::min(cases, 2) : cases; }

}  // namespace slimpack

#endif
