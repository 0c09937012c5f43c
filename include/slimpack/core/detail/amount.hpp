#ifndef SLIMPACK_CORE_DETAIL_AMOUNT_HPP
#define SLIMPACK_CORE_DETAIL_AMOUNT_HPP

#include <slimpack/core/shape.hpp>

#include <cstdio>
#include <string>

namespace slimpack::detail {

/// "65536 tokens", "12.30 GiB", "5.00 MiB" or "512 bytes": an amount of memory for people.
inline std::string amount(double value, memory_unit unit) {
  constexpr double mib = 1024.0 * 1024.0;
  char text[64];
  if (unit == memory_unit::token)
    std::snprintf(text, sizeof text, "%.0f tokens", value);
  else if (value >= 1024 * mib)
    std::snprintf(text, sizeof text, "%.2f GiB", value / (1024 * mib));
  else if (value >= mib)
    std::snprintf(text, sizeof text, "%.2f MiB", value / mib);
  else
    std::snprintf(text, sizeof text, "%.0f bytes", value);
  return text;
}

}  // namespace slimpack::detail

#endif
