#ifndef SLIMPACK_CORE_PARTITION_HPP
#define SLIMPACK_CORE_PARTITION_HPP

#include <slimpack/core/micropack.hpp>

namespace slimpack {

/// The forward and the backward micropacks of one replica, each in run order.
/// Both cover every token of the replica's sequences exactly once; their cuts may differ (asymmetric partitioning).
struct partition {
  micropacks forward;
  micropacks backward;

  [[nodiscard]] micropacks& of(pass p) noexcept { return p == pass::forward ? forward : backward; }
  [[nodiscard]] const micropacks& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
  friend bool operator==(const partition&, const partition&) = default;
};

}  // namespace slimpack

#endif
