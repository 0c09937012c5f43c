#ifndef SLIMPACK_COSTS_PROVENANCE_HPP
#define SLIMPACK_COSTS_PROVENANCE_HPP

#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/origin.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <iosfwd>

namespace slimpack::costs {

/// What a time was spent on, and how much of it was measured or filled in.
/// Errors    none            Complexity  O(1)
class provenance {
 public:
  void add(work on, origin from, seconds time) noexcept { at(on)[static_cast<std::size_t>(from)] += time; }
  void add(const provenance& other, double times) noexcept {
    for (std::size_t w = 0; w < spent_.size(); ++w)
      for (std::size_t i = 0; i < spent_[w].size(); ++i) spent_[w][i] += other.spent_[w][i] * times;
  }

  /// The part that was spent on this.
  [[nodiscard]] provenance of(work on) const noexcept {
    provenance part;
    part.at(on) = spent_[static_cast<std::size_t>(on)];
    return part;
  }

  [[nodiscard]] seconds total() const noexcept {
    seconds sum{};
    for (const auto& on : spent_)
      for (const seconds t : on) sum += t;
    return sum;
  }
  /// From 0 to 1; nothing is known of nothing.
  [[nodiscard]] double share(origin from) const noexcept {
    seconds sum{};
    for (const auto& on : spent_) sum += on[static_cast<std::size_t>(from)];
    return total() > seconds{} ? sum / total() : 0;
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
  using by_origin = std::array<seconds, 5>;
  [[nodiscard]] by_origin& at(work on) noexcept { return spent_[static_cast<std::size_t>(on)]; }

  std::array<by_origin, 4> spent_{};
};

}  // namespace slimpack::costs

#endif
