#ifndef SLIMPACK_COSTS_KERNELS_TOKEN_TABLE_HPP
#define SLIMPACK_COSTS_KERNELS_TOKEN_TABLE_HPP

#include <slimpack/core/detail/assert.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/costs/kernels/detail/measured_times.hpp>
#include <slimpack/costs/kernels/origin.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Times of work that runs once over all tokens of a pack, by their number.
///
/// Between measurements a straight line. Below the least number the first line goes on, but never below a time in
/// proportion: matrices are read however few rows there are. Above the largest, time grows in proportion: machines that
/// are full stay as fast as they are.
///
/// Source    derived
/// Law       time does not fall with tokens. Measurements that fall are replaced by the mean of the largest before and
///           the smallest after, as in costs::time_table
/// Errors    none            Complexity  O(log points) a question
class token_table {
 public:
  struct point {
    tokens size;
    seconds time;
    friend constexpr bool operator==(const point&, const point&) = default;
  };

  /// Requires  a point; sizes >= 1, times > 0 and finite; of several times at a size the median counts
  explicit token_table(std::vector<point> points) {
    SLIMPACK_ASSERT(!points.empty(), "a token table needs a measured time");
    slimpack::detail::keep_medians(points, [](const point& a, const point& b) { return a.size < b.size; });
    measured_ = points;
    make_monotone(measured_);
    for (std::size_t i = 0; i < points.size(); ++i)
      largest_change_ = std::max(largest_change_, std::abs(measured_[i].time / points[i].time - 1));
    least_size_ = points.front().size;
    begin_at_one();
    rate_ = rate_of(measured_.front());
    for (const point& m : measured_) rate_ = std::min(rate_, rate_of(m));
  }

  /// Requires  size >= 1
  [[nodiscard]] seconds operator()(tokens size) const noexcept {
    const point& last = measured_.back();
    if (size >= last.size) return last.time * (size / last.size);
    const auto after = std::upper_bound(measured_.begin(), measured_.end(), size,
                                        [](tokens at, const point& m) { return at < m.size; });
    const point& b = *after;
    const point& a = *(after - 1);
    return a.time + (b.time - a.time) * ((size - a.size) / (b.size - a.size));
  }

  /// The least time of a token, in a pack of any size: what tokens cost at least, and what adds up.
  [[nodiscard]] seconds rate() const noexcept { return rate_; }

  [[nodiscard]] origin source(tokens size) const noexcept {
    if (size < least_size_ || size > measured_.back().size) return origin::extrapolated;
    const auto at = std::lower_bound(measured_.begin(), measured_.end(), size,
                                     [](const point& m, tokens wanted) { return m.size < wanted; });
    return at->size == size ? origin::measured : origin::interpolated;
  }

  /// The most by which a measured time was changed so that none falls, as a ratio of it.
  [[nodiscard]] double largest_change() const noexcept { return largest_change_; }

 private:
  static seconds rate_of(const point& m) noexcept { return m.time * (1 / static_cast<double>(m.size.value)); }

  static void make_monotone(std::vector<point>& points) {
    std::vector<seconds> least(points.size());  // of what is not before
    for (std::size_t i = points.size(); i-- > 0;)
      least[i] = i + 1 < points.size() ? std::min(points[i].time, least[i + 1]) : points[i].time;
    seconds most{};  // of what is not after
    for (std::size_t i = 0; i < points.size(); ++i) {
      most = std::max(most, points[i].time);
      points[i].time = (most + least[i]) * 0.5;
    }
  }

  void begin_at_one() {
    const point first = measured_.front();
    if (first.size.value == 1) return;
    seconds at_one = rate_of(first);
    if (measured_.size() > 1) {
      const point& second = measured_[1];
      const double beyond = (first.size - tokens{1}) / (second.size - first.size);
      at_one = std::max(at_one, first.time - (second.time - first.time) * beyond);
    }
    measured_.insert(measured_.begin(), {{1}, at_one});
  }

  std::vector<point> measured_;  ///< by size, the first of one token
  tokens least_size_;            ///< of those that were measured
  seconds rate_;
  double largest_change_{};
};

}  // namespace slimpack::costs

#endif
