#ifndef SLIMPACK_DETAIL_AMOUNT_HPP
#define SLIMPACK_DETAIL_AMOUNT_HPP

#include <slimpack/core/shape.hpp>

#include <cstdio>
#include <string>

namespace slimpack::detail {

/// "12.3 GiB" or "65536 tokens": an amount of memory for people.
inline std::string amount(double value, memory_unit unit) {
  char text[64];
  if (unit == memory_unit::token)
    std::snprintf(text, sizeof text, "%.0f tokens", value);
  else
    std::snprintf(text, sizeof text, "%.2f GiB", value / (1024.0 * 1024.0 * 1024.0));
  return text;
}

}  // namespace slimpack::detail

#endif
