#ifndef SLIMPACK_COSTS_PROVENANCE_HPP
#define SLIMPACK_COSTS_PROVENANCE_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/origin.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <iosfwd>

namespace slimpack::costs {

/// How much of a time was measured, and how much filled in.
/// Errors    none            Complexity  O(1)
class provenance {
 public:
  void add(origin from, seconds time) noexcept { spent_[static_cast<std::size_t>(from)] += time; }
  void add(const provenance& other, double times) noexcept {
    for (std::size_t i = 0; i < spent_.size(); ++i) spent_[i] += other.spent_[i] * times;
  }

  [[nodiscard]] seconds total() const noexcept {
    seconds sum{};
    for (const seconds t : spent_) sum += t;
    return sum;
  }
  /// From 0 to 1; nothing is known of nothing.
  [[nodiscard]] double share(origin from) const noexcept {
    return total() > seconds{} ? spent_[static_cast<std::size_t>(from)] / total() : 0;
  }

  friend bool operator==(const provenance&, const provenance&) = default;
  /// "62 % measured, 30 % interpolated, 0 % extrapolated, 5 % derived, 3 % modelled"
  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const provenance& p) {
    constexpr std::array<const char*, 5> names{"measured", "interpolated", "extrapolated", "derived", "modelled"};
    for (std::size_t i = 0; i < names.size(); ++i)
      out << (i > 0 ? ", " : "") << std::lround(100 * p.share(static_cast<origin>(i))) << " % " << names[i];
    return out;
  }

 private:
  std::array<seconds, 5> spent_{};
};

}  // namespace slimpack::costs

#endif
