#ifndef SLIMPACK_TESTING_NAIVE_APART_PACKS_HPP
#define SLIMPACK_TESTING_NAIVE_APART_PACKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>

namespace slimpack::testing::naive {

/// Which backward packs have a W of their own: slimpack::apart_packs.
using apart_packs = std::span<const std::uint8_t>;

[[nodiscard]] inline bool is_apart(apart_packs apart, std::size_t pack) {
  return pack < apart.size() && apart[pack] != 0;
}

}  // namespace slimpack::testing::naive

#endif
