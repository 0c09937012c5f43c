#ifndef SLIMPACK_CORE_DETAIL_ASSERT_HPP
#define SLIMPACK_CORE_DETAIL_ASSERT_HPP

/// A broken contract in the caller. Active in Debug; define it before the first include to replace it.
#ifndef SLIMPACK_ASSERT
#include <cassert>
#define SLIMPACK_ASSERT(condition, sentence) assert((condition) && (sentence))
#endif

#endif
