#ifndef SLIMPACK_TESTS_TRANSPORTS_LAW_LIMITS_HPP
#define SLIMPACK_TESTS_TRANSPORTS_LAW_LIMITS_HPP

#include "../support/sanitizers.hpp"

#include <cstddef>

namespace slimpack {

#if defined(SLIMPACK_TESTS_ADDRESS_SANITIZER) || defined(SLIMPACK_TESTS_THREAD_SANITIZER)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif

/// How long waits of laws last: a sanitizer of threads slows ranks down tenfold.
#ifdef SLIMPACK_TESTS_THREAD_SANITIZER
inline constexpr double law_time_out = 5;
#else
inline constexpr double law_time_out = 2;
#endif

/// Bytes of the largest message. A sanitizer pays for every byte, and what it looks for does not depend on how many there are.
inline constexpr std::size_t law_largest = under_sanitizer ? std::size_t{1} << 16 : std::size_t{1} << 20;

}  // namespace slimpack

#endif
